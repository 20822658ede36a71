package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// plotPlace is where a row is drawn.
type plotPlace struct {
	by string
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
	where := fmt.Sprintf("%s = %s", d.table.Columns[d.x], d.table.Rows[first[0]][d.x])
	if by := d.byText(first[0]); by != "" {
		where += " of " + by
	}
	message := fmt.Sprintf("%d rows for %s (rows %d and %d)", len(first), where, first[0]+1, first[1]+1)
	tell := d.telling(clashes)
	if len(tell) == 0 {
		return fmt.Errorf("%s, alike in all columns that could tell them apart: leave one of them out of the file", message)
	}
	var names, values []string
	for _, c := range tell {
		names = append(names, d.table.Columns[c])
		values = append(values, fmt.Sprintf("--where %s=%s", d.table.Columns[c], d.table.Rows[first[0]][c]))
	}
	return fmt.Errorf("%s: tell them apart with --by %s, or draw some with %s", message, strings.Join(names, ","), strings.Join(values, " "))
}

// telling is the columns that tell the rows of all clashes apart: one if it can do so,
// else as many as it takes, those with the fewest values first. What was measured tells
// nothing.
func (d *plotData) telling(clashes [][]int) []int {
	var settings []int
	for c, name := range d.table.Columns {
		kind := quantityOf(name).kind
		if used := c == d.x || slices.Contains(d.ys, c) || slices.Contains(d.by, c); used || kind != "" && kind != "_bytes" {
			continue
		}
		if d.apart(clashes, []int{c}) {
			return []int{c}
		}
		if slices.ContainsFunc(clashes, func(rows []int) bool { return d.combinations(rows, []int{c}) > 1 }) {
			settings = append(settings, c)
		}
	}
	slices.SortStableFunc(settings, func(a, b int) int { return cmp.Compare(len(valuesOf(d.table, a)), len(valuesOf(d.table, b))) })
	for n := range settings {
		if d.apart(clashes, settings[:n+1]) {
			return settings[:n+1]
		}
	}
	return nil
}

// apart tells whether columns differ between all rows of each clash.
func (d *plotData) apart(clashes [][]int, columns []int) bool {
	return !slices.ContainsFunc(clashes, func(rows []int) bool { return d.combinations(rows, columns) < len(rows) })
}

// combinations is how many different values of columns some rows have.
func (d *plotData) combinations(rows, columns []int) int {
	seen := map[string]bool{}
	for _, row := range rows {
		var cells []string
		for _, c := range columns {
			cells = append(cells, d.table.Rows[row][c])
		}
		seen[strings.Join(cells, "\x00")] = true
	}
	return len(seen)
}
