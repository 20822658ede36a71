package ccl

import (
	"cmp"

	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/tl"
)

// Reduction is an operation that combines elements.
type Reduction uint8

// The reductions of torch.distributed. Avg divides the sum by the number of ranks.
// PremulSum multiplies each rank's elements by Plan.Factor before they are added. Avg and
// PremulSum are for floats, the bitwise reductions for integers.
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

// String returns the name of the reduction, such as "sum".
func (r Reduction) String() string { return printable.Name("Reduction", r, reductionNames[:]) }

// Reductions returns all reductions.
func Reductions() []Reduction { return enumerate(numReductions) }

// Serves reports whether the reduction is defined for elements of dtype d.
func (r Reduction) Serves(d tl.DType) bool {
	switch r {
	case Avg, PremulSum:
		return d.IsFloat()
	case BAnd, BOr, BXor:
		return !d.IsFloat()
	}
	return true
}

// Addend prepares a rank's elements for Combine: for PremulSum it multiplies them by
// p.Factor, otherwise it returns them unchanged.
func (p *Plan) Addend(x tl.Tile) tl.Tile {
	if p.Reduction == PremulSum {
		return x.Mul(p.Factor)
	}
	return x
}

// Combine returns the reduction of two tiles, element by element.
func (p *Plan) Combine(x, y tl.Tile) tl.Tile {
	switch p.Reduction {
	case Sum, Avg, PremulSum:
		return x.Add(y)
	}
	return p.combineOther(x, y)
}

// combineOther implements Combine for reductions that do not add. It is a separate function, so
// that the stack frame of Combine stays small.
func (p *Plan) combineOther(x, y tl.Tile) tl.Tile {
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
	panic("ccl: combine with " + p.Reduction.String())
}

// Result returns the final value of elements that were combined from all ranks. For Avg it
// divides the elements by p.Divisor, or by the number of ranks if p.Divisor is 0. For other
// reductions it returns the elements unchanged.
func (p *Plan) Result(x tl.Tile) tl.Tile {
	if p.Reduction != Avg {
		return x
	}
	n := cmp.Or(p.Divisor, p.Ranks)
	if n > 256 && (p.DType == tl.F16 || p.DType == tl.BF16) { // the dtype may be unable to represent n
		sum := x.To(tl.F32)
		mean := sum.Div(n)
		defer sum.Free()
		defer mean.Free()
		return mean.To(p.DType)
	}
	return x.Div(n)
}
