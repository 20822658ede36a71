package results

import "math/big"

// no reports whether a cell says no: JSON may leave out what is false.
func no(cell string) bool { return cell == "" || cell == "false" }

// truth is a cell of yes or no as a number, 1 or 0.
func truth(cell string) *big.Rat {
	switch cell {
	case "true":
		return big.NewRat(1, 1)
	case "false":
		return new(big.Rat)
	}
	return number(cell)
}

// judge compares two cells of a column.
func judge(column, a, b string, threshold *big.Rat) Cell {
	c := Cell{Column: column, A: a, B: b, Verdict: Equal}
	role, read := asValue(column), number
	if role == right || role == wrong {
		read, threshold = truth, new(big.Rat)
	}
	if a == b || role == neutral && no(a) && no(b) {
		return c
	}
	x, y := read(a), read(b)
	if x == nil || y == nil {
		c.Verdict = gone(role, x, y)
		return c
	}
	more, size := new(big.Rat).Sub(y, x), new(big.Rat).Abs(x)
	if x.Sign() != 0 && number(a) != nil {
		percent, _ := new(big.Rat).Quo(new(big.Rat).Mul(more, big.NewRat(100, 1)), size).Float64()
		c.Change = &percent
	}
	switch allowed := size.Mul(size, threshold); {
	case new(big.Rat).Abs(more).Cmp(allowed) <= 0:
	case role == neutral:
		c.Verdict = Changed
	case (role == lower || role == wrong) == (more.Sign() < 0):
		c.Verdict = Better
	default:
		c.Verdict = Worse
	}
	return c
}

// gone is the verdict on two cells of which one or both, nil, cannot be told in numbers.
func gone(r role, x, y *big.Rat) Verdict {
	switch {
	case r == neutral:
	case x != nil:
		return Worse // what was measured no longer is
	case r == right && (y == nil || y.Sign() == 0), r == wrong && (y == nil || y.Sign() != 0):
		return Worse // nobody had looked, and nothing says now that values are right
	}
	return Changed
}
