package experiment

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/table"
)

// The names of further tables of a result: the metrics of a run, and the times of every
// rank.
const (
	Metrics = "metrics"
	Ranks   = "ranks"
)

// ReadTables reads the tables of a file of results ([ReadFile]), or those of the CSV files of
// a folder, which are named by their paths in it.
func ReadTables(ctx context.Context, path string) (tables []table.Named, missing int, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, unread(path, err)
	}
	if !info.IsDir() {
		return ReadFile(ctx, path)
	}
	err = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(name) != ".csv" {
			return err
		}
		of, _, err := ReadFile(ctx, name)
		if err != nil {
			return err
		}
		within, err := filepath.Rel(path, name)
		tables = append(tables, table.Named{Name: filepath.ToSlash(within), Table: of[0].Table})
		return err
	})
	if err == nil && len(tables) == 0 {
		err = fmt.Errorf("%s: no .csv in this folder: name a file, or a folder with results", path)
	}
	return tables, 0, err
}

func unread(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: there is no such file: name a .csv, .json or .jsonl with results", path)
	}
	return fmt.Errorf("read results: %w", err)
}

const (
	maxTableBytes   = 256 << 20 // of a file of CSV or JSON
	maxCSVLineBytes = 1 << 20
)

// ReadFile reads the tables of a file of results: .csv; .json as run, coll, probe and sweep
// print it; .jsonl of an experiment. The rows come first and have no name. A run without
// rows has its metrics alone. missing is the number of points of the experiment, or of its
// shard, that the file does not have.
func ReadFile(ctx context.Context, path string) (tables []table.Named, missing int, err error) {
	var read func(io.Reader) ([]table.Named, error)
	switch strings.ToLower(filepath.Ext(path)) {
	case ".csv":
		read = readCSV
	case ".json":
		read = readJSON
	case ".jsonl":
		return readLines(ctx, path)
	default:
		return nil, 0, fmt.Errorf("%s: results are in files that end in .csv, .json or .jsonl", path)
	}
	r, err := file.Open(ctx, path, maxTableBytes)
	if err != nil {
		return nil, 0, unread(path, err)
	}
	defer r.Close()
	tables, err = read(r)
	switch {
	case ctx.Err() != nil:
		return nil, 0, context.Cause(ctx)
	case err != nil:
		return nil, 0, fmt.Errorf("%s: %w", path, err)
	}
	return tables, 0, nil
}

func readCSV(r io.Reader) ([]table.Named, error) {
	t, err := table.ReadCSV(file.LimitLines(r, maxCSVLineBytes))
	return []table.Named{{Table: t}}, err
}

// wholeRun is the columns of a run as a whole, before its metrics.
var wholeRun = []table.Column{
	{Name: "bench", Role: table.Setting}, {Name: "ok", Role: table.Check}, {Name: "crit_ns", Unit: "ns", Role: table.Lower, Label: "critical path"},
}

// readJSON reads what a command printed with --format json.
func readJSON(r io.Reader) ([]table.Named, error) {
	o, err := table.Decode(r)
	if err != nil {
		return nil, err
	}
	schema, err := table.ReadSchema(o)
	if err != nil {
		return nil, err
	}
	if points, ok := o.Get("points").([]any); ok && o.Get("sweep") != nil {
		t, err := PointTable(schema, points)
		return []table.Named{{Table: t}}, err
	}
	ranks := rankTable(schema, o)
	delete(schema, "launches")
	if o.Get("bench") != nil {
		whole := table.Record{}
		for _, c := range wholeRun {
			whole = append(whole, table.Member{Name: c.Name, Value: o.Get(c.Name)})
		}
		metrics, _ := o.Get(Metrics).(table.Record)
		o = slices.DeleteFunc(o, func(m table.Member) bool { return m.Name == Metrics })
		o = append(o, table.Member{Name: Metrics, Value: append(whole, metrics...)})
		schema[Metrics] = slices.Concat(wholeRun, schema[Metrics])
	}
	tables, err := table.ReadJSON(o, schema)
	if err == nil && ranks != nil {
		tables = append(tables, table.Named{Name: Ranks, Table: ranks})
	}
	for i := range tables {
		tables[i].About = about(o)
	}
	return tables, err
}

