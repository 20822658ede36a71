package sweep

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

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/internal/experiment"
	"github.com/kernbench/kernbench/internal/page"
	"github.com/kernbench/kernbench/table"
)

// schema returns the columns of the sweep's results: the settings of the grid, the columns
// of a bench's result, and the hashes of the configurations.
func (p *Plan) schema() table.Schema {
	s := p.bench.Schema()
	s["row"] = table.ColumnsOf(bench.Result{})
	for _, hash := range []string{"topology_hash", "ccl_hash", "tasks_hash"} {
		s["row"] = append(s["row"], table.Column{Name: hash, Role: table.Origin})
	}
	for _, c := range slices.Concat(p.axes...) {
		s["settings"] = append(s["settings"], table.Column{Name: c.Name, Role: table.Setting})
	}
	return s
}

// run runs the bench for a point and returns the part of the result that the sweep keeps.
func (p *Plan) run(ctx context.Context, _ int, point experiment.Point) (table.Record, error) {
	o, err := p.loadOptions(ctx, p.choiceFor(point))
	if err != nil {
		return nil, err
	}
	r, err := p.bench.Execute(ctx, o)
	if err != nil {
		return nil, err
	}
	return sweepRow(r)
}

// sweepRow returns the part of a bench's result that a sweep keeps, as a JSON object.
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
	for _, text := range r.Mistakes() {
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

// Result is the result of a sweep. Its JSON is what `kernbench sweep --format json` prints.
type Result struct {
	Sweep  string       `json:"sweep"`
	Bench  string       `json:"bench"`
	File   string       `json:"file"`
	OK     bool         `json:"ok"`
	Total  int          `json:"total"`
	Points []any        `json:"points"` // objects with point, settings and row
	Schema table.Schema `json:"schema"`

	Failed *experiment.Failed `json:"-"` // nil if no point failed
	Wrong  []error            `json:"-"` // wrong values and races of points
	Table  *table.Table       `json:"-"` // rows of all points
	plan   *Plan
	shard  bool // whether only a shard of the points was run
}

// pointRecord returns the index and the settings of a point as an object.
func (p *Plan) pointRecord(index int) table.Record {
	return table.Record{{Name: "point", Value: json.Number(strconv.Itoa(index))}, {Name: "settings", Value: p.points[index].Record()}}
}

// Run runs the points and returns their results. Failed points are not an error:
// Result.Failed lists them.
func (p *Plan) Run(ctx context.Context, o experiment.Options) (*Result, error) {
	o.Identity, o.Schema, o.About = p.identity(), p.schema(), p.about()
	o.Cost = func(i int) float64 { return p.costs[i] }
	rows, err := experiment.Run(ctx, o, p.points, p.run, nil)
	r := &Result{Sweep: p.name, Bench: p.Bench, File: o.File, Total: len(rows), Points: []any{}, Schema: o.Schema, Table: &table.Table{}, plan: p, shard: o.Shard.N > 0}
	if err != nil && !errors.As(err, &r.Failed) {
		return nil, err
	}
	r.OK = r.Failed == nil
	for i, index := range o.Shard.Indices(len(p.points)) {
		row := rows[i]
		if row == nil { // the point failed
			continue
		}
		r.OK = r.OK && row.Get("ok") == true
		r.Points = append(r.Points, append(p.pointRecord(index), table.Member{Name: "row", Value: row}))
		texts, _ := row.Get("wrong").([]any)
		for _, text := range texts {
			r.Wrong = append(r.Wrong, fmt.Errorf("point %d (%v): %s", index, p.points[index], text))
		}
	}
	if len(r.Points) > 0 {
		r.Table, err = experiment.PointTable(r.Schema, r.Points)
		return r, err
	}
	return r, nil
}

// WriteCSV writes the table, or nothing if the table is empty.
func (r *Result) WriteCSV(w io.Writer) error {
	if len(r.Table.Rows) == 0 {
		return nil
	}
	return r.Table.WriteCSV(w)
}

// WriteText writes the results as a table, followed by commands that merge, draw or compare
// the file of results.
func (r *Result) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "# sweep: %s\n# bench: %s\n%s# points: %d of %d\n\n", r.Sweep, r.Bench, r.plan.sharedSettings(), len(r.Points), r.Total)
	if len(r.Table.Rows) > 0 {
		if err := displayColumns(r.Table).WriteText(w); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "\nwritten: %s\n", r.File)
	if r.shard {
		_, err := fmt.Fprintln(w, "put the shards together: kernbench merge OUT.jsonl FILE...")
		return err
	}
	if len(r.Table.Rows) > 1 {
		fmt.Fprintf(w, "draw them: kernbench plot %s -o %s.svg\n", r.File, strings.TrimSuffix(filepath.Base(r.File), ".jsonl"))
	}
	_, err := fmt.Fprintf(w, "compare them with others: kernbench compare OTHER.jsonl %s\n", r.File)
	return err
}

