package torch

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/ccl"
)

// ReduceOp is how a collective combines elements.
type ReduceOp struct {
	kind   ccl.Reduction
	factor float64
}

// The reductions. AVG divides the sum by the number of ranks, once; it and PREMUL_SUM
// are for floats, the bitwise ones for integers.
var (
	SUM     = ReduceOp{kind: ccl.Sum}
	AVG     = ReduceOp{kind: ccl.Avg}
	PRODUCT = ReduceOp{kind: ccl.Product}
	MIN     = ReduceOp{kind: ccl.Min}
	MAX     = ReduceOp{kind: ccl.Max}
	BAND    = ReduceOp{kind: ccl.BAnd}
	BOR     = ReduceOp{kind: ccl.BOr}
	BXOR    = ReduceOp{kind: ccl.BXor}
)

// PREMUL_SUM multiplies each rank's elements by a factor before they are added.
func PREMUL_SUM(factor float64) ReduceOp { return ReduceOp{ccl.PremulSum, factor} }

func (op ReduceOp) String() string {
	if op.kind == ccl.PremulSum {
		return fmt.Sprintf("%v(%v)", op.kind, op.factor)
	}
	return op.kind.String()
}

// check panics if the reduction is not for the tensor: of a partial one only sums can be
// formed, because its value is the sum of what it has.
func (op ReduceOp) check(what string, x *Tensor) {
	sums := op.kind == ccl.Sum || op.kind == ccl.Avg || op.kind == ccl.PremulSum
	if !sums && slices.ContainsFunc(x.shards, func(s shard) bool { return s.addend > 0 }) {
		panic(misuse(what, "%v of a partial tensor, which is the sum of its addends: form that first, by an all-reduce in a group of the rank alone", op))
	}
	if len(x.partial) > 0 && !x.entire {
		panic(misuse(what, "%s is a part of a partial tensor, whose other elements would still have addends: reduce %s", x.name, x.of.name))
	}
	refuse(!op.kind.Serves(x.dtype), what, "there is no %v of %v: avg and premul_sum are for floats, band, bor and bxor for integers", op, x.dtype)
}
