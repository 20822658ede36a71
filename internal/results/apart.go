package results

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// TellApart is those of some columns that tell the rows of each group apart: one if it can do
// so, else as many as it takes, those with the fewest values first; nil if all of them cannot.
func (t *Table) TellApart(groups [][]int, columns []int) []int {
	type choice struct{ column, values int }
	var choices []choice
	for _, c := range columns {
		if t.apart(groups, []int{c}) {
			return []int{c}
		}
		choices = append(choices, choice{c, len(t.Values(c))})
	}
	slices.SortStableFunc(choices, func(a, b choice) int { return cmp.Compare(a.values, b.values) })
	var chosen []int
	for _, c := range choices {
		if more := append(chosen, c.column); t.combinations(groups, more) > t.combinations(groups, chosen) {
			chosen = more
		}
		if t.apart(groups, chosen) {
			return chosen
		}
	}
	return nil
}

// apart tells whether columns differ between all rows of each group.
func (t *Table) apart(groups [][]int, columns []int) bool {
	rows := 0
	for _, group := range groups {
		rows += len(group)
	}
	return t.combinations(groups, columns) == rows
}

// combinations is how many different values of columns the rows of each group have, in all.
func (t *Table) combinations(groups [][]int, columns []int) (n int) {
	for _, group := range groups {
		seen := map[string]bool{}
		for _, row := range group {
			seen[t.cells(row, columns)] = true
		}
		n += len(seen)
	}
	return n
}

// cells is those of a row in some columns, as one text that no other cells have.
func (t *Table) cells(row int, columns []int) string {
	var b strings.Builder
	for _, c := range columns {
		b.WriteString(strconv.Quote(t.Rows[row][c]))
	}
	return b.String()
}

// Values is the different values of a column, in order of appearance.
func (t *Table) Values(column int) []string {
	var values []string
	seen := map[string]bool{}
	for _, row := range t.Rows {
		if v := row[column]; !seen[v] {
			seen[v] = true
			values = append(values, v)
		}
	}
	return values
}

func (t *Table) namesOf(columns []int) (names []string) {
	for _, c := range columns {
		names = append(names, t.Columns[c])
	}
	return names
}