// sharedSettings returns the settings that all points share and that the file or the
// command line gives, each on its own line.
func (p *Plan) sharedSettings() string {
	var params []string
	for _, name := range slices.Sorted(maps.Keys(p.Params)) {
		params = append(params, name+"="+string(p.Params[name]))
	}
	var lines strings.Builder
	for _, line := range []struct{ what, is string }{
		{"topology", cmp.Or(p.base.Topology, p.Topology)},
		{"ccl", cmp.Or(p.base.CCL, p.CCL)},
		{"tasks", cmp.Or(p.base.Tasks, p.Tasks)},
		{"set", strings.Join(slices.Concat(p.Set, p.base.Sets), ", ")},
		{"params", strings.Join(params, " ")},
		{"data", string(p.Data)}, {"check", string(p.Check)}, {"fidelity", string(p.Fidelity)},
	} {
		if line.is != "" {
			fmt.Fprintf(&lines, "# %s: %s\n", line.what, line.is)
		}
	}
	return lines.String()
}

// displayColumns returns the table without the columns that the text output omits. These
// are hashes, and columns with the prefix "point." that repeat a column of the rows.
func displayColumns(t *table.Table) *table.Table {
	var names []string
	for _, c := range t.Columns {
		if c.Role != table.Origin && !experiment.RepeatsRow(t, c.Name) {
			names = append(names, c.Name)
		}
	}
	return t.Select(names...)
}

// about returns a text about the sweep for figures: the bench, and the system if the file
// or a flag names one for all points.
func (p *Plan) about() string {
	if system := cmp.Or(p.base.Topology, p.Topology); system != "" {
		return p.Bench + " on " + system
	}
	return p.Bench
}

// Page returns a page about the sweep, and the table of its results. The page shows the
// file of the sweep and the systems that are still in memory.
func (r *Result) Page() (about page.Page, t *table.Table) {
	p := r.plan
	about = page.Page{
		Title: "Sweep of " + r.Bench, Lead: p.about(), Facts: [][2]string{{"sweep", r.Sweep}, {"points", fmt.Sprintf("%d of %d", len(r.Points), r.Total)}},
		Config: []page.File{{Name: filepath.Base(r.Sweep), Text: p.text}},
	}
	seen := map[string]bool{}
	for i, point := range p.points {
		l, ok := p.loaded[p.choiceFor(point).key()]
		if !ok || seen[l.System.Spec().Hash()] {
			continue
		}
		seen[l.System.Spec().Hash()] = true
		about.Config = append(about.Config, page.File{Name: fmt.Sprintf("topology.yaml of point %d (hash %s)", i, l.System.Spec().Hash()), Text: string(l.System.Spec().YAML())})
	}
	return about, displayColumns(r.Table)
}

// WritePoints writes the points that a sweep of the shard would run, without running them.
// `format` is text, csv or json.
func (p *Plan) WritePoints(w io.Writer, shard experiment.Shard, format string) error {
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
