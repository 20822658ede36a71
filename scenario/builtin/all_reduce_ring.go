package builtin

import (
	"slices"

	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
)

// ring moves some of the elements around the ranks in one direction. Each rank puts data
// only into the windows of the next rank: partial sums into work, complete sums into out.
type ring struct {
	from, n int // the first element and the number of elements
	way     int // the direction: +1 or -1
	arrived int // the signal that counts the parts that have arrived
}

// oneWay returns one ring that moves all n elements.
func oneWay(n int) []ring { return []ring{{0, n, +1, 2}} }

// bothWays returns two rings in opposite directions. Each moves half of the n elements.
func bothWays(n int) []ring { return []ring{{0, n / 2, +1, 2}, {n / 2, n - n/2, -1, 3}} }

// hop is one of the 2P-1 steps of a ring at a rank, where P is the number of ranks. In step
// s the rank handles part q, where rank q is s positions before this rank in the ring. In
// steps s < P the rank adds its own elements, which makes the part a sum over s+1 ranks. In
// step P-1 the sum is complete. In later steps the rank forwards complete sums.
type hop struct {
	step, last  int // this step and the last step, 2P-2
	next        int // the next rank
	arrived     int // the signal that counts the parts that have arrived
	from, elems int // the first element and the number of elements of the part
}

// hop returns what a rank does in the given step of the ring. `ranks` is the number of
// ranks.
func (r ring) hop(step, rank, ranks int) hop {
	at := func(rank int) int { return (rank%ranks + ranks) % ranks }
	from, elems := chunk(r.n, ranks, at(rank-r.way*step))
	return hop{step, 2*ranks - 2, at(rank + r.way), r.arrived, r.from + from, elems}
}

// completesSum reports whether h is the step in which this rank completes the sum of a
// part.
func (h hop) completesSum() bool { return 2*h.step == h.last }

// sum runs one of the steps 0 to P-1, where P is the number of ranks. It adds the elements
// of this rank to the partial sum that has arrived; in step 0 none has. It puts the result
// into the window of the next rank. If the result is the complete sum, it also stores the
// result in this rank's `out`. x, work and out point to the part of this step.
func (h hop) sum(t *tl.PE, x, work, out tl.Ptr) {
	h.wait(t)
	forBlocks(h.elems, func(at, elems int) {
		total := t.Load(x.At(at), tl.Shape{elems}, tl.F32)
		if h.step > 0 {
			total = t.Load(work.At(at), tl.Shape{elems}, tl.F32).Add(total)
		}
		to := work.At(at)
		if h.completesSum() {
			to = out.At(at)
			t.Store(to, total)
		}
		if h.step < h.last {
			t.Put(h.next, to, total)
		}
	})
	h.notifyNext(t)
}

// forward runs step P or a later step, where P is the number of ranks. It waits for a
// complete sum in `out` and puts the sum into the window of the next rank. In the last step
// it only waits.
func (h hop) forward(t *tl.PE, out tl.Ptr) {
	h.wait(t)
	if h.step == h.last {
		return
	}
	forBlocks(h.elems, func(at, elems int) {
		t.Put(h.next, out.At(at), t.Load(out.At(at), tl.Shape{elems}, tl.F32))
	})
	h.notifyNext(t)
}

// wait waits until the previous rank has put the part of this step into the window of this
// rank.
func (h hop) wait(t *tl.PE) {
	if h.step > 0 {
		t.WaitSignal(h.arrived, tl.GE, h.step)
	}
}

// notifyNext notifies the next rank that this rank has put the part into the next rank's
// window. In the last step it does nothing.
func (h hop) notifyNext(t *tl.PE) {
	if h.step < h.last {
		t.Notify(h.next, h.arrived, tl.Add, 1)
	}
}

// ringKernel returns a kernel that runs all rings at the same time: step 0 of each ring,
// then step 1 of each ring, and so on. The function `rings` returns the rings for n
// elements.
func ringKernel(rings func(n int) []ring) any {
	return func(t *tl.PE, x, work, out tl.Ptr, n int) {
		t.Barrier(0) // the next rank has read its outputs of the previous round
		for step := range 2*t.NumRanks() - 1 {
			for _, r := range rings(n) {
				h := r.hop(step, t.Rank(), t.NumRanks())
				if step < t.NumRanks() {
					h.sum(t, x.At(h.from), work.At(h.from), out.At(h.from))
				} else {
					h.forward(t, out.At(h.from))
				}
			}
		}
		t.Barrier(1)
	}
}

// ringTasks returns an orchestration with a task for each step of each ring. The tasks of a
// ring are a chain. The rings run at the same time.
//
// One compute core is enough. Tasks are submitted in the order of the kernel: step 0 of all
// rings, then step 1 of all rings. A step waits only for an earlier step of another rank.
// The tasks could therefore run one at a time in the order of submission, and every runtime
// runs such programs to the end.
func ringTasks(rings func(n int) []ring) any {
	return func(b *task.Builder, x, work, out *task.Tensor, n int) {
		last := slices.Repeat([]task.ID{submitBarrier(b, 0, nil)}, len(rings(n)))
		for step := range 2*b.NumRanks() - 1 {
			for i, r := range rings(n) {
				last[i] = r.hop(step, b.Rank(), b.NumRanks()).submit(b, x, work, out, last[i])
			}
		}
		submitBarrier(b, 1, nil, last...)
	}
}

// submit submits the step as a task that depends on the task `after`, and returns the new
// task. In each step except step 0, the task waits until the previous rank has put data
// into this rank's window. The task therefore declares this data as InOut, as if it wrote
// the data itself.
func (h hop) submit(b *task.Builder, x, work, out *task.Tensor, after task.ID) task.ID {
	part := func(x *task.Tensor) task.Region { return vectorRegion(x, h.from, h.elems) }
	if 2*h.step > h.last {
		return b.Submit("pass", h.forward, task.Args{task.InOut("out", part(out))}, task.After(after))
	}
	partial, total := task.AtPeers("work", part(work)), task.AtPeers("out", part(out))
	if h.step > 0 {
		partial = task.InOut("work", part(work))
	}
	if h.completesSum() {
		total = task.Out("out", part(out))
	}
	return b.Submit("sum", h.sum, task.Args{task.In("x", part(x)), partial, total}, task.After(after))
}
