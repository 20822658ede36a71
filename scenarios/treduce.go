package scenarios

import (
	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/tl"
)

func init() {
	register("treduce")
	scenario.RegisterKernel("treduce", treduce)
}

const (
	ready = iota // inputs are there
	done         // nobody reads them any more
)

// treduce leaves the sum of everybody's x in the root's out.
func treduce(t *tl.PE, x, out tl.Ptr, n, root int) {
	ranks := upTo(t.NumRanks())
	if t.Rank() != root {
		t.Notify(root, ready, tl.Add, 1)
		t.WaitSignal(done, tl.EQ, 1)
		return
	}
	t.WaitSignal(ready, tl.EQ, len(ranks)-1)
	blocks(n, func(at, elems int) {
		t.Store(out.At(at), sum(t, ranks, x.At(at), elems))
	})
	for _, peer := range ranks {
		if peer != root {
			t.Notify(peer, done, tl.Set, 1)
		}
	}
}
