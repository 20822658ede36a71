package ccl

import (
	"cmp"

	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/tl"
)

// Reduction is how elements are combined.
type Reduction uint8

// The reductions of torch.distributed. AVG divides the sum by the number of ranks
// and PremulSum multiplies each rank's elements by Plan.Factor before they are added:
// both are for floats. The bitwise ones are for integers.
const (
	Sum Reduction = iota
	Avg
	Product
	Min
	Max
	BAnd
	BOr
	BXor
	PremulSum
	numReductions
)

var reductionNames = [numReductions]string{"sum", "avg", "prod", "min", "max", "band", "bor", "bxor", "premul_sum"}

// String returns the name: "sum".
func (r Reduction) String() string { return printable.Name("Reduction", r, reductionNames[:]) }

// Reductions returns all reductions.
func Reductions() []Reduction { return below(numReductions) }

// Serves reports whether the reduction can be done on elements of a dtype.
func (r Reduction) Serves(d tl.DType) bool {
	switch r {
	case Avg, PremulSum:
		return d.IsFloat()
	case BAnd, BOr, BXor:
		return !d.IsFloat()
	}
	return true
}

// Addend returns a rank's elements as they are combined with those of others.
func (p *Plan) Addend(x tl.Tile) tl.Tile {
	if p.Reduction == PremulSum {
		return x.Mul(p.Factor)
	}
	return x
}

// Combine returns the reduction of two tiles of addends.
func (p *Plan) Combine(x, y tl.Tile) tl.Tile {
	switch p.Reduction {
	case Product:
		return x.Mul(y)
	case Min:
		return x.Minimum(y)
	case Max:
		return x.Maximum(y)
	case BAnd:
		return x.And(y)
	case BOr:
		return x.Or(y)
	case BXor:
		return x.Xor(y)
	}
	return x.Add(y)
}

// Result returns the final elements, given those of all ranks combined.
func (p *Plan) Result(x tl.Tile) tl.Tile {
	if p.Reduction != Avg {
		return x
	}
	n := cmp.Or(p.Divisor, p.Ranks)
	if n > 256 && (p.DType == tl.F16 || p.DType == tl.BF16) { // which may not have that number
		return x.To(tl.F32).Div(n).To(p.DType)
	}
	return x.Div(n)
}
