package table

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/internal/printable"
)

// Table is a list of columns and rows of cells. A cell is a string, a json.Number, a bool,
// or nil if it is empty. Numbers keep their text, so that they stay exact from a program to
// a file and to a comparison.
type Table struct {
	Columns []Column
	Rows    [][]any
}

// Named is a table with its name in a file or a folder. The main table of a file has the
// name "".
type Named struct {
	Name string
	*Table
	About string // text that describes all rows, such as the collective and the machine
}

// Names returns the names of the columns.
func (t *Table) Names() []string {
	return lists.Map(t.Columns, func(c Column) string { return c.Name })
}

// FindAll returns the indices of the named columns; see [Table.Find].
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

// NamesOf returns the names of the columns with the given indices.
func (t *Table) NamesOf(columns []int) []string {
	return lists.Map(columns, func(c int) string { return t.Columns[c].Name })
}

// Index returns the index of the named column, or -1 if there is none.
func (t *Table) Index(name string) int {
	return slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name })
}

// Find returns the index of the named column. If there is none, the error lists the
// columns.
func (t *Table) Find(name string) (int, error) {
	if i := t.Index(name); i >= 0 {
		return i, nil
	}
	names := t.Names()
	return 0, fmt.Errorf("no column %q: there are %s%s", name, strings.Join(names, ", "), config.DidYouMean(name, names))
}

// With returns the indices of the columns that have one of the roles.
func (t *Table) With(roles ...Role) []int {
	return slices.DeleteFunc(lists.Count(0, len(t.Columns)), func(c int) bool { return !slices.Contains(roles, t.Columns[c].Role) })
}

// Select returns a table with only the named columns, in the given order. It panics if a
// column is missing.
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

// Where returns a table with only the rows whose cell in the named column has the given
// text. The table must have that column.
func (t *Table) Where(column, text string) *Table {
	i := t.Index(column)
	return &Table{Columns: t.Columns, Rows: slices.DeleteFunc(slices.Clone(t.Rows), func(row []any) bool { return Text(row[i]) != text })}
}

// Text returns the text that a cell has in CSV: numbers with all digits, and "" for nil.
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

// Text returns the text of the cell in a row and a column; see the function [Text].
func (t *Table) Text(row, col int) string { return Text(t.Rows[row][col]) }

// Number returns a cell as a number in the unit of its column. The cell may be a text with
// a unit, such as "64 GB/s". The bool result reports whether the cell is a finite number.
func (t *Table) Number(row, col int) (float64, bool) {
	text := t.Text(row, col)
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		own, u, ok := parseQuantity(text)
		if !ok || !u.Same(t.Columns[col].Unit) {
			return 0, false
		}
		x = own * u.To(t.Columns[col].Unit)
	}
	return x, !math.IsNaN(x) && !math.IsInf(x, 0)
}

// Values returns the different texts of the cells in a column, in the order of their first
// rows.
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

// adoptUnits gives a unit to each column that has none and whose cells are all texts such
// as "64 GB/s" of one quantity. The unit is that of the first cell.
func (t *Table) adoptUnits() {
	for c := range t.Columns {
		if t.Columns[c].Unit != "" {
			continue
		}
		var first Unit
		for _, row := range t.Rows {
			_, u, ok := parseQuantity(Text(row[c]))
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

// WriteText writes the table as text, with the cells of [Table.Show] in aligned columns.
func (t *Table) WriteText(w io.Writer) error {
	return WriteTable(w, t.Names(), lists.Make(len(t.Rows), func(row int) []string {
		return lists.Make(len(t.Columns), func(col int) string { return t.Show(row, col) })
	}))
}

// Show returns the text of a cell for people. Times, whole numbers and numbers of up to six
// digits have all digits. Other fractions have six digits. The text of an empty cell is
// "-".
func (t *Table) Show(row, col int) string {
	number, is := t.Rows[row][col].(json.Number)
	x, err := number.Float64()
	switch text := t.Text(row, col); {
	case text == "":
		return "-"
	case !is || err != nil || !strings.ContainsAny(text, ".e") || units[t.Columns[col].Unit].quantity == "time":
		return text
	case len(strings.Trim(text, "-0.")) <= 6 && math.Abs(x) >= 1e-4: // with its point
		return text
	}
	return strconv.FormatFloat(x, 'g', 6, 64)
}

// WriteList writes a table as [WriteTable] does, with a row for each element of a list. The
// function `cells` returns the cells of an element.
func WriteList[E any](w io.Writer, header []string, list []E, cells func(E) []string) error {
	return WriteTable(w, header, lists.Make(len(list), func(i int) []string { return cells(list[i]) }))
}

// WriteTable writes rows under a header in aligned columns, two spaces apart. Columns of
// numbers are aligned on the right, others on the left. Every row must have as many cells
// as the header. Unprintable characters in cells are escaped, newlines included.
func WriteTable(w io.Writer, header []string, rows [][]string) error {
	lines := make([][]string, 0, 1+len(rows))
	for _, row := range append([][]string{header}, rows...) {
		lines = append(lines, lists.Map(row, printable.Line))
	}
	width := make([]int, len(header)) // width of each column; negative: aligned on the left
	for i := range header {
		numeric := len(rows) > 0
		for r, line := range lines {
			width[i] = max(width[i], utf8.RuneCountInString(line[i]))
			numeric = numeric && (r == 0 || strings.Trim(line[i], "-+.0123456789eE%") == "")
		}
		if !numeric {
			width[i] = -width[i]
		}
	}
	var b strings.Builder
	for _, row := range lines {
		var line strings.Builder
		for i, cell := range row {
			fmt.Fprintf(&line, "%*s  ", width[i], cell)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
