package compare

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/table"
)

// unmatchable reports that the rows of two tables cannot be matched.
type unmatchable struct{ error }

// settings returns the names of the columns of a table that are settings.
func (c *Comparison) settings(t *table.Table) (names []string) {
	for _, name := range t.Names() {
		if c.roles[name] == table.Setting {
			names = append(names, name)
		}
	}
	return names
}

func columnsOf(t *table.Table, names []string) (list []int) {
	for _, name := range names {
		list = append(list, t.Index(name))
	}
	return list
}

// identity returns the keys of a row as one text, or its number if there are no keys.
func identity(t *table.Table, row int, columns []int) string {
	if len(columns) == 0 {
		return strconv.Itoa(row)
	}
	return t.Key(row, columns)
}

// name returns the keys of a row for people, "topology=ring_1d n_elem=8", without those that
// say nothing, or its number if there are no keys.
func (c *Comparison) name(t *table.Table, row int, columns []int) string {
	if len(columns) == 0 {
		return fmt.Sprintf("row %d", row+1)
	}
	var words []string
	for i, col := range columns {
		if c.shown[i] {
			words = append(words, c.Keys[i]+"="+t.Text(row, col))
		}
	}
	return strings.Join(words, " ")
}

// telling returns which keys say something: not those that have the same value in all rows,
// unless all have, and not those that repeat one before them in every row.
func telling(keys []string, tables ...*table.Table) []bool {
	columns := make([][]string, len(keys)) // cells of all rows
	for _, t := range tables {
		for i, col := range columnsOf(t, keys) {
			for row := range t.Rows {
				columns[i] = append(columns[i], t.Text(row, col))
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

// distinct returns the rows of a table, of those that are alike in all columns the first. It
// is an error if others have the same keys: it names columns that would tell them apart.
func (c *Comparison) distinct(t, other *table.Table, called, otherCalled string) (rows []int, err error) {
	columns := columnsOf(t, c.Keys)
	same := map[string][]int{}
	for i := range t.Rows {
		k := identity(t, i, columns)
		if !slices.ContainsFunc(same[k], func(j int) bool { return slices.Equal(t.Rows[i], t.Rows[j]) }) {
			same[k] = append(same[k], i)
			rows = append(rows, i)
		}
	}
	clashes := table.Clashes(rows, func(row int) string { return identity(t, row, columns) })
	if len(clashes) == 0 {
		return rows, nil
	}
	first := clashes[0]
	message := fmt.Sprintf("%s has %d rows with %s (rows %d and %d)", called, len(first), c.name(t, first[0], columns), first[0]+1, first[1]+1)
	var shared, own []int // that could tell them apart
	for i, column := range t.Columns {
		switch role := c.roles[column.Name]; {
		case role != table.Setting && role != "" && column.Role != table.Setting || slices.Contains(c.Keys, column.Name):
		case other.Index(column.Name) >= 0:
			shared = append(shared, i)
		default:
			own = append(own, i)
		}
	}
	if tell := t.TellApart(clashes, shared); tell != nil {
		return nil, &unmatchable{fmt.Errorf("%s: tell them apart with --key %s", message, strings.Join(slices.Concat(c.Keys, t.NamesOf(tell)), ","))}
	}
	if tell := t.TellApart(clashes, slices.Concat(shared, own)); tell != nil {
		return nil, &unmatchable{fmt.Errorf("%s: %s would tell them apart, and %s lacks that", message, strings.Join(t.NamesOf(tell), ", "), otherCalled)}
	}
	return nil, &unmatchable{fmt.Errorf("%s, alike in all columns that could tell them apart: leave one of them out of the file", message)}
}
