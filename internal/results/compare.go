package results

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// CompareOptions is how to compare tables. The zero value goes by the names of columns, and
// counts every change.
type CompareOptions struct {
	Keys       []string // columns that say what a row is about; none: all that are not measured
	Values     []string // columns to compare; none: all that are measured
	Thresholds Thresholds
}

// Verdict is what became of a value.
type Verdict string

// The verdicts.
const (
	Equal   Verdict = "equal"   // the same, or within the threshold
	Better  Verdict = "better"  // less time or more bandwidth
	Worse   Verdict = "worse"   // the other way, or what says whether values are right has changed
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

	shown []bool // keys that tell rows apart, by column of Keys
}

// Bad reports whether something got worse, or is no longer there.
func (c *Comparison) Bad() bool { return c.Count[Worse] > 0 || len(c.Missing) > 0 || len(c.Lost) > 0 }

// Compare compares the rows of two tables that are about the same: those whose keys are
// equal, the first of several with the first.
func Compare(a, b *Table, o CompareOptions) (*Comparison, error) {
	c := &Comparison{
		Missing: []string{}, Added: []string{}, Lost: []string{}, New: []string{}, Cells: []Cell{},
		Count: map[Verdict]int{Worse: 0, Better: 0, Changed: 0, Equal: 0},
	}
	if err := c.choose(a, b, o); err != nil {
		return nil, err
	}
	c.shown = telling(c.Keys, a, b)
	keysA, keysB := columnsOf(a, c.Keys), columnsOf(b, c.Keys)
	valuesA, valuesB := columnsOf(a, c.Values), columnsOf(b, c.Values)
	rest := map[string][]int{} // rows of B by key, those that are not matched
	for i, row := range b.Rows {
		k := identity(row, keysB)
		rest[k] = append(rest[k], i)
	}
	for i, row := range a.Rows {
		k, name := identity(row, keysA), c.name(i, row, keysA)
		same := rest[k]
		if len(same) == 0 {
			c.Missing = append(c.Missing, name)
			continue
		}
		rest[k] = same[1:]
		c.Matched++
		for j, column := range c.Values {
			cell := judge(column, row[valuesA[j]], b.Rows[same[0]][valuesB[j]], o.Thresholds.of(column))
			cell.Row = name
			c.Count[cell.Verdict]++
			c.Cells = append(c.Cells, cell)
		}
	}
	for _, i := range slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Values(rest))...))) {
		c.Added = append(c.Added, c.name(i, b.Rows[i], keysB))
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
	for i, name := range a.Columns {
		list, fixed := &c.Values, o.Values != nil
		switch r := roleOf(name); {
		case i < a.Settings || r == key:
			list, fixed = &c.Keys, o.Keys != nil
		case r == origin:
			continue
		}
		switch {
		case fixed || slices.Contains(o.Keys, name) || slices.Contains(o.Values, name):
		case slices.Contains(b.Columns, name):
			*list = append(*list, name)
		default:
			c.Lost = append(c.Lost, name)
		}
	}
	for _, name := range b.Columns {
		if !slices.Contains(a.Columns, name) {
			c.New = append(c.New, name)
		}
	}
	if len(c.Values) == 0 {
		return errors.New("no column that both have is measured: name those to compare with --value")
	}
	return nil
}

func columnsOf(t *Table, names []string) (list []int) {
	for _, name := range names {
		list = append(list, slices.Index(t.Columns, name))
	}
	return list
}

// identity is the keys of a row, to find the same.
func identity(row []string, columns []int) string {
	var cells []string
	for _, col := range columns {
		cells = append(cells, strconv.Quote(row[col]))
	}
	return strings.Join(cells, " ")
}

// name is the keys of a row for people, "topology=ring_1d n_elem=8", without those that are
// the same in all rows; or its number if there are no keys.
func (c *Comparison) name(i int, row []string, columns []int) string {
	if len(columns) == 0 {
		return fmt.Sprintf("row %d", i+1)
	}
	var words []string
	for i, col := range columns {
		if c.shown[i] {
			words = append(words, c.Keys[i]+"="+row[col])
		}
	}
	return strings.Join(words, " ")
}

// telling is which keys have more than one value; all if there is none such.
func telling(keys []string, tables ...*Table) []bool {
	first, shown := map[string]string{}, make([]bool, len(keys))
	for _, t := range tables {
		columns := columnsOf(t, keys)
		for _, row := range t.Rows {
			for i, col := range columns {
				if value, seen := first[keys[i]]; !seen {
					first[keys[i]] = row[col]
				} else if value != row[col] {
					shown[i] = true
				}
			}
		}
	}
	if !slices.Contains(shown, true) {
		return slices.Repeat([]bool{true}, len(keys))
	}
	return shown
}

// no reports whether a cell says no: JSON may leave out what is false.
func no(cell string) bool { return cell == "" || cell == "false" }

// judge compares two cells of a column.
func judge(column, a, b string, threshold *big.Rat) Cell {
	c := Cell{Column: column, A: a, B: b, Verdict: Equal}
	role := asValue(column)
	if a == b || role == neutral && no(a) && no(b) {
		return c
	}
	x, y := number(a), number(b)
	if x == nil || y == nil {
		c.Verdict = Changed
		if role == verdict || role != neutral && x != nil {
			c.Verdict = Worse // what was measured no longer is
		}
		return c
	}
	more, size := new(big.Rat).Sub(y, x), new(big.Rat).Abs(x)
	if x.Sign() != 0 {
		percent, _ := new(big.Rat).Quo(new(big.Rat).Mul(more, big.NewRat(100, 1)), size).Float64()
		c.Change = &percent
	}
	allowed := size.Mul(size, threshold)
	switch {
	case more.Sign() == 0 || role != verdict && new(big.Rat).Abs(more).Cmp(allowed) <= 0:
	case role == verdict:
		c.Verdict = Worse
	case role == neutral:
		c.Verdict = Changed
	case (role == lower) == (more.Sign() < 0):
		c.Verdict = Better
	default:
		c.Verdict = Worse
	}
	return c
}