// about returns what the output of a command says of all its rows.
func about(o table.Record) string {
	var words []string
	flat := o.Flat()
	for _, name := range []string{"bench", "collective", "topology.source", "config.topology.source"} {
		if text := table.Text(flat.Get(name)); text != "" {
			words = append(words, text)
		}
	}
	return strings.Join(words, ", ")
}

// rankTable returns the times of ranks that rows of coll or launches of a run have as a list:
// a line for each rank, with the number of the row or launch and some of its members before
// it. It returns nil if nothing has such times.
func rankTable(schema table.Schema, o table.Record) *table.Table {
	var lines []table.Record
	columns := []table.Column{{Name: "row", Role: table.Setting}}
	for _, of := range []struct {
		member string
		about  []string
	}{{"rows", []string{"size", "count", "type", "redop", "root", "algorithm"}}, {"launches", []string{"name"}}} {
		list, _ := o.Get(of.member).([]any)
		for i, v := range list {
			row, _ := v.(table.Record)
			times, _ := row.Get("pe_exec_ns").([]any)
			ranks, _ := row.Get("ranks").([]any)
			for j, t := range times {
				line := table.Record{{Name: "row", Value: json.Number(strconv.Itoa(i + 1))}}
				for _, name := range of.about {
					line = append(line, table.Member{Name: name, Value: row.Get(name)})
				}
				rank := any(json.Number(strconv.Itoa(j)))
				if j < len(ranks) {
					rank = ranks[j]
				}
				lines = append(lines, append(line, table.Member{Name: "rank", Value: rank}, table.Member{Name: "pe_exec_ns", Value: t}))
			}
		}
		if len(lines) == 0 {
			continue
		}
		for _, name := range of.about {
			c := table.Column{Name: name, Role: table.Setting}
			if i := slices.IndexFunc(schema[of.member], func(c table.Column) bool { return c.Name == name }); i >= 0 {
				c = schema[of.member][i]
			}
			columns = append(columns, c)
		}
		columns = append(columns, table.Column{Name: "rank", Role: table.Setting}, table.Column{Name: "pe_exec_ns", Unit: "ns", Role: table.Lower, Label: "execution time"})
		return table.FromRecords(columns, lines)
	}
	return nil
}

// readLines reads the file of an experiment.
func readLines(ctx context.Context, name string) ([]table.Named, int, error) {
	c, err := load(ctx, name)
	switch {
	case errors.Is(err, errForeign):
		return nil, 0, fmt.Errorf(`%s: the first line does not tell of a sweep, {"sweep": ...}`, name)
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0, unread(name, err)
	case err != nil:
		return nil, 0, err
	}
	var points []any
	for _, r := range c.records {
		line, err := table.Decode(bytes.NewReader(r.plain()))
		if err != nil {
			return nil, 0, fmt.Errorf("%s: point %d: %w", name, r.Point, err)
		}
		points = append(points, line)
	}
	t, err := PointTable(c.header.Schema, points)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", name, err)
	}
	return []table.Named{{Table: t}}, c.missing(), nil
}

// pointRows is the rows of a point, as flat objects.
type pointRows struct {
	point    float64
	settings table.Record
	shared   table.Record // what the point says beside its rows
	rows     []table.Record
}

