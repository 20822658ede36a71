package scenarios

import (
	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/tl"
)

func init() {
	register("allgather")
	scenario.RegisterKernel("allgather", allGather)
}

// allGather leaves x of rank r in row r of everybody's out.
func allGather(t *tl.PE, x, out tl.Ptr, n int) {
	Barrier(t, ready)
	for peer := range t.NumRanks() {
		blocks(n, func(at, elems int) {
			t.Store(out.At(peer, at), fetch(t, peer, x.At(at), elems))
		})
	}
	Barrier(t, done)
}
