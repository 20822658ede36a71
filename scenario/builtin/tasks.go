package builtin

import (
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
)

// meet submits a barrier of all ranks, or of the given ones. Barriers of a program come one
// after the other: a task that waits keeps its compute core, and a rank may have only one.
func meet(b *task.Builder, signal int, ranks []int, after ...task.ID) task.ID {
	barrier := func(t *tl.PE, signal int, ranks []int) { t.Barrier(signal, ranks...) }
	return b.Submit("barrier", barrier, task.Args{task.Scalar("signal", signal), task.Scalar("ranks", ranks)}, task.After(after...))
}

// tileCount is how many tasks share what one kernel would do in a loop.
const tileCount = 4

// tiles calls f for tiles of n elements, of which none is empty, and is the tasks that it
// submits.
func tiles(n int, f func(from, elems int) task.ID) (ids []task.ID) {
	for c := range tileCount {
		if from, elems := chunk(n, tileCount, c); elems > 0 {
			ids = append(ids, f(from, elems))
		}
	}
	return ids
}

// vector is elements of a tensor with one axis.
func vector(x *task.Tensor, from, elems int) task.Region { return x.Box([]int{from}, []int{elems}) }

// tileKernel leaves the sum over ranks of n elements in their windows in out.
type tileKernel func(t *tl.PE, ranks []int, x, out tl.Ptr, n int)

// sumTiles submits tasks, all after one, that leave in tiles of out the sums over ranks
// of what is in their windows, by a kernel; part says where that is.
func sumTiles(b *task.Builder, kernel tileKernel, ranks []int, n int, part func(from, elems int) task.Region, out *task.Tensor, after task.ID) []task.ID {
	return tiles(n, func(from, elems int) task.ID {
		return b.Submit("sum", kernel, task.Args{
			task.Scalar("ranks", ranks), task.In("x", part(from, elems)), task.Out("out", vector(out, from, elems)), task.Scalar("n", elems),
		}, task.After(after))
	})
}

// sumTile leaves the sum over ranks of n elements in their windows in out.
func sumTile(t *tl.PE, ranks []int, x, out tl.Ptr, n int) {
	x, out = x.Strided(1), out.Strided(1) // whatever the shape: one after the other
	blocks(n, func(at, elems int) {
		t.Store(out.At(at), sum(t, ranks, x.At(at), elems))
	})
}

// reduceTile does the same by one operation.
func reduceTile(t *tl.PE, ranks []int, x, out tl.Ptr, n int) {
	x, out = x.Strided(1), out.Strided(1)
	t.Wait(t.Composite(tl.ReducePeers(tl.OpAdd, out, x, tl.Shape{n}, x.DType, ranks...)))
}

// copyTile leaves n elements of a rank's window in out.
func copyTile(t *tl.PE, rank int, x, out tl.Ptr, n int) {
	x, out = x.Strided(1), out.Strided(1)
	blocks(n, func(at, elems int) {
		t.Store(out.At(at), fetch(t, rank, x.At(at), elems))
	})
}

// sendTile leaves n elements of x in a rank's window, which may be this one's.
func sendTile(t *tl.PE, rank int, x, out tl.Ptr, n int) {
	x, out = x.Strided(1), out.Strided(1)
	blocks(n, func(at, elems int) {
		values := t.Load(x.At(at), tl.Shape{elems}, x.DType)
		if rank == t.Rank() {
			t.Store(out.At(at), values)
		} else {
			t.Put(rank, out.At(at), values)
		}
	})
}

// atRank returns a region that a task reads or writes at one rank alone: own is task.In or
// task.Out, for the rank itself.
func atRank(b *task.Builder, rank int, own func(string, task.Area) task.Arg, name string, a task.Area) task.Arg {
	if rank == b.Rank() {
		return own(name, a)
	}
	return task.AtPeers(name, a)
}
