package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// readJSON reads what a command printed with --format json: the rows, and, of a run, what it
// says as a whole.
func readJSON(r io.Reader) ([]File, error) {
	o, err := decodeObject(r)
	if err != nil {
		return nil, err
	}
	if points, ok := o.get("points").([]any); ok && o.get("sweep") != nil {
		return pointsTable(points)
	}
	rows, ok := o.get("rows").([]any)
	if !ok {
		return nil, errors.New(`no "rows": it is not what run, coll, sweep or probe print with --format json`)
	}
	var files []File
	if len(rows) > 0 {
		var lines builder
		for i, r := range rows {
			row, ok := r.(object)
			if !ok {
				return nil, fmt.Errorf("row %d is no object", i+1)
			}
			lines.add(row)
		}
		files = append(files, File{"", lines.table()})
	}
	if o.get("bench") != nil {
		metrics, _ := o.get("metrics").(object)
		var line builder
		line.add(append(object{{"bench", o.get("bench")}, {"ok", o.get("ok")}, {"crit_ns", o.get("crit_ns")}}, metrics...))
		files = append(files, File{Metrics, line.table()})
	}
	if len(files) == 0 {
		return nil, errors.New("no rows in it")
	}
	return files, nil
}

// builder makes a table of objects, whose columns are those of the first, then what
// others add.
type builder struct {
	columns []string
	index   map[string]int
	rows    [][]string
}

func (b *builder) add(o object) {
	row := make([]string, len(b.columns))
	for _, m := range o.flat() {
		i, known := b.index[m.name]
		if !known {
			if b.index == nil {
				b.index = map[string]int{}
			}
			i = len(b.columns)
			b.index[m.name] = i
			b.columns = append(b.columns, m.name)
			row = append(row, "")
		}
		row[i] = cell(m.value)
	}
	b.rows = append(b.rows, row)
}

// table is the lines, each with all columns.
func (b *builder) table() *Table {
	for i, row := range b.rows {
		b.rows[i] = append(row, slices.Repeat([]string{""}, len(b.columns)-len(row))...)
	}
	return &Table{Columns: b.columns, Rows: b.rows}
}

// cell is a value as it is written; null is empty.
func cell(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}
