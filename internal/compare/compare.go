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

// Options choose how tables are compared. The zero value uses the roles of columns and
// reports every change.
type Options struct {
	A, B          string   // names of the tables in messages; "" is A and B
	Keys          []string // columns to match rows by; nil: the settings
	Values        []string // columns to compare; nil: all columns except the settings
	Lower, Higher []string // columns where less or more is better, regardless of their roles
	Thresholds    Thresholds
}

// Verdict is the result of comparing two values.
type Verdict string

// The verdicts.
const (
	Equal   Verdict = "equal"   // the same, or a change within the threshold
	Better  Verdict = "better"  // less time, more bandwidth, or fewer errors
	Worse   Verdict = "worse"   // the opposite of better, or no longer measured
	Changed Verdict = "changed" // neither better nor worse
)

// Cell is a value of a row that both tables have.
type Cell struct {
	Row     string   `json:"row"` // the keys of the row: "topology=ring_1d n_elem=8"
	Column  string   `json:"column"`
	A       string   `json:"a"`
	B       string   `json:"b"`
	Change  *float64 `json:"change_percent,omitempty"` // in percent of A; nil if a value is not a number or A is 0
	Verdict Verdict  `json:"verdict"`
}

// Comparison is the differences between two tables A and B.
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
	Unknown []string        `json:"-"` // columns that changed and have no role that says which direction is better

	roles map[string]table.Role
	shown []bool // whether the name of a row has the key, by index of Keys
}

// Bad reports whether a value got worse, or a row or column of A is missing in B.
func (c *Comparison) Bad() bool { return c.Count[Worse] > 0 || len(c.Missing) > 0 || len(c.Lost) > 0 }

// Tables compares matching rows of two tables. Rows match if their keys are equal or, if
// neither table has keys, if they have the same position. Rows of one table with the same
// keys count as one row if they are equal in all columns; otherwise they are an error.
func Tables(a, b *table.Table, o Options) (*Comparison, error) {
	o.A, o.B = cmp.Or(o.A, "A"), cmp.Or(o.B, "B")
	c := &Comparison{
		Missing: []string{}, Added: []string{}, Lost: []string{}, New: []string{}, Cells: []Cell{},
		Count: map[Verdict]int{Worse: 0, Better: 0, Changed: 0, Equal: 0}, roles: o.roles(a, b),
	}
	if err := c.chooseColumns(a, b, o); err != nil {
		return nil, err
	}
	c.shown = informativeKeys(c.Keys, a, b)
	rowsA, errA := c.distinctRows(a, b, o.A, o.B)
	rowsB, errB := c.distinctRows(b, a, o.B, o.A)
	if err := cmp.Or(errA, errB); err != nil {
		return nil, err
	}
	keysA, keysB := columnsOf(a, c.Keys), columnsOf(b, c.Keys)
	valuesA, valuesB := columnsOf(a, c.Values), columnsOf(b, c.Values)
	unmatched := map[string]int{} // rows of B that are not matched yet, by key
	for _, i := range rowsB {
		unmatched[identity(b, i, keysB)] = i
	}
	for _, i := range rowsA {
		k, name := identity(a, i, keysA), c.name(a, i, keysA)
		same, found := unmatched[k]
		if !found {
			c.Missing = append(c.Missing, name)
			continue
		}
		delete(unmatched, k)
		c.Matched++
		for j, column := range c.Values {
			cell := judge(c.roles[column], a.Rows[i][valuesA[j]], b.Rows[same][valuesB[j]], o.Thresholds.forColumn(column))
			cell.Row, cell.Column = name, column
			c.Count[cell.Verdict]++
			c.Cells = append(c.Cells, cell)
			if cell.Change != nil && cell.Verdict == Changed && c.roles[column] == "" && !slices.Contains(c.Unknown, column) {
				c.Unknown = append(c.Unknown, column)
			}
		}
	}
	for _, i := range slices.Sorted(maps.Values(unmatched)) {
		c.Added = append(c.Added, c.name(b, i, keysB))
	}
	return c, nil
}

