package builtin

import (
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
)

// broadcast leaves the root's x in everybody's out.
func broadcast(t *tl.PE, x, out tl.Ptr, n, root int) {
	broadcastBegin(t, root)
	copyTile(t, root, x, out, n)
	broadcastEnd(t, root)
}

// broadcastBegin has the root say that its x is there, and the others wait for that.
func broadcastBegin(t *tl.PE, root int) {
	if t.Rank() == root {
		notifyOthers(t, ready)
	} else {
		t.WaitSignal(ready, tl.EQ, 1)
	}
}

// broadcastEnd has the others say that they have read it, and the root wait for that.
func broadcastEnd(t *tl.PE, root int) {
	if t.Rank() != root {
		t.Notify(root, done, tl.Add, 1)
		return
	}
	t.WaitSignal(done, tl.EQ, t.NumRanks()-1)
}

// broadcastTasks has a task for each tile of out.
func broadcastTasks(b *task.Builder, x, out *task.Tensor, n, root int) {
	whose := task.Args{task.Scalar("root", root)}
	begin := b.Submit("begin", broadcastBegin, whose)
	last := tiles(n, func(from, elems int) task.ID {
		return b.Submit("copy", copyTile, task.Args{
			whose[0], atRank(b, root, task.In, "x", vector(x, from, elems)), task.Out("out", vector(out, from, elems)), task.Scalar("n", elems),
		}, task.After(begin))
	})
	b.Submit("end", broadcastEnd, whose, task.After(append(last, begin)...))
}
