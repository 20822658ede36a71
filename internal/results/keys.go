package results

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// unmatchable is that rows of two tables cannot be matched.
type unmatchable struct{ error }

// IsKey reports whether a column says what a row is about, and was not measured.
func (t *Table) IsKey(col int) bool {
	r := roleOf(t.Columns[col])
	return col < t.Settings || r == key || (r == lower || r == higher) && t.words(col)
}

// keys is the names of the columns that say what a row is about.
func (t *Table) keys() (names []string) {
	for i, name := range t.Columns {
		if t.IsKey(i) {
			names = append(names, name)
		}
	}
	return names
}

// RepeatsRow reports whether a column of points says in every row what the row says itself, as
// it does if points have one each.
func (t *Table) RepeatsRow(name string) bool {
	own, of := strings.CutPrefix(name, ofPoint)
	i, j := slices.Index(t.Columns, name), slices.Index(t.Columns, own)
	return of && i >= 0 && j >= 0 && !slices.ContainsFunc(t.Rows, func(row []string) bool { return row[i] != row[j] })
}

// choice is the column of what was chosen for a row, if it was left to the library.
const choice = "algorithm"

// compareChoice makes what was chosen a value, if the other keys tell rows apart: another
// choice is not another row then.
func (c *Comparison) compareChoice(a, b *Table, o CompareOptions) {
	i := slices.Index(c.Keys, choice)
	if i < 0 || slices.Index(a.Columns, choice) < a.Settings {
		return
	}
	without := &Comparison{Keys: slices.Delete(slices.Clone(c.Keys), i, i+1)}
	without.shown = telling(without.Keys, a, b)
	_, errA := without.distinct(a, b, o.A, o.B)
	_, errB := without.distinct(b, a, o.B, o.A)
	if len(without.Keys) == 0 || errA != nil || errB != nil {
		return
	}
	c.Keys = without.Keys
	if o.Values == nil {
		c.Values = append(c.Values, choice)
	}
}

func columnsOf(t *Table, names []string) (list []int) {
	for _, name := range names {
		list = append(list, slices.Index(t.Columns, name))
	}
	return list
}

// identity is the keys of a row, to find the same; its number if there are none.
func identity(t *Table, row int, columns []int) string {
	if len(columns) == 0 {
		return strconv.Itoa(row)
	}
	return t.cells(row, columns)
}

// name is the keys of a row for people, "topology=ring_1d n_elem=8", without those that say
// nothing; or its number if there are no keys.
func (c *Comparison) name(t *Table, row int, columns []int) string {
	if len(columns) == 0 {
		return fmt.Sprintf("row %d", row+1)
	}
	var words []string
	for i, col := range columns {
		if c.shown[i] {
			words = append(words, c.Keys[i]+"="+t.Rows[row][col])
		}
	}
	return strings.Join(words, " ")
}

// telling is which keys say something: not those that have the same value in all rows, unless
// all have, and not those that repeat one before them in every row.
func telling(keys []string, tables ...*Table) []bool {
	columns := make([][]string, len(keys)) // cells of all rows
	for _, t := range tables {
		for i, col := range columnsOf(t, keys) {
			for _, row := range t.Rows {
				columns[i] = append(columns[i], row[col])
			}
		}
	}
	varied := slices.ContainsFunc(columns, varies)
	shown := make([]bool, len(keys))
	for i, cells := range columns {
		repeats := slices.ContainsFunc(columns[:i], func(before []string) bool { return slices.Equal(before, cells) })
		shown[i] = !repeats && (!varied || varies(cells))
	}
	return shown
}

func varies(cells []string) bool {
	return slices.ContainsFunc(cells, func(c string) bool { return c != cells[0] })
}

// distinct is the rows of a table, of those that are alike in all columns the first. It is an
// error if others have the same keys.
func (c *Comparison) distinct(t, other *Table, called, otherCalled string) (rows []int, err error) {
	columns := columnsOf(t, c.Keys)
	same := map[string][]int{}
	for i := range t.Rows {
		k := identity(t, i, columns)
		if !slices.ContainsFunc(same[k], func(j int) bool { return slices.Equal(t.Rows[i], t.Rows[j]) }) {
			same[k] = append(same[k], i)
			rows = append(rows, i)
		}
	}
	var clashes [][]int
	for _, group := range same {
		if len(group) > 1 {
			clashes = append(clashes, group)
		}
	}
	if len(clashes) == 0 {
		return rows, nil
	}
	first := slices.MinFunc(clashes, func(a, b []int) int { return cmp.Compare(a[0], b[0]) })
	message := fmt.Sprintf("%s has %d rows with %s (rows %d and %d)", called, len(first), c.name(t, first[0], columns), first[0]+1, first[1]+1)
	var shared, own []int // that could tell them apart
	for i, name := range t.Columns {
		switch {
		case !t.IsKey(i) || slices.Contains(c.Keys, name):
		case slices.Contains(other.Columns, name):
			shared = append(shared, i)
		default:
			own = append(own, i)
		}
	}
	if tell := t.namesOf(t.TellApart(clashes, shared)); tell != nil {
		return nil, &unmatchable{fmt.Errorf("%s: tell them apart with --key %s", message, strings.Join(slices.Concat(c.Keys, tell), ","))}
	}
	if tell := t.namesOf(t.TellApart(clashes, slices.Concat(shared, own))); tell != nil {
		return nil, &unmatchable{fmt.Errorf("%s: %s would tell them apart, and %s lacks that", message, strings.Join(tell, ", "), otherCalled)}
	}
	return nil, &unmatchable{fmt.Errorf("%s, alike in all columns that could tell them apart: leave one of them out of the file", message)}
}
