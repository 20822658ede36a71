package scenarios

import (
	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/tl"
)

func init() {
	register("broadcast")
	scenario.RegisterKernel("broadcast", broadcast)
}

// broadcast leaves the root's x in everybody's out.
func broadcast(t *tl.PE, x, out tl.Ptr, n, root int) {
	if t.Rank() == root {
		for peer := range t.NumRanks() {
			if peer != root {
				t.Notify(peer, ready, tl.Set, 1)
			}
		}
	} else {
		t.WaitSignal(ready, tl.EQ, 1)
	}
	blocks(n, func(at, elems int) {
		t.Store(out.At(at), fetch(t, root, x.At(at), elems))
	})
	if t.Rank() == root {
		t.WaitSignal(done, tl.EQ, t.NumRanks()-1)
	} else {
		t.Notify(root, done, tl.Add, 1)
	}
}
