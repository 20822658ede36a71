package main

import (
	"cmp"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/tl"
)

// addend is a rank's elements as they are combined.
func addend(a *ccl.Args, x tl.Tile) tl.Tile {
	if a.Reduction == ccl.PremulSum {
		return x.Mul(a.Factor)
	}
	return x
}

// combine is the reduction of two tiles.
func combine(r ccl.Reduction, x, y tl.Tile) tl.Tile {
	switch r {
	case ccl.Product:
		return x.Mul(y)
	case ccl.Min:
		return x.Minimum(y)
	case ccl.Max:
		return x.Maximum(y)
	case ccl.BAnd:
		return x.And(y)
	case ccl.BOr:
		return x.Or(y)
	case ccl.BXor:
		return x.Xor(y)
	}
	return x.Add(y) // Sum, Avg, PremulSum
}

// result is what becomes of the elements of all ranks, once they are combined.
func result(a *ccl.Args, x tl.Tile) tl.Tile {
	if a.Reduction == ccl.Avg {
		return x.Div(cmp.Or(a.Divisor, a.Ranks))
	}
	return x
}
