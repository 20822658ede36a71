package scenarios

import (
	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
)

func init() {
	register("treduce")
	scenario.RegisterTasks("treduce", treduceTasks)
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
		treduceOffer(t, root)
		return
	}
	treduceBegin(t)
	sumTile(t, ranks, x, out, n)
	treduceEnd(t)
}

// treduceOffer has a rank that is not the root say that its x is there, and wait until
// the root has read it.
func treduceOffer(t *tl.PE, root int) {
	t.Notify(root, ready, tl.Add, 1)
	t.WaitSignal(done, tl.EQ, 1)
}

// treduceBegin has the root wait until everybody's x is there.
func treduceBegin(t *tl.PE) { t.WaitSignal(ready, tl.EQ, t.NumRanks()-1) }

// treduceEnd has the root say that it has read them.
func treduceEnd(t *tl.PE) {
	for peer := range t.NumRanks() {
		if peer != t.Rank() {
			t.Notify(peer, done, tl.Set, 1)
		}
	}
}

// treduceTasks has a task for each tile of the sum, at the root.
func treduceTasks(b *task.Builder, x, out *task.Tensor, n, root int) {
	if b.Rank() != root {
		b.Submit("offer", treduceOffer, task.Args{task.Scalar("root", root)})
		return
	}
	begin := b.Submit("begin", treduceBegin, nil)
	part := func(from, elems int) task.Region { return vector(x, from, elems) }
	sums := sumTiles(b, upTo(b.NumRanks()), n, part, out, begin)
	b.Submit("end", treduceEnd, nil, task.After(append(sums, begin)...))
}
