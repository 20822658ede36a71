package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/internal/experiment"
	"github.com/kernbench/kernbench/internal/page"
	"github.com/kernbench/kernbench/table"
)

// schema returns the columns of the results.
func (p *sweepPlan) schema() table.Schema {
	s := p.bench.Schema()
	s["row"] = table.ColumnsOf(bench.Result{})
	for _, hash := range []string{"topology_hash", "ccl_hash", "tasks_hash"} {
		s["row"] = append(s["row"], table.Column{Name: hash, Role: table.Origin})
	}
	for _, c := range slices.Concat(p.Axes...) {
		s["settings"] = append(s["settings"], table.Column{Name: c.Name, Role: table.Setting})
	}
	return s
}

// run runs a point.
func (p *sweepPlan) run(ctx context.Context, _ int, point experiment.Point) (table.Record, error) {
	o, err := p.options(ctx, p.setup(point))
	if err != nil {
		return nil, err
	}
	r, err := p.bench.Execute(ctx, o)
	if err != nil {
		return nil, err
	}
	return sweepRow(r)
}

// sweepRow returns what a sweep keeps of a result.
func sweepRow(r *bench.Result) (table.Record, error) {
	whole, err := table.From([]bench.Result{*r})
	if err != nil {
		return nil, err
	}
	row := whole.Record(0)
	add := func(name string, value any) { row = append(row, table.Member{Name: name, Value: value}) }
	rows, wrong := make([]any, len(r.Rows.Rows)), []any{}
	for i := range rows {
		rows[i] = r.Rows.Record(i)
	}
	add("metrics", r.Metrics)
	add("rows", rows)
	for _, text := range append(r.Wrong(), r.Races...) {
		wrong = append(wrong, text)
	}
	if len(wrong) > 0 {
		add("wrong", wrong)
	}
	add("topology_hash", r.Config.Topology.Hash)
	if r.Config.CCL != nil {
		add("ccl_hash", r.Config.CCL.Hash)
	}
	if r.Config.Tasks != nil {
		add("tasks_hash", r.Config.Tasks.Hash)
	}
	return row, nil
}

// sweepResult is the JSON of kernbench sweep.
type sweepResult struct {
	Sweep  string       `json:"sweep"`
	Bench  string       `json:"bench"`
	File   string       `json:"file"`
	OK     bool         `json:"ok"`
	Total  int          `json:"total"`
	Points []any        `json:"points"` // objects with point, settings and row
	Schema table.Schema `json:"schema"`
}

// pointRecord returns a point as an object.
func (p *sweepPlan) pointRecord(index int) table.Record {
	return table.Record{{Name: "point", Value: json.Number(strconv.Itoa(index))}, {Name: "settings", Value: p.points[index].Record()}}
}

// finishSweep prints what came of a sweep and returns how it ends.
func finishSweep(cmd *cobra.Command, p *sweepPlan, o experiment.Options, report, format string, rows []table.Record, err error) error {
	if err := endPoints(cmd.ErrOrStderr(), o, err); err != nil {
		return err
	}
	var failed *experiment.Failed
	errors.As(err, &failed)
	r := sweepResult{Sweep: p.Name, Bench: p.Bench, File: o.File, OK: failed == nil, Total: len(rows), Points: []any{}, Schema: o.Schema}
	var wrong []error
	for i, index := range o.Shard.Indices(len(p.points)) {
		row := rows[i]
		if row == nil { // it failed
			continue
		}
		r.OK = r.OK && row.Get("ok") == true
		r.Points = append(r.Points, append(p.pointRecord(index), table.Member{Name: "row", Value: row}))
		texts, _ := row.Get("wrong").([]any)
		for _, text := range texts {
			wrong = append(wrong, fmt.Errorf("point %d (%v): %s", index, p.points[index], text))
		}
	}
	t := &table.Table{}
	if len(r.Points) > 0 {
		if t, err = experiment.PointTable(r.Schema, r.Points); err != nil {
			return err
		}
	}
	if err := p.write(cmd.OutOrStdout(), r, t, o, format); err != nil {
		return err
	}
	if err := writeReport(cmd, report, p.page(r), shown(t)); err != nil {
		return err
	}
	return badPoints(o, failed, r.OK, wrong)
}

