package builtin

import (
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
)

// broadcast copies the root's x to this rank's `out`.
func broadcast(t *tl.PE, x, out tl.Ptr, n, root int) {
	broadcastBegin(t, root)
	copyTile(t, root, x, out, n)
	broadcastEnd(t, root)
}

// broadcastBegin runs before the copy of a broadcast. The root notifies all other ranks
// that its x is ready. Every other rank waits for this signal.
func broadcastBegin(t *tl.PE, root int) {
	if t.Rank() == root {
		notifyOthers(t, ready)
	} else {
		t.WaitSignal(ready, tl.EQ, 1)
	}
}

// broadcastEnd runs after the copy of a broadcast. Each rank other than the root notifies
// the root that it has read x. The root waits for all of them.
func broadcastEnd(t *tl.PE, root int) {
	if t.Rank() != root {
		t.Notify(root, done, tl.Add, 1)
		return
	}
	t.WaitSignal(done, tl.EQ, t.NumRanks()-1)
}

// broadcastTasks submits the work of broadcast as tasks, with one copy task for each tile
// of `out`.
func broadcastTasks(b *task.Builder, x, out *task.Tensor, n, root int) {
	rootArg := task.Args{task.Scalar("root", root)}
	begin := b.Submit("begin", broadcastBegin, rootArg)
	last := forTiles(n, func(from, elems int) task.ID {
		return b.Submit("copy", copyTile, task.Args{
			rootArg[0], atRank(b, root, task.In, "x", vectorRegion(x, from, elems)), task.Out("out", vectorRegion(out, from, elems)), task.Scalar("n", elems),
		}, task.After(begin))
	})
	b.Submit("end", broadcastEnd, rootArg, task.After(append(last, begin)...))
}
