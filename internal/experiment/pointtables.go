package experiment

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/table"
)

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
	return []table.Named{{Table: t, About: c.header.About}}, c.missing(), nil
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