// PointTable returns the rows of points, which are objects ([table.Record]) with the members
// point, settings and row. They are in the order of the points: a sweep that has not ended
// has them in the order in which they ended.
func PointTable(schema table.Schema, points []any) (*table.Table, error) {
	var list []pointRows
	for i, v := range points {
		point, _ := v.(table.Record)
		settings, _ := point.Get("settings").(table.Record)
		at, err := strconv.ParseFloat(table.Text(point.Get("point")), 64)
		if err != nil {
			return nil, fmt.Errorf(`point %d in the file: no number as "point"`, i+1)
		}
		shared, rows, err := rowsOf(point.Get("row"))
		if err != nil {
			return nil, fmt.Errorf("point %v: %w", at, err)
		}
		list = append(list, pointRows{at, settings.Flat(), shared, rows})
	}
	if len(list) == 0 {
		return nil, errors.New("no point in it: the sweep ended before the first")
	}
	slices.SortStableFunc(list, func(a, b pointRows) int { return cmp.Compare(a.point, b.point) })
	columns := nameColumns(schema, list)
	var records []table.Record
	for _, p := range list {
		for _, row := range p.rows {
			records = append(records, slices.Concat(p.settings, p.shared, row))
		}
		if len(p.rows) == 0 {
			records = append(records, slices.Concat(p.settings, p.shared))
		}
	}
	t := table.FromRecords(nil, records)
	for i := range t.Columns {
		c := &t.Columns[i]
		said := columns[c.Name]
		c.Role, c.Label, c.Unit = said.Role, said.Label, cmp.Or(said.Unit, c.Unit)
	}
	return t, nil
}

// ofPoint begins the names of columns of points that rows have as well.
const ofPoint = "point."

// nameColumns gives every column a name of its own, which depends on what columns there are
// and never on their cells. Settings keep theirs; a column of rows that is also a setting is
// called "row." and its name, one of points that is also a setting or a column of rows
// "point." and its name. It returns the columns of the schema by these names.
func nameColumns(schema table.Schema, list []pointRows) map[string]table.Column {
	columns := map[string]table.Column{}
	settings, taken := map[string]bool{}, map[string]bool{}
	declare := func(member, word string, taken map[string]bool) {
		for _, c := range schema[member] {
			if member == Metrics {
				c.Name = Metrics + "." + c.Name
			}
			columns[rename(word, c.Name, taken)] = c
		}
	}
	for _, p := range list {
		for _, m := range p.settings {
			settings[m.Name], taken[m.Name] = true, true
			columns[m.Name] = table.Column{Role: table.Setting}
		}
	}
	for _, p := range list {
		for _, row := range p.rows {
			for i := range row {
				row[i].Name = rename("row.", row[i].Name, settings)
				taken[row[i].Name] = true
			}
		}
	}
	for _, p := range list {
		for i := range p.shared {
			p.shared[i].Name = rename(ofPoint, p.shared[i].Name, taken)
		}
	}
	declare("settings", "", nil)
	if slices.ContainsFunc(list, func(p pointRows) bool { return p.shared != nil }) {
		declare("row", ofPoint, taken)
		declare(Metrics, ofPoint, taken)
		declare("rows", "row.", settings)
	} else {
		declare("row", "row.", settings)
	}
	return columns
}

// rename puts a word before a name as long as it is taken.
func rename(word, name string, taken map[string]bool) string {
	for taken[name] {
		name = word + name
	}
	return name
}

// RepeatsRow reports whether a column of points says in every row what the row says itself,
// as it does if points have one row each.
func RepeatsRow(t *table.Table, name string) bool {
	own, of := strings.CutPrefix(name, ofPoint)
	i, j := t.Index(name), t.Index(own)
	return of && i >= 0 && j >= 0 && !slices.ContainsFunc(t.Rows, func(row []any) bool { return row[i] != row[j] })
}

// rowsOf returns the rows of a point: itself, those of a list, or those it has under "rows",
// beside which the point may say more.
func rowsOf(row any) (shared table.Record, rows []table.Record, err error) {
	if whole, ok := row.(table.Record); ok {
		list, several := whole.Get("rows").([]any)
		if !several {
			return nil, []table.Record{whole.Flat()}, nil
		}
		shared, row = whole.Flat(), list // a list is no cell
	}
	list, ok := row.([]any)
	if !ok {
		return nil, nil, errors.New(`"row" is neither an object nor a list of them`)
	}
	for _, r := range list {
		o, ok := r.(table.Record)
		if !ok {
			return nil, nil, errors.New(`"row" has something that is no object`)
		}
		rows = append(rows, o.Flat())
	}
	return shared, rows, nil
}
