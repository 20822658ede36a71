package scenarios

import (
	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/tl"
)

func init() {
	register("reduce_scatter")
	scenario.RegisterKernel("reduce_scatter", reduceScatter)
}

// reduceScatter leaves the sum of everybody's row r of x in out of rank r.
func reduceScatter(t *tl.PE, x, out tl.Ptr, n int) {
	ranks := upTo(t.NumRanks())
	Barrier(t, ready)
	blocks(n, func(at, elems int) {
		t.Store(out.At(at), sum(t, ranks, x.At(t.Rank(), at), elems))
	})
	Barrier(t, done)
}
