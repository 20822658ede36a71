package builtin

import (
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
)

// broadcast copies the root's x to out.
func broadcast(t *tl.PE, x, out tl.Ptr, n, root int) {
	broadcastBegin(t, root)
	copyTile(t, root, x, out, n)
	broadcastEnd(t, root)
}

// broadcastBegin, at the root, notifies all other ranks that x is there. At other ranks it
// waits for this notice.
func broadcastBegin(t *tl.PE, root int) {
	if t.Rank() == root {
		notifyOthers(t, ready)
	} else {
		t.WaitSignal(ready, tl.EQ, 1)
	}
}

// broadcastEnd, at the root, waits until all other ranks have read x. At other ranks it
// notifies the root.
func broadcastEnd(t *tl.PE, root int) {
	if t.Rank() != root {
		t.Notify(root, done, tl.Add, 1)
		return
	}
	t.WaitSignal(done, tl.EQ, t.NumRanks()-1)
}

// broadcastTasks submits a task for each tile of out.
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
