package plot

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/internal/table"
)

// clashes returns the groups of rows that are drawn at the same place in a column y.
func (d *data) clashes(y int) [][]int {
	type place struct {
		by string
		x  any
	}
	drawn := slices.DeleteFunc(slices.Clone(d.rows), func(row int) bool { return d.Rows[row][y] == nil })
	return table.Clashes(drawn, func(row int) place { return place{d.Key(row, d.by), d.xOf(row)} })
}

// ambiguous returns an error if there are rows at the same place. It names the columns that
// would tell them apart.
func (d *data) ambiguous(clashes [][]int) error {
	if len(clashes) == 0 {
		return nil
	}
	first := clashes[0]
	where := fmt.Sprintf("%s = %s", d.Columns[d.x].Name, d.Text(first[0], d.x))
	if by := d.byText(first[0], false); by != "" {
		where += " of " + by
	}
	message := fmt.Sprintf("%d rows for %s (rows %d and %d)", len(first), where, first[0]+1, first[1]+1)
	candidates := d.settings()
	for c, column := range d.Columns { // numbers that nothing says the role of may tell as well
		if column.Role == "" && c != d.x && !slices.Contains(d.ys, c) && !slices.Contains(d.by, c) && !slices.Contains(candidates, c) {
			candidates = append(candidates, c)
		}
	}
	tell := d.TellApart(clashes, candidates)
	if len(tell) == 0 {
		return fmt.Errorf("%s, alike in all columns that could tell them apart: leave one of them out of the file", message)
	}
	var values []string
	for _, c := range tell {
		values = append(values, "--where "+printable.ShellWord(d.Columns[c].Name+"="+d.Text(first[0], c)))
	}
	by := strings.Join(d.NamesOf(slices.Concat(d.by, tell)), ",")
	return fmt.Errorf("%s: tell them apart with --by %s, or draw some with %s", message, printable.ShellWord(by), strings.Join(values, " "))
}
