package compare

import (
	"encoding/json"
	"math"
	"math/big"

	"github.com/kernbench/kernbench/internal/table"
)

// number returns a cell as the decimal that is written, and true and false as 1 and 0. It
// returns nil if the cell is neither.
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
			return new(big.Rat) // also what is too small for a float: its exponent may be of any size
		}
		if r, ok := new(big.Rat).SetString(string(v)); ok {
			return r
		}
	}
	return nil
}

// judge compares two cells of a column with a role.
func judge(role table.Role, a, b any, threshold *big.Rat) Cell {
	c := Cell{A: table.Text(a), B: table.Text(b), Verdict: Equal}
	neutral := role != table.Lower && role != table.Higher && role != table.Check
	_, boolA := a.(bool)
	_, boolB := b.(bool)
	right := role == table.Check && (boolA || boolB) // more is better: true
	if role == table.Check {
		threshold = new(big.Rat)
	}
	no := func(cell any) bool { return cell == nil || cell == false } // JSON may leave out what is false
	if c.A == c.B || neutral && no(a) && no(b) {
		return c
	}
	x, y := number(a), number(b)
	switch {
	case x != nil && y != nil:
	case neutral:
		c.Verdict = Changed
		return c
	case x != nil, // what was measured no longer is
		role == table.Check && (y == nil || (y.Sign() == 0) == right): // no check before, and none now that says that values are right
		c.Verdict = Worse
		return c
	default:
		c.Verdict = Changed
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
	case (role == table.Higher || right) == (more.Sign() > 0):
		c.Verdict = Better
	default:
		c.Verdict = Worse
	}
	return c
}
