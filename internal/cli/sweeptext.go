package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/experiment"
	"github.com/kernbench/kernbench/internal/table"
)

// write writes the results in one of the formats.
func (p *sweepPlan) write(ctx context.Context, w io.Writer, r sweepResult, o experiment.Options, format string) error {
	if format == "json" {
		return table.WriteJSON(w, r)
	}
	t := &table.Table{}
	if len(r.Points) > 0 {
		tables, _, err := experiment.ReadFile(ctx, o.File)
		if err != nil {
			return err
		}
		t = tables[0].Table
	}
	switch {
	case format == "csv" && len(t.Rows) == 0:
		return nil
	case format == "csv":
		return t.WriteCSV(w)
	}
	fmt.Fprintf(w, "# sweep: %s\n# bench: %s\n%s# points: %d of %d\n\n", r.Sweep, r.Bench, p.fixed(), len(r.Points), r.Total)
	if header, cells := shown(t); len(cells) > 0 {
		if err := table.WriteTable(w, header, cells); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "\nwritten: %s\n", o.File)
	if o.Shard.N > 0 {
		_, err := fmt.Fprintln(w, "put the shards together: kernbench merge OUT.jsonl FILE...")
		return err
	}
	if len(t.Rows) == len(r.Points) {
		fmt.Fprintln(w, p.plotHint(o.File))
	}
	_, err := fmt.Fprintf(w, "compare them with others: kernbench compare OTHER.jsonl %s\n", o.File)
	return err
}

// fixed is what is the same for all points, as far as somebody has said it, a line each.
func (p *sweepPlan) fixed() string {
	var params []string
	for _, name := range slices.Sorted(maps.Keys(p.Params)) {
		params = append(params, name+"="+string(p.Params[name]))
	}
	var lines strings.Builder
	for _, line := range []struct{ what, is string }{
		{"topology", cmp.Or(string(p.base.name), p.Topology)},
		{"ccl", cmp.Or(p.base.ccl, p.CCL)},
		{"tasks", cmp.Or(p.base.tasks, p.Tasks)},
		{"set", strings.Join(slices.Concat(p.Set, p.base.sets), ", ")},
		{"params", strings.Join(params, " ")},
		{"data", string(p.Data)}, {"check", string(p.Check)}, {"fidelity", string(p.Fidelity)},
	} {
		if line.is != "" {
			fmt.Fprintf(&lines, "# %s: %s\n", line.what, line.is)
		}
	}
	return lines.String()
}

// plotHint is how to draw the results: over the dimension that changes fastest.
func (p *sweepPlan) plotHint(file string) string {
	if len(p.Axes) == 0 {
		return "draw them: kernbench plot --help"
	}
	last := len(p.Axes) - 1
	across := telling(p.Axes[last])
	x, others := across[0], across[1:]
	for _, columns := range p.Axes[:last] {
		others = append(others, telling(columns)...)
	}
	var by []string
	for _, c := range others {
		by = append(by, c.Name)
	}
	hint := fmt.Sprintf("draw them: kernbench plot %s -x %s -y crit_ns", file, x.Name)
	if len(by) > 0 {
		hint += " --by " + strings.Join(by, ",")
	}
	if slices.ContainsFunc(x.Values, func(v string) bool { _, err := strconv.ParseFloat(v, 64); return err != nil }) {
		hint += " --kind bars"
	}
	return hint + " -o " + strings.TrimSuffix(filepath.Base(file), ".jsonl") + ".svg"
}

// telling is the settings that tell the points of a dimension apart: one if it can, else all.
func telling(columns []experiment.Dimension) []experiment.Dimension {
	for _, c := range columns {
		if len(slices.Compact(slices.Sorted(slices.Values(c.Values)))) == len(c.Values) {
			return []experiment.Dimension{c}
		}
	}
	return slices.Clone(columns)
}

// shown is the columns of a t that people want to see: hashes are for programs, and what a
// point says of its only row is said by that.
func shown(t *table.Table) (header []string, rows [][]string) {
	rows = make([][]string, len(t.Rows))
	for i, name := range t.Names() {
		if strings.HasSuffix(name, "_hash") || experiment.RepeatsRow(t, name) {
			continue
		}
		header = append(header, name)
		for k := range t.Rows {
			rows[k] = append(rows[k], cmp.Or(t.Text(k, i), "-"))
		}
	}
	return header, rows
}
