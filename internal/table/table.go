package table

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
)

// Table is rows of cells under columns. A cell is a string, a json.Number, a bool, or nil
// where the row has nothing to say. Numbers keep their text, so that nothing is lost between
// a program, a file and a comparison.
type Table struct {
	Columns []Column
	Rows    [][]any
}

// Named is a table and its name among those of a file or a folder; the main table of a file
// has the name "".
type Named struct {
	Name string
	*Table
	About string // what the file says of all rows, in words: the collective, the system
}

// Names returns the names of the columns.
func (t *Table) Names() (names []string) {
	for _, c := range t.Columns {
		names = append(names, c.Name)
	}
	return names
}

// FindAll returns the indices of columns as [Table.Find] does.
func (t *Table) FindAll(names []string) (columns []int, err error) {
	for _, name := range names {
		c, err := t.Find(name)
		if err != nil {
			return nil, err
		}
		columns = append(columns, c)
	}
	return columns, nil
}

// NamesOf returns the names of some columns.
func (t *Table) NamesOf(columns []int) (names []string) {
	for _, c := range columns {
		names = append(names, t.Columns[c].Name)
	}
	return names
}

// Index returns the index of a column, -1 if there is none of that name.
func (t *Table) Index(name string) int {
	return slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name })
}

// Find returns the index of a column. The error lists the columns that there are.
func (t *Table) Find(name string) (int, error) {
	if i := t.Index(name); i >= 0 {
		return i, nil
	}
	names := t.Names()
	return 0, fmt.Errorf("no column %q: there are %s%s", name, strings.Join(names, ", "), config.DidYouMean(name, names))
}

// With returns the columns of a role, by index.
func (t *Table) With(roles ...Role) (columns []int) {
	for i, c := range t.Columns {
		if slices.Contains(roles, c.Role) {
			columns = append(columns, i)
		}
	}
	return columns
}

// Select returns the table with the columns of some names, in that order. It panics if one
// is missing.
func (t *Table) Select(names ...string) *Table {
	s := &Table{Rows: make([][]any, len(t.Rows))}
	for _, name := range names {
		i, err := t.Find(name)
		if err != nil {
			panic("table: " + err.Error())
		}
		s.Columns = append(s.Columns, t.Columns[i])
		for r, row := range t.Rows {
			s.Rows[r] = append(s.Rows[r], row[i])
		}
	}
	return s
}

// Where returns the table with the rows in which a column has a text.
func (t *Table) Where(column, text string) *Table {
	i := t.Index(column)
	return &Table{Columns: t.Columns, Rows: slices.DeleteFunc(slices.Clone(t.Rows), func(row []any) bool { return Text(row[i]) != text })}
}

// Text returns a cell as CSV has it: numbers to the last digit, nil as nothing.
func Text(cell any) string {
	switch v := cell.(type) {
	case string:
		return v
	case json.Number:
		return string(v)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// Text returns the text of a cell.
func (t *Table) Text(row, col int) string { return Text(t.Rows[row][col]) }

// Number returns a cell as a finite number in the unit of its column. The cell may be a text
// with a unit, "64 GB/s".
func (t *Table) Number(row, col int) (float64, bool) {
	text := t.Text(row, col)
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		own, u, ok := quantity(text)
		if !ok || !u.Same(t.Columns[col].Unit) {
			return 0, false
		}
		x = own * u.To(t.Columns[col].Unit)
	}
	return x, !math.IsNaN(x) && !math.IsInf(x, 0)
}

// Values returns the texts of a column, each once, in the order of their first rows.
func (t *Table) Values(col int) []string {
	var values []string
	seen := map[string]bool{}
	for i := range t.Rows {
		if v := t.Text(i, col); !seen[v] {
			seen[v] = true
			values = append(values, v)
		}
	}
	return values
}

// adoptUnits gives columns without a unit whose cells are all texts such as "64 GB/s" the
// unit of the first of them.
func (t *Table) adoptUnits() {
	for c := range t.Columns {
		if t.Columns[c].Unit != "" {
			continue
		}
		var first Unit
		for _, row := range t.Rows {
			_, u, ok := quantity(Text(row[c]))
			if !ok || first != "" && !u.Same(first) {
				first = ""
				break
			}
			if first == "" {
				first = u
			}
		}
		t.Columns[c].Unit = first
	}
}
