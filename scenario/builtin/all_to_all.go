package builtin

import (
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
)

// allToAll leaves row d of rank s in row s of rank d.
func allToAll(t *tl.PE, x, out tl.Ptr, n int) {
	t.Barrier(ready) // the last outputs have been read everywhere
	for peer := range t.NumRanks() {
		sendTile(t, peer, x.At(peer), out.At(t.Rank()), n)
	}
	t.Barrier(done)
}

// allToAllTasks has a task for each row.
func allToAllTasks(b *task.Builder, x, out *task.Tensor, n int) {
	start := meet(b, ready, nil)
	last := []task.ID{start}
	for peer := range b.NumRanks() {
		last = append(last, b.Submit("send", sendTile, task.Args{
			task.Scalar("peer", peer), task.In("x", x.Rows(peer, 1)), atRank(b, peer, task.Out, "out", out.Rows(b.Rank(), 1)), task.Scalar("n", n),
		}, task.After(start)))
	}
	meet(b, done, nil, last...)
}
