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
		if t := rankTable(rows, "size", "count", "type", "redop", "root", "algorithm"); t != nil {
			files = append(files, File{Ranks, t})
		}
	}
	if o.get("bench") != nil {
		metrics, _ := o.get("metrics").(object)
		var line builder
		line.add(append(object{{"bench", o.get("bench")}, {"ok", o.get("ok")}, {"crit_ns", o.get("crit_ns")}}, metrics...))
		files = append(files, File{Metrics, line.table()})
	}
	if launches, ok := o.get("launches").([]any); ok {
		if t := rankTable(launches, "name"); t != nil {
			files = append(files, File{Ranks, t})
		}
	}
	if len(files) == 0 {
		return nil, errors.New("no rows in it")
	}
	return files, nil
}

// rankTable returns a table of the times of ranks that objects have as a list: a line for
// each rank, with the number of the object and some of its members before it. It is nil if
// no object has such times.
func rankTable(list []any, about ...string) *Table {
	var lines builder
	for i, o := range list {
		o, _ := o.(object)
		times, _ := o.get("pe_exec_ns").([]any)
		ranks, _ := o.get("ranks").([]any)
		for j, t := range times {
			line := object{{"row", json.Number(strconv.Itoa(i + 1))}}
			for _, name := range about {
				line = append(line, member{name, o.get(name)})
			}
			rank := any(json.Number(strconv.Itoa(j)))
			if j < len(ranks) {
				rank = ranks[j]
			}
			lines.add(append(line, member{"rank", rank}, member{"pe_exec_ns", t}))
		}
	}
	if len(lines.rows) == 0 {
		return nil
	}
	return lines.table()
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
