package builtin

import (
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
)

// onePhase stores the sum of x over all ranks in `out`. Every rank reads the windows of all
// ranks.
func onePhase(t *tl.PE, x, _, out tl.Ptr, n int) {
	ranks := lists.Count(0, t.NumRanks())
	t.Barrier(0)
	sumTile(t, ranks, x, out, n)
	t.Barrier(1)
}

// onePhaseTasks submits the work of onePhase as tasks, one for each tile of the sum.
func onePhaseTasks(b *task.Builder, x, _, out *task.Tensor, n int) {
	start := submitBarrier(b, 0, nil)
	part := func(from, elems int) task.Region { return vectorRegion(x, from, elems) }
	sums := sumTiles(b, sumTile, lists.Count(0, b.NumRanks()), n, part, out, start)
	submitBarrier(b, 1, nil, append(sums, start)...)
}

// twoPhase stores the sum of x over all ranks in `out`, in two phases. First, rank r adds
// part r of x of all ranks and stores the sum in its work buffer. Then every rank collects
// the parts from the work buffers of all ranks.
func twoPhase(t *tl.PE, x, work, out tl.Ptr, n int) {
	ranks := lists.Count(0, t.NumRanks())
	t.Barrier(0)
	from, elems := chunk(n, len(ranks), t.Rank())
	sumTile(t, ranks, x.At(from), work.At(from), elems)
	t.Barrier(1)
	for _, peer := range ranks {
		from, elems := chunk(n, len(ranks), peer)
		copyTile(t, peer, work.At(from), out.At(from), elems)
	}
	t.Barrier(2)
}

// twoPhaseTasks submits the work of twoPhase as tasks: one for the part that this rank
// adds, and one for each part that it collects.
func twoPhaseTasks(b *task.Builder, x, work, out *task.Tensor, n int) {
	ranks := lists.Count(0, b.NumRanks())
	start := submitBarrier(b, 0, nil)
	from, elems := chunk(n, len(ranks), b.Rank())
	own := b.Submit("sum", sumTile, task.Args{
		task.Scalar("ranks", ranks), task.In("x", vectorRegion(x, from, elems)), task.Out("work", vectorRegion(work, from, elems)), task.Scalar("n", elems),
	}, task.After(start))
	summed := submitBarrier(b, 1, nil, own)
	last := []task.ID{summed}
	for _, peer := range ranks {
		from, elems := chunk(n, len(ranks), peer)
		last = append(last, b.Submit("collect", copyTile, task.Args{
			task.Scalar("peer", peer), atRank(b, peer, task.In, "work", vectorRegion(work, from, elems)), task.Out("out", vectorRegion(out, from, elems)), task.Scalar("n", elems),
		}, task.After(summed)))
	}
	submitBarrier(b, 2, nil, last...)
}
