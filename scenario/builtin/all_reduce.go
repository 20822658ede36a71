package builtin

import (
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
)

// onePhase has every rank read all windows.
func onePhase(t *tl.PE, x, _, out tl.Ptr, n int) {
	ranks := lists.Count(0, t.NumRanks())
	t.Barrier(0)
	sumTile(t, ranks, x, out, n)
	t.Barrier(1)
}

// onePhaseTasks has a task for each tile of the sum.
func onePhaseTasks(b *task.Builder, x, _, out *task.Tensor, n int) {
	start := meet(b, 0, nil)
	part := func(from, elems int) task.Region { return vector(x, from, elems) }
	sums := sumTiles(b, sumTile, lists.Count(0, b.NumRanks()), n, part, out, start)
	meet(b, 1, nil, append(sums, start)...)
}

// twoPhase has rank r sum part r of all windows into its own, and then everyone
// collect the parts.
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

// twoPhaseTasks has a task for each part that is summed or collected.
func twoPhaseTasks(b *task.Builder, x, work, out *task.Tensor, n int) {
	ranks := lists.Count(0, b.NumRanks())
	start := meet(b, 0, nil)
	from, elems := chunk(n, len(ranks), b.Rank())
	own := b.Submit("sum", sumTile, task.Args{
		task.Scalar("ranks", ranks), task.In("x", vector(x, from, elems)), task.Out("work", vector(work, from, elems)), task.Scalar("n", elems),
	}, task.After(start))
	summed := meet(b, 1, nil, own)
	last := []task.ID{summed}
	for _, peer := range ranks {
		from, elems := chunk(n, len(ranks), peer)
		last = append(last, b.Submit("collect", copyTile, task.Args{
			task.Scalar("peer", peer), atRank(b, peer, task.In, "work", vector(work, from, elems)), task.Out("out", vector(out, from, elems)), task.Scalar("n", elems),
		}, task.After(summed)))
	}
	meet(b, 2, nil, last...)
}