// write writes the results in one of the formats.
func (p *sweepPlan) write(w io.Writer, r sweepResult, t *table.Table, o experiment.Options, format string) error {
	switch {
	case format == "json":
		return table.WriteJSON(w, r)
	case format == "csv" && len(t.Rows) == 0:
		return nil
	case format == "csv":
		return t.WriteCSV(w)
	}
	fmt.Fprintf(w, "# sweep: %s\n# bench: %s\n%s# points: %d of %d\n\n", r.Sweep, r.Bench, p.fixed(), len(r.Points), r.Total)
	if len(t.Rows) > 0 {
		if err := shown(t).WriteText(w); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "\nwritten: %s\n", o.File)
	if o.Shard.N > 0 {
		_, err := fmt.Fprintln(w, "put the shards together: kernbench merge OUT.jsonl FILE...")
		return err
	}
	if len(t.Rows) > 1 {
		fmt.Fprintf(w, "draw them: kernbench plot %s -o %s.svg\n", o.File, strings.TrimSuffix(filepath.Base(o.File), ".jsonl"))
	}
	_, err := fmt.Fprintf(w, "compare them with others: kernbench compare OTHER.jsonl %s\n", o.File)
	return err
}

// fixed returns the settings that all points share and that the file or the command line
// gives, a line each.
func (p *sweepPlan) fixed() string {
	var params []string
	for _, name := range slices.Sorted(maps.Keys(p.Params)) {
		params = append(params, name+"="+string(p.Params[name]))
	}
	var lines strings.Builder
	for _, line := range []struct{ what, is string }{
		{"topology", cmp.Or(p.base.topology, p.Topology)},
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

// shown returns the columns for people: without hashes, and without those of a point that
// its only row repeats.
func shown(t *table.Table) *table.Table {
	var names []string
	for _, c := range t.Columns {
		if c.Role != table.Origin && !experiment.RepeatsRow(t, c.Name) {
			names = append(names, c.Name)
		}
	}
	return t.Select(names...)
}

// about returns what the figures of all points tell of the sweep: the bench, and the system
// if all points have the same.
func (p *sweepPlan) about() string {
	if system := cmp.Or(p.base.topology, p.Topology); system != "" {
		return p.Bench + " on " + system
	}
	return p.Bench
}

// page returns what a report tells besides the results: the file of the sweep, and the
// systems of its points as far as they are at hand.
func (p *sweepPlan) page(r sweepResult) page.Page {
	about := page.Page{
		Title: "Sweep of " + r.Bench, Lead: p.about(), Facts: [][2]string{{"sweep", r.Sweep}, {"points", fmt.Sprintf("%d of %d", len(r.Points), r.Total)}},
		Config: []page.File{{Name: filepath.Base(r.Sweep), Text: p.Text}},
	}
	told := map[string]bool{}
	for i, point := range p.points {
		l, ok := p.ready[p.setup(point).key()]
		if !ok || told[l.system.Spec().Hash()] {
			continue
		}
		told[l.system.Spec().Hash()] = true
		about.Config = append(about.Config, page.File{Name: fmt.Sprintf("topology.yaml of point %d (hash %s)", i, l.system.Spec().Hash()), Text: string(l.system.Spec().YAML())})
	}
	return about
}

// writePoints writes the points that a sweep would run.
func (p *sweepPlan) writePoints(w io.Writer, shard experiment.Shard, format string) error {
	list, rows := []table.Record{}, []table.Record{}
	for _, i := range shard.Indices(len(p.points)) {
		point := p.pointRecord(i)
		list, rows = append(list, point), append(rows, slices.Concat(point[:1], p.points[i].Record()))
	}
	t := table.FromRecords(slices.Concat([]table.Column{{Name: "point"}}, p.schema()["settings"]), rows)
	switch format {
	case "json":
		return table.WriteJSON(w, list)
	case "csv":
		return t.WriteCSV(w)
	}
	return t.WriteText(w)
}
