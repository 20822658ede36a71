package builtin

import (
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
)

// allToAll writes row d of this rank's x to row s of the buffer `out` of rank d, for every
// rank d. s is this rank.
func allToAll(t *tl.PE, x, out tl.Ptr, n int) {
	t.Barrier(ready) // all ranks have read their outputs of the previous round
	for peer := range t.NumRanks() {
		sendTile(t, peer, x.At(peer), out.At(t.Rank()), n)
	}
	t.Barrier(done)
}

// allToAllTasks submits a task for each row that this rank writes, between two barriers.
func allToAllTasks(b *task.Builder, x, out *task.Tensor, n int) {
	start := submitBarrier(b, ready, nil)
	last := []task.ID{start}
	for peer := range b.NumRanks() {
		last = append(last, b.Submit("send", sendTile, task.Args{
			task.Scalar("peer", peer), task.In("x", x.Rows(peer, 1)), atRank(b, peer, task.Out, "out", out.Rows(b.Rank(), 1)), task.Scalar("n", n),
		}, task.After(start)))
	}
	submitBarrier(b, done, nil, last...)
}
