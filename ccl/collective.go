package ccl

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/tl"
)

// Collective is what a group of ranks does together.
type Collective uint8

// The collectives, under the names of torch.distributed.
const (
	AllReduce     Collective = iota // everyone gets the reduction of all
	Reduce                          // the root does
	Broadcast                       // everyone gets what the root has
	AllGather                       // everyone gets everyone's block
	ReduceScatter                   // rank r gets the reduction of everyone's block r
	AllToAll                        // rank r gets everyone's block r
	Gather                          // the root gets everyone's block
	Scatter                         // rank r gets the root's block r
	SendRecv                        // some ranks have messages for others
	Barrier                         // nobody goes on before everyone is there
	numCollectives
)

var collectiveNames = [numCollectives]string{
	"all_reduce", "reduce", "broadcast", "all_gather", "reduce_scatter", "all_to_all", "gather", "scatter", "sendrecv", "barrier",
}

// String returns the name: "all_reduce".
func (c Collective) String() string {
	if c >= numCollectives {
		return fmt.Sprintf("Collective(%d)", uint8(c))
	}
	return collectiveNames[c]
}

// Collectives returns all of them.
func Collectives() []Collective { return below(numCollectives) }

// below returns the values of an enumeration before one.
func below[T ~uint8](end T) (all []T) {
	for v := range end {
		all = append(all, v)
	}
	return all
}

// ParseCollective finds a collective by name, with or without underscores.
func ParseCollective(name string) (Collective, error) {
	plain := func(s string) string { return strings.ReplaceAll(strings.ToLower(s), "_", "") }
	i := slices.IndexFunc(collectiveNames[:], func(known string) bool { return plain(known) == plain(name) })
	if i < 0 {
		return 0, fmt.Errorf("no collective %q: use one of %s", name, strings.Join(collectiveNames[:], ", "))
	}
	return Collective(i), nil
}

// Reduces reports whether the collective combines elements with a reduction.
func (c Collective) Reduces() bool { return c == AllReduce || c == Reduce || c == ReduceScatter }

// Rooted reports whether one rank is the root.
func (c Collective) Rooted() bool {
	return c == Reduce || c == Broadcast || c == Gather || c == Scatter
}

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
func (r Reduction) String() string {
	if r >= numReductions {
		return fmt.Sprintf("Reduction(%d)", uint8(r))
	}
	return reductionNames[r]
}

// Reductions returns all of them.
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

// Addend is a rank's elements as they are combined with those of others.
func (p *Plan) Addend(x tl.Tile) tl.Tile {
	if p.Reduction == PremulSum {
		return x.Mul(p.Factor)
	}
	return x
}

// Combine is the reduction of two tiles of addends.
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

// Result is what becomes of the elements of all ranks, once they are combined.
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
