package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/table"
)

// plotPlace is where a row is drawn.
type plotPlace struct {
	by string // cells
	x  any
}

// ambiguous is an error if several rows are drawn at the same place, and names the
// columns that would tell them apart.
func (d *plotData) ambiguous(places map[plotPlace][]int) error {
	var clashes [][]int
	for _, rows := range places {
		if len(rows) > 1 {
			clashes = append(clashes, rows)
		}
	}
	if len(clashes) == 0 {
		return nil
	}
	first := slices.MinFunc(clashes, func(a, b []int) int { return cmp.Compare(a[0], b[0]) })
	where := fmt.Sprintf("%s = %s", d.table.Columns[d.x].Name, d.table.Text(first[0], d.x))
	if by := d.byText(first[0]); by != "" {
		where += " of " + by
	}
	message := fmt.Sprintf("%d rows for %s (rows %d and %d)", len(first), where, first[0]+1, first[1]+1)
	tell := d.table.TellApart(clashes, d.settings())
	if len(tell) == 0 {
		return fmt.Errorf("%s, alike in all columns that could tell them apart: leave one of them out of the file", message)
	}
	var names, values []string
	for _, c := range d.by {
		names = append(names, d.table.Columns[c].Name)
	}
	for _, c := range tell {
		names = append(names, d.table.Columns[c].Name)
		values = append(values, "--where "+shellWord(d.table.Columns[c].Name+"="+d.table.Text(first[0], c)))
	}
	return fmt.Errorf("%s: tell them apart with --by %s, or draw some with %s", message, shellWord(strings.Join(names, ",")), strings.Join(values, " "))
}

// settings is the columns that could tell rows apart: not those that are drawn, and nothing
// that was measured.
func (d *plotData) settings() (columns []int) {
	for c, column := range d.table.Columns {
		used := c == d.x || slices.Contains(d.ys, c) || slices.Contains(d.by, c)
		if !used && (column.Role == table.Setting || column.Role == "") {
			columns = append(columns, c)
		}
	}
	return columns
}

// shellWord is a text as one word of a command line.
func shellWord(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-+.,:=/%@", r)
	}
	if strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
