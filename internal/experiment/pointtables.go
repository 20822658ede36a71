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

// readLines reads the .jsonl file of an experiment. It returns a table of the rows and the
// number of points that the file does not have.
func readLines(ctx context.Context, name string) ([]table.Named, int, error) {
	c, err := load(ctx, name)
	switch {
	case errors.Is(err, errForeign):
		return nil, 0, fmt.Errorf(`%s: the first line does not tell of a sweep, {"sweep": ...}`, name)
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0, readError(name, err)
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
	shared   table.Record // members of the point that are not in a row
	rows     []table.Record
}

// PointTable returns a table of the rows of points. The points are objects ([table.Record])
// with the members point, settings and row. The rows are in the order of the points, even
// if the sweep has not ended and its file has them in another order.
func PointTable(schema table.Schema, points []any) (*table.Table, error) {
	var list []pointRows
	for i, v := range points {
		point, _ := v.(table.Record)
		settings, _ := point.Get("settings").(table.Record)
		at, err := strconv.ParseFloat(table.Text(point.Get("point")), 64)
		if err != nil {
			return nil, fmt.Errorf(`point %d in the file: no number as "point"`, i+1)
		}
		shared, rows, err := splitRows(point.Get("row"))
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
		declared := columns[c.Name]
		c.Role, c.Label, c.Unit = declared.Role, declared.Label, cmp.Or(declared.Unit, c.Unit)
	}
	return t, nil
}

// pointPrefix is the prefix for columns of points that have the same name as a column of
// rows.
const pointPrefix = "point."

// nameColumns gives every column in `list` a unique name, which depends only on which
// columns exist, not on their cells. Settings keep their names. A column of rows gets the
// prefix "row." if it has the name of a setting. A column that all rows of a point share
// gets the prefix "point." if it has the name of a setting or of a column of rows.
// nameColumns returns the columns of the schema by these names.
func nameColumns(schema table.Schema, list []pointRows) map[string]table.Column {
	columns := map[string]table.Column{}
	settings, taken := map[string]bool{}, map[string]bool{}
	declare := func(member, word string, taken map[string]bool) {
		for _, c := range schema[member] {
			if member == Metrics {
				c.Name = Metrics + "." + c.Name
			}
			columns[prefixTaken(word, c.Name, taken)] = c
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
				row[i].Name = prefixTaken("row.", row[i].Name, settings)
				taken[row[i].Name] = true
			}
		}
	}
	for _, p := range list {
		for i := range p.shared {
			p.shared[i].Name = prefixTaken(pointPrefix, p.shared[i].Name, taken)
		}
	}
	declare("settings", "", nil)
	if slices.ContainsFunc(list, func(p pointRows) bool { return p.shared != nil }) {
		declare("row", pointPrefix, taken)
		declare(Metrics, pointPrefix, taken)
		declare("rows", "row.", settings)
	} else {
		declare("row", "row.", settings)
	}
	return columns
}

// prefixTaken puts `word` before a name, repeatedly if necessary, until the name is not one
// of the taken names.
func prefixTaken(word, name string, taken map[string]bool) string {
	for taken[name] {
		name = word + name
	}
	return name
}

// RepeatsRow reports whether `name` is a column with the prefix "point." that has the same
// values as the column without the prefix, in all rows of t. Such columns are usual if each
// point has one row.
func RepeatsRow(t *table.Table, name string) bool {
	own, isPoint := strings.CutPrefix(name, pointPrefix)
	i, j := t.Index(name), t.Index(own)
	return isPoint && i >= 0 && j >= 0 && !slices.ContainsFunc(t.Rows, func(row []any) bool { return row[i] != row[j] })
}

// splitRows returns the rows in the result of a point. The result is one row, a list of
// rows, or an object with a list of rows in its member "rows". For such an object, `shared`
// holds the other members.
func splitRows(row any) (shared table.Record, rows []table.Record, err error) {
	if whole, ok := row.(table.Record); ok {
		list, several := whole.Get("rows").([]any)
		if !several {
			return nil, []table.Record{whole.Flat()}, nil
		}
		shared, row = whole.Flat(), list // Flat leaves out lists, such as "rows"
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
