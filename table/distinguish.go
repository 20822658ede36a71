package table

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// TellApart chooses from the given columns those whose cells distinguish all rows within
// each group. It returns a single column if one is sufficient. Otherwise it adds columns
// until they are sufficient, starting with the columns that have the fewest different
// values. It returns nil if all given columns together do not distinguish the rows.
func (t *Table) TellApart(groups [][]int, columns []int) []int {
	type choice struct{ column, values int }
	var choices []choice
	for _, c := range columns {
		if t.distinguish(groups, []int{c}) {
			return []int{c}
		}
		choices = append(choices, choice{c, len(t.Values(c))})
	}
	slices.SortStableFunc(choices, func(a, b choice) int { return cmp.Compare(a.values, b.values) })
	var chosen []int
	for _, c := range choices {
		if more := append(chosen, c.column); t.Distinct(more, groups...) > t.Distinct(chosen, groups...) {
			chosen = more
		}
		if t.distinguish(groups, chosen) {
			return chosen
		}
	}
	return nil
}

// Clashes groups the given rows by the result of the function `key`. It returns the groups
// of two or more rows, in the order of their first rows.
func Clashes[K comparable](rows []int, key func(row int) K) (groups [][]int) {
	index := map[K]int{}
	for _, row := range rows {
		k := key(row)
		i, known := index[k]
		if !known {
			i = len(groups)
			index[k], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], row)
	}
	return slices.DeleteFunc(groups, func(group []int) bool { return len(group) == 1 })
}

// distinguish reports whether all rows of each group are different: every two rows of a
// group differ in at least one of the columns.
func (t *Table) distinguish(groups [][]int, columns []int) bool {
	rows := 0
	for _, group := range groups {
		rows += len(group)
	}
	return t.Distinct(columns, groups...) == rows
}

// Distinct counts the different combinations of cells that the rows of each group have in
// the columns, and returns the sum over the groups.
func (t *Table) Distinct(columns []int, groups ...[]int) (n int) {
	for _, group := range groups {
		seen := map[string]bool{}
		for _, row := range group {
			seen[t.Key(row, columns)] = true
		}
		n += len(seen)
	}
	return n
}

// Key joins the cells of a row in the given columns to one text. Rows with different cells
// have different texts.
func (t *Table) Key(row int, columns []int) string {
	var b strings.Builder
	for _, c := range columns {
		b.WriteString(strconv.Quote(t.Text(row, c)))
	}
	return b.String()
}
