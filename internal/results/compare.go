package results

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// CompareOptions is how to compare tables. The zero value goes by the names of columns, and
// counts every change.
type CompareOptions struct {
	A, B       string   // what the tables are called in messages; A and B if nothing else
	Keys       []string // columns that say what a row is about; none: all that are not measured
	Values     []string // columns to compare; none: all that are measured
	Thresholds Thresholds
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

	shown []bool // keys that rows are named by, by column of Keys
}

// Bad reports whether something got worse, or is no longer there.
func (c *Comparison) Bad() bool { return c.Count[Worse] > 0 || len(c.Missing) > 0 || len(c.Lost) > 0 }

// Compare compares the rows of two tables that are about the same: those whose keys are
// equal, or, if there are no keys in either, those with the same number. Rows with the same
// keys in one table are one if they are alike in all columns, and refused if not.
func Compare(a, b *Table, o CompareOptions) (*Comparison, error) {
	o.A, o.B = cmp.Or(o.A, "A"), cmp.Or(o.B, "B")
	c := &Comparison{
		Missing: []string{}, Added: []string{}, Lost: []string{}, New: []string{}, Cells: []Cell{},
		Count: map[Verdict]int{Worse: 0, Better: 0, Changed: 0, Equal: 0},
	}
	if err := c.choose(a, b, o); err != nil {
		return nil, err
	}
	if o.Keys == nil {
		c.compareChoice(a, b, o)
	}
	c.shown = telling(c.Keys, a, b)
	rowsA, err := c.distinct(a, b, o.A, o.B)
	if err != nil {
		return nil, err
	}
	rowsB, err := c.distinct(b, a, o.B, o.A)
	if err != nil {
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
			cell := judge(column, a.Rows[i][valuesA[j]], b.Rows[same][valuesB[j]], o.Thresholds.of(column))
			cell.Row = name
			c.Count[cell.Verdict]++
			c.Cells = append(c.Cells, cell)
		}
	}
	for _, i := range slices.Sorted(maps.Values(rest)) {
		c.Added = append(c.Added, c.name(b, i, keysB))
	}
	return c, nil
}

// choose picks the columns.
func (c *Comparison) choose(a, b *Table, o CompareOptions) error {
	for _, name := range slices.Concat(o.Keys, o.Values) {
		for _, t := range []*Table{a, b} {
			if _, err := t.Column(name); err != nil {
				return err
			}
		}
	}
	c.Keys, c.Values = o.Keys, o.Values
	gone := false // something that was measured
	for i, name := range a.Columns {
		list, fixed := &c.Values, o.Values != nil
		switch {
		case a.IsKey(i):
			list, fixed = &c.Keys, o.Keys != nil
		case roleOf(name) == origin:
			continue
		}
		switch {
		case fixed || slices.Contains(o.Keys, name) || slices.Contains(o.Values, name):
		case a.RepeatsRow(name) && b.RepeatsRow(name): // said once is enough
		case slices.Contains(b.Columns, name):
			*list = append(*list, name)
		default:
			c.Lost = append(c.Lost, name)
			gone = gone || list == &c.Values
		}
	}
	for _, name := range b.Columns {
		if !slices.Contains(a.Columns, name) {
			c.New = append(c.New, name)
		}
	}
	if len(c.Values) == 0 && !gone {
		return errors.New("no column that both have is measured: name those to compare with --value")
	}
	if keysA, keysB := a.keys(), b.keys(); len(c.Keys) == 0 && len(keysA)+len(keysB) > 0 {
		return &unmatchable{fmt.Errorf("no column that both have says what a row is about: %s has %s, %s has %s",
			o.A, cmp.Or(strings.Join(keysA, ", "), "none"), o.B, cmp.Or(strings.Join(keysB, ", "), "none"))}
	}
	return nil
}
