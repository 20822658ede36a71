package builtin

import (
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
)

// The signals of most scenarios.
const (
	ready = iota // the inputs are there
	done         // the inputs have been read
)

// treduceKernel returns a kernel that stores the sum of x over all ranks in the root's
// `out`. The root computes the sum with the function `reduce`.
func treduceKernel(reduce tileKernel) any {
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

// treduceOffer notifies the root that x of this rank is ready, and waits until the root has
// read it.
func treduceOffer(t *tl.PE, root int) {
	t.Notify(root, ready, tl.Add, 1)
	t.WaitSignal(done, tl.EQ, 1)
}

// treduceBegin waits at the root until x of all other ranks is ready.
func treduceBegin(t *tl.PE) { t.WaitSignal(ready, tl.EQ, t.NumRanks()-1) }

// treduceEnd runs at the root after the sum. It notifies all other ranks that the root has
// read their x.
func treduceEnd(t *tl.PE) { notifyOthers(t, done) }

// notifyOthers sets a signal of all other ranks to 1.
func notifyOthers(t *tl.PE, signal int) {
	for peer := range t.NumRanks() {
		if peer != t.Rank() {
			t.Notify(peer, signal, tl.Set, 1)
		}
	}
}

// treduceTasks returns an orchestration that does the work of treduceKernel. At the root it
// submits a task for each tile of the sum, with `reduce` as the kernel. At other ranks it
// submits one task, which runs treduceOffer.
func treduceTasks(reduce tileKernel) any {
	return func(b *task.Builder, x, out *task.Tensor, n, root int) {
		if b.Rank() != root {
			b.Submit("offer", treduceOffer, task.Args{task.Scalar("root", root)})
			return
		}
		begin := b.Submit("begin", treduceBegin, nil)
		part := func(from, elems int) task.Region { return vectorRegion(x, from, elems) }
		sums := sumTiles(b, reduce, lists.Count(0, b.NumRanks()), n, part, out, begin)
		b.Submit("end", treduceEnd, nil, task.After(append(sums, begin)...))
	}
}
