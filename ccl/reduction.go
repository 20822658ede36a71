package ccl

import (
	"fmt"

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

// String is the name: "sum".
func (r Reduction) String() string {
	if r >= numReductions {
		return fmt.Sprintf("Reduction(%d)", uint8(r))
	}
	return reductionNames[r]
}

// Reductions is all of them.
func Reductions() []Reduction {
	all := make([]Reduction, numReductions)
	for i := range all {
		all[i] = Reduction(i)
	}
	return all
}

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

// combine is the reduction of two tiles, but for what Avg and PremulSum do to the
// elements before and after they are added.
func (r Reduction) combine(x, y tl.Tile) tl.Tile {
	switch r {
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