// roles returns the role of each column, by the name of the column: the role in the options
// or, if the options give none, the role in the first table that gives one. A column that
// has no role and contains only words is a setting.
func (o *Options) roles(tables ...*table.Table) map[string]table.Role {
	roles := map[string]table.Role{}
	words := map[string]bool{}
	for _, t := range tables {
		for i, c := range t.Columns {
			roles[c.Name] = cmp.Or(roles[c.Name], c.Role)
			for _, row := range t.Rows {
				if _, isText := row[i].(string); row[i] != nil {
					before, seen := words[c.Name]
					words[c.Name] = isText && (before || !seen)
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

// chooseColumns sets the columns by which rows are matched, the columns to compare, and the
// columns that only one table has. It returns an error if a table lacks a column that the
// options name, if there is no column to compare, or if there are settings but none that
// both tables have.
func (c *Comparison) chooseColumns(a, b *table.Table, o Options) error {
	for _, name := range slices.Concat(o.Keys, o.Values) {
		for _, t := range []*table.Table{a, b} {
			if _, err := t.Find(name); err != nil {
				return err
			}
		}
	}
	c.Keys, c.Values = o.Keys, o.Values
	lostValue := false // whether B lacks a column that is no setting
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
		case experiment.RepeatsRow(a, name) && experiment.RepeatsRow(b, name): // the columns of the rows have the same values
		case b.Index(name) >= 0:
			*list = append(*list, name)
		default:
			c.Lost = append(c.Lost, name)
			lostValue = lostValue || list == &c.Values
		}
	}
	c.New = slices.DeleteFunc(b.Names(), func(name string) bool { return a.Index(name) >= 0 })
	if len(c.Values) == 0 && !lostValue {
		return errors.New("no column that both have is measured: name those to compare with --value")
	}
	if keysA, keysB := c.settings(a), c.settings(b); len(c.Keys) == 0 && len(keysA)+len(keysB) > 0 {
		return &matchError{fmt.Errorf("no column that both have says what a row is about: %s has %s, %s has %s",
			o.A, cmp.Or(strings.Join(keysA, ", "), "none"), o.B, cmp.Or(strings.Join(keysB, ", "), "none"))}
	}
	return nil
}

// matchError reports that the rows of two tables cannot be matched.
type matchError struct{ error }

// settings returns the names of the columns of a table that have the role setting.
func (c *Comparison) settings(t *table.Table) []string {
	return slices.DeleteFunc(t.Names(), func(name string) bool { return c.roles[name] != table.Setting })
}

// columnsOf returns the indices of the columns of a table that have the given names.
func columnsOf(t *table.Table, names []string) []int {
	return lists.Make(len(names), func(i int) int { return t.Index(names[i]) })
}

// identity returns a text by which rows are matched: the values of a row in the key
// columns, or the number of the row if there are no key columns.
func identity(t *table.Table, row int, columns []int) string {
	if len(columns) == 0 {
		return strconv.Itoa(row)
	}
	return t.Key(row, columns)
}

// name returns the name of a row in messages, such as "topology=ring_1d n_elem=8". It
// leaves out keys that [informativeKeys] does not report as needed. Without keys, the name
// is the number of the row.
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

// informativeKeys reports for each key whether the names of rows need it. A key is not
// needed if it repeats an earlier key in every row. A key with the same value in all rows
// is not needed either, unless all keys are constant.
func informativeKeys(keys []string, tables ...*table.Table) []bool {
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

// varies reports whether at least two of the cells differ.
func varies(cells []string) bool {
	return slices.ContainsFunc(cells, func(c string) bool { return c != cells[0] })
}

// distinctRows returns the indices of the rows of table t. Of several rows that are equal
// in all columns, it returns only the first. Rows that have the same keys and are not equal
// are an error. The error names columns that would distinguish the rows, if there are any;
// `label` and `otherLabel` are the names of the two tables in the error.
func (c *Comparison) distinctRows(t, other *table.Table, label, otherLabel string) (rows []int, err error) {
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
	message := fmt.Sprintf("%s has %d rows with %s (rows %d and %d)", label, len(first), c.name(t, first[0], columns), first[0]+1, first[1]+1)
	var shared, own []int // columns that could tell the rows apart: of both tables, and of only this table
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
		return nil, &matchError{fmt.Errorf("%s: tell them apart with --key %s", message, strings.Join(slices.Concat(c.Keys, t.NamesOf(tell)), ","))}
	}
	if tell := t.TellApart(clashes, slices.Concat(shared, own)); tell != nil {
		return nil, &matchError{fmt.Errorf("%s: %s would tell them apart, and %s lacks that", message, strings.Join(t.NamesOf(tell), ", "), otherLabel)}
	}
	return nil, &matchError{fmt.Errorf("%s, alike in all columns that could tell them apart: leave one of them out of the file", message)}
}
