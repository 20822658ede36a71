package builtin

import (
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
)

const (
	ready = iota // inputs are there
	done         // nobody reads them any more
)

// treduceBy returns a kernel that leaves the sum of what all ranks have in x in the root's
// out, which it adds up with reduce.
func treduceBy(reduce tileKernel) any {
	return func(t *tl.PE, x, out tl.Ptr, n, root int) {
		if t.Rank() != root {
			treduceOffer(t, root)
			return
		}
		treduceBegin(t)
		reduce(t, lists.Count(0, t.NumRanks()), x, out, n)
		treduceEnd(t)
	}
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
func treduceEnd(t *tl.PE) { notifyOthers(t, done) }

// notifyOthers sets a signal of all other ranks.
func notifyOthers(t *tl.PE, signal int) {
	for peer := range t.NumRanks() {
		if peer != t.Rank() {
			t.Notify(peer, signal, tl.Set, 1)
		}
	}
}

// treduceTasksBy returns an orchestration with a task for each tile of the sum, at the
// root, whose kernel is reduce.
func treduceTasksBy(reduce tileKernel) any {
	return func(b *task.Builder, x, out *task.Tensor, n, root int) {
		if b.Rank() != root {
			b.Submit("offer", treduceOffer, task.Args{task.Scalar("root", root)})
			return
		}
		begin := b.Submit("begin", treduceBegin, nil)
		part := func(from, elems int) task.Region { return vector(x, from, elems) }
		sums := sumTiles(b, reduce, lists.Count(0, b.NumRanks()), n, part, out, begin)
		b.Submit("end", treduceEnd, nil, task.After(append(sums, begin)...))
	}
}
