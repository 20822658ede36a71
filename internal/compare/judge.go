package compare

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strings"

	"github.com/kernbench/kernbench/table"
)

// number returns the exact decimal value of a cell. true is 1 and false is 0. Numbers too
// small for a float64 are 0. It returns nil if the cell is neither a number nor a boolean,
// or if the number is too large for a float64.
func number(cell any) *big.Rat {
	switch v := cell.(type) {
	case bool:
		if v {
			return big.NewRat(1, 1)
		}
		return new(big.Rat)
	case json.Number:
		x, err := v.Float64()
		if err != nil || math.IsInf(x, 0) {
			return nil
		}
		if x == 0 {
			return new(big.Rat) // also for numbers too small for a float, because their exponent may be huge
		}
		if r, ok := new(big.Rat).SetString(string(v)); ok {
			return r
		}
	}
	return nil
}

// judge compares cells a and b of a column with the given role, which says whether lower or
// higher values are better. It returns the values, the verdict and the change in percent.
// The change is nil unless the cells are numbers with different texts and a is not 0. A
// change of at most `threshold`, as a share of a, counts as equal; checks have no
// threshold. If the role has a better direction, a value that is missing in b is worse.
func judge(role table.Role, a, b any, threshold *big.Rat) Cell {
	c := Cell{A: table.Text(a), B: table.Text(b), Verdict: Equal}
	neutral := role != table.Lower && role != table.Higher && role != table.Check
	_, boolA := a.(bool)
	_, boolB := b.(bool)
	trueIsBetter := role == table.Check && (boolA || boolB) // of two booleans, true is better
	if role == table.Check {
		threshold = new(big.Rat)
	}
	isFalse := func(cell any) bool { return cell == nil || cell == false } // JSON may leave out false values
	if c.A == c.B || neutral && isFalse(a) && isFalse(b) {
		return c
	}
	x, y := number(a), number(b)
	if x == nil || y == nil {
		c.Verdict = Changed
		unchecked := role == table.Check && (y == nil || (y.Sign() == 0) == trueIsBetter) // not checked before, and now not checked or wrong
		if !neutral && (x != nil || unchecked) {                                          // a value that is no longer measured is worse
			c.Verdict = Worse
		}
		return c
	}
	more, size := new(big.Rat).Sub(y, x), new(big.Rat).Abs(x)
	if x.Sign() != 0 && !boolA {
		percent, _ := new(big.Rat).Quo(new(big.Rat).Mul(more, big.NewRat(100, 1)), size).Float64()
		c.Change = &percent
	}
	switch allowed := size.Mul(size, threshold); {
	case new(big.Rat).Abs(more).Cmp(allowed) <= 0:
	case neutral:
		c.Verdict = Changed
	case (role == table.Higher || trueIsBetter) == (more.Sign() > 0):
		c.Verdict = Better
	default:
		c.Verdict = Worse
	}
	return c
}

// Thresholds maps a column to the largest change that still counts as equal, as a share of
// the value in A. The key "" is for all other columns. Without an entry, no change is
// allowed.
type Thresholds map[string]*big.Rat

// Set parses and adds a threshold: "2%" for all columns, or "latency_ns=0.5%" for one
// column. Only 0 may be written without a percent sign.
func (t *Thresholds) Set(text string) error {
	column, share, single := strings.Cut(text, "=")
	if !single {
		column, share = "", text
	}
	percent, isPercent := strings.CutSuffix(share, "%")
	limit := number(json.Number(percent))
	if limit == nil || limit.Sign() < 0 || !isPercent && limit.Sign() != 0 || single && column == "" {
		return fmt.Errorf("threshold %q: write a share such as 2%% or 0, or one of a column, latency_ns=2%%", text)
	}
	limit.Quo(limit, big.NewRat(100, 1))
	if *t == nil {
		*t = Thresholds{}
	}
	(*t)[column] = limit
	return nil
}

// forColumn returns the threshold of a column: its own, or the one for all columns, or 0.
func (t Thresholds) forColumn(column string) *big.Rat { return cmp.Or(t[column], t[""], new(big.Rat)) }
