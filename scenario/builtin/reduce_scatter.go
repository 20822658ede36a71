package builtin

import (
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
)

// reduceScatter leaves the sum of everybody's row r of x in out of rank r.
func reduceScatter(t *tl.PE, x, out tl.Ptr, n int) {
	ranks := lists.Count(0, t.NumRanks())
	t.Barrier(ready)
	sumTile(t, ranks, x.At(t.Rank()), out, n)
	t.Barrier(done)
}

// reduceScatterTasks has a task for each tile of the sum.
func reduceScatterTasks(b *task.Builder, x, out *task.Tensor, n int) {
	start := meet(b, ready, nil)
	row := func(from, elems int) task.Region { return x.Box([]int{b.Rank(), from}, []int{1, elems}) }
	sums := sumTiles(b, sumTile, lists.Count(0, b.NumRanks()), n, row, out, start)
	meet(b, done, nil, append(sums, start)...)
}
