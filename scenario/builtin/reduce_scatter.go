package builtin

import (
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
)

// reduceScatter adds up row r of x over all ranks, where r is the number of this rank. It
// stores the sum in this rank's `out`.
func reduceScatter(t *tl.PE, x, out tl.Ptr, n int) {
	ranks := lists.Count(0, t.NumRanks())
	t.Barrier(ready)
	sumTile(t, ranks, x.At(t.Rank()), out, n)
	t.Barrier(done)
}

// reduceScatterTasks submits the work of reduceScatter as tasks, one for each tile of the
// sum.
func reduceScatterTasks(b *task.Builder, x, out *task.Tensor, n int) {
	start := submitBarrier(b, ready, nil)
	row := func(from, elems int) task.Region { return x.Box([]int{b.Rank(), from}, []int{1, elems}) }
	sums := sumTiles(b, sumTile, lists.Count(0, b.NumRanks()), n, row, out, start)
	submitBarrier(b, done, nil, append(sums, start)...)
}
