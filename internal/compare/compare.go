package compare

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/experiment"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/table"
)

// Options is how to compare tables. The zero value goes by the roles of columns and counts
// every change.
type Options struct {
	A, B          string   // what the tables are called in messages; default A and B
	Keys          []string // columns to match rows by; none: the settings
	Values        []string // columns to compare; none: all others
	Lower, Higher []string // columns of which less or more is better, whatever their roles
	Thresholds    Thresholds
}

// Verdict is what became of a value.
type Verdict string

// The verdicts.
const (
	Equal   Verdict = "equal"   // the same, or within the threshold
	Better  Verdict = "better"  // less time, more bandwidth, or less that is wrong
	Worse   Verdict = "worse"   // the other way, or no longer measured
	Changed Verdict = "changed" // neither better nor worse
)

// Cell is a value of a row that both tables have.
type Cell struct {
	Row     string   `json:"row"` // its keys: "topology=ring_1d n_elem=8"
	Column  string   `json:"column"`
	A       string   `json:"a"`
	B       string   `json:"b"`
	Change  *float64 `json:"change_percent,omitempty"` // of A; none if either is no number, or A is 0
	Verdict Verdict  `json:"verdict"`
}

// Comparison is what became of the rows of A in B.
type Comparison struct {
	Keys    []string        `json:"keys"`
	Values  []string        `json:"values"`
	Matched int             `json:"matched"` // rows that both have
	Missing []string        `json:"missing"` // rows that only A has
	Added   []string        `json:"added"`   // rows that only B has
	Lost    []string        `json:"lost"`    // columns that only A has
	New     []string        `json:"new"`     // columns that only B has
	Count   map[Verdict]int `json:"count"`
	Cells   []Cell          `json:"cells"`
	Unknown []string        `json:"-"` // columns that changed, and nothing says which way is better

	roles map[string]table.Role
	shown []bool // keys that rows are named by, by column of Keys
}

// Bad reports whether something got worse, or is no longer there.
func (c *Comparison) Bad() bool { return c.Count[Worse] > 0 || len(c.Missing) > 0 || len(c.Lost) > 0 }

// Tables compares the rows of two tables that are about the same: those whose keys are
// equal, or, if there are no keys in either, those with the same number. Rows with the same
// keys in one table are one if they are alike in all columns, and refused if not.
func Tables(a, b *table.Table, o Options) (*Comparison, error) {
	o.A, o.B = cmp.Or(o.A, "A"), cmp.Or(o.B, "B")
	c := &Comparison{
		Missing: []string{}, Added: []string{}, Lost: []string{}, New: []string{}, Cells: []Cell{},
		Count: map[Verdict]int{Worse: 0, Better: 0, Changed: 0, Equal: 0}, roles: o.roles(a, b),
	}
	if err := c.choose(a, b, o); err != nil {
		return nil, err
	}
	c.shown = telling(c.Keys, a, b)
	rowsA, errA := c.distinct(a, b, o.A, o.B)
	rowsB, errB := c.distinct(b, a, o.B, o.A)
	if err := cmp.Or(errA, errB); err != nil {
		return nil, err
	}
	keysA, keysB := columnsOf(a, c.Keys), columnsOf(b, c.Keys)
	valuesA, valuesB := columnsOf(a, c.Values), columnsOf(b, c.Values)
	rest := map[string]int{} // rows of B by key, those that are not matched
	for _, i := range rowsB {
		rest[identity(b, i, keysB)] = i
	}
	for _, i := range rowsA {
		k, name := identity(a, i, keysA), c.name(a, i, keysA)
		same, found := rest[k]
		if !found {
			c.Missing = append(c.Missing, name)
			continue
		}
		delete(rest, k)
		c.Matched++
		for j, column := range c.Values {
			cell := judge(c.roles[column], a.Rows[i][valuesA[j]], b.Rows[same][valuesB[j]], o.Thresholds.of(column))
			cell.Row, cell.Column = name, column
			c.Count[cell.Verdict]++
			c.Cells = append(c.Cells, cell)
			if cell.Change != nil && cell.Verdict == Changed && c.roles[column] == "" && !slices.Contains(c.Unknown, column) {
				c.Unknown = append(c.Unknown, column)
			}
		}
	}
	for _, i := range slices.Sorted(maps.Values(rest)) {
		c.Added = append(c.Added, c.name(b, i, keysB))
	}
	return c, nil
}

// roles returns the role of every column: that of the options, or of the first table that
// has one. Columns of words without a role are settings.
func (o *Options) roles(tables ...*table.Table) map[string]table.Role {
	roles := map[string]table.Role{}
	words := map[string]bool{}
	for _, t := range tables {
		for i, c := range t.Columns {
			roles[c.Name] = cmp.Or(roles[c.Name], c.Role)
			for _, row := range t.Rows {
				if _, is := row[i].(string); row[i] != nil {
					before, seen := words[c.Name]
					words[c.Name] = is && (before || !seen)
				}
			}
		}
	}
	for name, role := range roles {
		if role == "" && words[name] {
			roles[name] = table.Setting
		}
	}
	for _, name := range o.Lower {
		roles[name] = table.Lower
	}
	for _, name := range o.Higher {
		roles[name] = table.Higher
	}
	return roles
}

// choose picks the columns.
func (c *Comparison) choose(a, b *table.Table, o Options) error {
	for _, name := range slices.Concat(o.Keys, o.Values) {
		for _, t := range []*table.Table{a, b} {
			if _, err := t.Find(name); err != nil {
				return err
			}
		}
	}
	c.Keys, c.Values = o.Keys, o.Values
	gone := false // something that was measured
	for _, name := range a.Names() {
		list, fixed := &c.Values, o.Values != nil
		switch c.roles[name] {
		case table.Setting:
			list, fixed = &c.Keys, o.Keys != nil
		case table.Origin:
			continue
		}
		switch {
		case fixed || slices.Contains(o.Keys, name) || slices.Contains(o.Values, name):
		case experiment.RepeatsRow(a, name) && experiment.RepeatsRow(b, name): // said once is enough
		case b.Index(name) >= 0:
			*list = append(*list, name)
		default:
			c.Lost = append(c.Lost, name)
			gone = gone || list == &c.Values
		}
	}
	c.New = slices.DeleteFunc(b.Names(), func(name string) bool { return a.Index(name) >= 0 })
	if len(c.Values) == 0 && !gone {
		return errors.New("no column that both have is measured: name those to compare with --value")
	}
	if keysA, keysB := c.settings(a), c.settings(b); len(c.Keys) == 0 && len(keysA)+len(keysB) > 0 {
		return &unmatchable{fmt.Errorf("no column that both have says what a row is about: %s has %s, %s has %s",
			o.A, cmp.Or(strings.Join(keysA, ", "), "none"), o.B, cmp.Or(strings.Join(keysB, ", "), "none"))}
	}
	return nil
}

// unmatchable reports that the rows of two tables cannot be matched.
type unmatchable struct{ error }

// settings returns the names of the columns of a table that are settings.
func (c *Comparison) settings(t *table.Table) []string {
	return slices.DeleteFunc(t.Names(), func(name string) bool { return c.roles[name] != table.Setting })
}

// columnsOf returns the indices of columns of a table by their names.
func columnsOf(t *table.Table, names []string) []int {
	return lists.Make(len(names), func(i int) int { return t.Index(names[i]) })
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
			columns[i] = append(columns[i], lists.Map(t.Rows, func(row []any) string { return table.Text(row[col]) })...)
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
