package builtin

import (
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
)

// allGather copies x of every rank r to row r of this rank's `out`. n is the number of
// elements of x.
func allGather(t *tl.PE, x, out tl.Ptr, n int) {
	t.Barrier(ready)
	for peer := range t.NumRanks() {
		copyTile(t, peer, x, out.At(peer), n)
	}
	t.Barrier(done)
}

// allGatherTasks submits a task for each row of `out`, between two barriers.
func allGatherTasks(b *task.Builder, x, out *task.Tensor, n int) {
	start := submitBarrier(b, ready, nil)
	last := []task.ID{start}
	for peer := range b.NumRanks() {
		last = append(last, b.Submit("gather", copyTile, task.Args{
			task.Scalar("peer", peer), atRank(b, peer, task.In, "x", x), task.Out("out", out.Rows(peer, 1)), task.Scalar("n", n),
		}, task.After(start)))
	}
	submitBarrier(b, done, nil, last...)
}
