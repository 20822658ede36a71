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
func (t *Table) Names() []string {
	return lists.Map(t.Columns, func(c Column) string { return c.Name })
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
func (t *Table) NamesOf(columns []int) []string {
	return lists.Map(columns, func(c int) string { return t.Columns[c].Name })
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
func (t *Table) With(roles ...Role) []int {
	return slices.DeleteFunc(lists.Count(0, len(t.Columns)), func(c int) bool { return !slices.Contains(roles, t.Columns[c].Role) })
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

// WriteText writes the table for people: times, whole numbers and numbers of up to six
// digits as they are, other fractions to six digits, and - for nothing.
func (t *Table) WriteText(w io.Writer) error {
	return WriteTable(w, t.Names(), lists.Make(len(t.Rows), func(row int) []string {
		return lists.Make(len(t.Columns), func(col int) string { return t.Show(row, col) })
	}))
}

// Show returns a cell as people read it.
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

// WriteList writes a table with a row of cells for each element of a list.
func WriteList[E any](w io.Writer, header []string, list []E, cells func(E) []string) error {
	return WriteTable(w, header, lists.Make(len(list), func(i int) []string { return cells(list[i]) }))
}

// WriteTable writes rows under a header in aligned columns, two spaces apart.
// Columns of numbers are aligned on the right, others on the left. Every row
// has as many cells as the header. Cells are escaped: each stays in its line.
func WriteTable(w io.Writer, header []string, rows [][]string) error {
	lines := make([][]string, 0, 1+len(rows))
	for _, row := range append([][]string{header}, rows...) {
		lines = append(lines, lists.Map(row, printable.Line))
	}
	width := make([]int, len(header)) // of columns; negative: aligned on the left
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
