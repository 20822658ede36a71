package scenarios

import (
	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/tl"
)

func init() {
	register("all_to_all")
	scenario.RegisterKernel("all_to_all", allToAll)
}

// allToAll leaves row d of rank s in row s of rank d.
func allToAll(t *tl.PE, x, out tl.Ptr, n int) {
	Barrier(t, ready) // the last outputs have been read everywhere
	for peer := range t.NumRanks() {
		blocks(n, func(at, elems int) {
			row := t.Load(x.At(peer, at), tl.Shape{elems}, tl.F32)
			if place := out.At(t.Rank(), at); peer == t.Rank() {
				t.Store(place, row)
			} else {
				t.Put(peer, place, row)
			}
		})
	}
	Barrier(t, done)
}
