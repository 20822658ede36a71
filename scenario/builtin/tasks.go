package builtin

import (
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
)

// submitBarrier submits a barrier of the given ranks (nil: all). The caller must order
// barriers by edges: waiting tasks keep their cores, so ranks with one core could deadlock.
func submitBarrier(b *task.Builder, signal int, ranks []int, after ...task.ID) task.ID {
	barrier := func(t *tl.PE, signal int, ranks []int) { t.Barrier(signal, ranks...) }
	return b.Submit("barrier", barrier, task.Args{task.Scalar("signal", signal), task.Scalar("ranks", ranks)}, task.After(after...))
}

// tileCount is the number of tasks that divide the work of one kernel.
const tileCount = 4

// forTiles divides n elements into tileCount tiles and calls f for each tile that is not
// empty. f submits a task for the tile. forTiles returns these tasks.
func forTiles(n int, f func(from, elems int) task.ID) (ids []task.ID) {
	for c := range tileCount {
		if from, elems := chunk(n, tileCount, c); elems > 0 {
			ids = append(ids, f(from, elems))
		}
	}
	return ids
}

// vectorRegion returns the region of x that has `elems` elements and begins with element
// `from`. x has one axis.
func vectorRegion(x *task.Tensor, from, elems int) task.Region {
	return x.Box([]int{from}, []int{elems})
}

// tileKernel is a kernel that stores in `out` the elementwise sum of n elements at x in the
// windows of the given ranks.
type tileKernel func(t *tl.PE, ranks []int, x, out tl.Ptr, n int)

// sumTiles submits a task for each tile of `out` and returns these tasks. Each task depends
// on the task `after` and runs the given kernel, which adds elements in the windows of the
// given ranks. `part` returns the region that holds the elements of a tile at each rank.
func sumTiles(b *task.Builder, kernel tileKernel, ranks []int, n int, part func(from, elems int) task.Region, out *task.Tensor, after task.ID) []task.ID {
	return forTiles(n, func(from, elems int) task.ID {
		return b.Submit("sum", kernel, task.Args{
			task.Scalar("ranks", ranks), task.In("x", part(from, elems)), task.Out("out", vectorRegion(out, from, elems)), task.Scalar("n", elems),
		}, task.After(after))
	})
}

// sumTile adds the n elements at x of all given ranks, elementwise, and stores the n sums
// in `out`. It reads the elements from the windows of the ranks.
func sumTile(t *tl.PE, ranks []int, x, out tl.Ptr, n int) {
	x, out = x.Strided(1), out.Strided(1) // treats buffers of any shape as vectors
	forBlocks(n, func(at, elems int) {
		t.Store(out.At(at), fetchSum(t, ranks, x.At(at), elems))
	})
}

// reduceTile stores the same sum as sumTile in `out`. It uses one composite: a reduction
// over peers.
func reduceTile(t *tl.PE, ranks []int, x, out tl.Ptr, n int) {
	x, out = x.Strided(1), out.Strided(1)
	t.Wait(t.Composite(tl.ReducePeers(tl.OpAdd, out, x, tl.Shape{n}, x.DType, ranks...)))
}

// copyTile copies n elements to this rank's `out`. They come from x in the window of the
// given rank, which may be this rank.
func copyTile(t *tl.PE, rank int, x, out tl.Ptr, n int) {
	x, out = x.Strided(1), out.Strided(1)
	forBlocks(n, func(at, elems int) {
		t.Store(out.At(at), fetch(t, rank, x.At(at), elems))
	})
}

// sendTile copies n elements of this rank's x to `out` in the window of the given rank,
// which may be this rank.
func sendTile(t *tl.PE, rank int, x, out tl.Ptr, n int) {
	x, out = x.Strided(1), out.Strided(1)
	forBlocks(n, func(at, elems int) {
		values := t.Load(x.At(at), tl.Shape{elems}, x.DType)
		if rank == t.Rank() {
			t.Store(out.At(at), values)
		} else {
			t.Put(rank, out.At(at), values)
		}
	})
}

// atRank returns the argument of a task that accesses region a only at the given rank. If
// this is the rank that submits the task, the argument is own(name, a), where `own` is
// task.In or task.Out. If it is another rank, the argument is a region at a peer.
func atRank(b *task.Builder, rank int, own func(string, task.Area) task.Arg, name string, a task.Area) task.Arg {
	if rank == b.Rank() {
		return own(name, a)
	}
	return task.AtPeers(name, a)
}
