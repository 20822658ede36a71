package builtin

import (
	"slices"

	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
)

// ring is one way round the ranks, for some of the elements. Each rank puts into the
// windows of the next one only: a part that is not complete into work, a sum into out.
type ring struct {
	from, n int // the elements
	way     int // +1 or -1
	arrived int // signal that counts what came
}

// oneWay is the ring of all elements, bothWays the two of half of them each.
func oneWay(n int) []ring { return []ring{{0, n, +1, 2}} }

func bothWays(n int) []ring { return []ring{{0, n / 2, +1, 2}, {n / 2, n - n/2, -1, 3}} }

// hop is a step of a ring at a rank, one of 2P-1. In step s < P a rank has the sum of
// s+1 ranks of a part: the part of the rank s before it. With s = P-1 that sum is
// complete. Then complete parts come in and go on.
type hop struct {
	step, last  int
	next        int // rank
	arrived     int // signal
	from, elems int // the part
}

func (r ring) hop(step, rank, ranks int) hop {
	at := func(rank int) int { return (rank%ranks + ranks) % ranks }
	from, elems := chunk(r.n, ranks, at(rank-r.way*step))
	return hop{step, 2*ranks - 2, at(rank + r.way), r.arrived, r.from + from, elems}
}

// full reports whether the step is the one in which the sum is complete.
func (h hop) full() bool { return 2*h.step == h.last }

// sum is a step up to the one in which the sum is complete. The pointers are to the part.
func (h hop) sum(t *tl.PE, x, work, out tl.Ptr) {
	h.wait(t)
	blocks(h.elems, func(at, elems int) {
		total := t.Load(x.At(at), tl.Shape{elems}, tl.F32)
		if h.step > 0 {
			total = t.Load(work.At(at), tl.Shape{elems}, tl.F32).Add(total)
		}
		to := work.At(at)
		if h.full() {
			to = out.At(at)
			t.Store(to, total)
		}
		if h.step < h.last {
			t.Put(h.next, to, total)
		}
	})
	h.tell(t)
}

// pass is a step after that: the sum is in its place, and goes on.
func (h hop) pass(t *tl.PE, out tl.Ptr) {
	h.wait(t)
	if h.step == h.last {
		return
	}
	blocks(h.elems, func(at, elems int) {
		t.Put(h.next, out.At(at), t.Load(out.At(at), tl.Shape{elems}, tl.F32))
	})
	h.tell(t)
}

func (h hop) wait(t *tl.PE) {
	if h.step > 0 {
		t.WaitSignal(h.arrived, tl.GE, h.step)
	}
}

func (h hop) tell(t *tl.PE) {
	if h.step < h.last {
		t.Notify(h.next, h.arrived, tl.Add, 1)
	}
}

// ringBy returns a kernel that does rings side by side, step by step.
func ringBy(rings func(n int) []ring) any {
	return func(t *tl.PE, x, work, out tl.Ptr, n int) {
		t.Barrier(0) // the next rank's last outputs have been read
		for step := range 2*t.NumRanks() - 1 {
			for _, r := range rings(n) {
				h := r.hop(step, t.Rank(), t.NumRanks())
				if step < t.NumRanks() {
					h.sum(t, x.At(h.from), work.At(h.from), out.At(h.from))
				} else {
					h.pass(t, out.At(h.from))
				}
			}
		}
		t.Barrier(1)
	}
}

// ringTasksBy returns an orchestration with a task for each step: each ring is a chain of
// tasks, and rings run side by side.
//
// One compute core is enough: tasks are submitted in the order of the kernel, step 0 of all
// rings, then step 1 of all, and a step waits only for one of another rank that comes
// earlier in it. So they could run one by one, and runtimes never keep such from running.
func ringTasksBy(rings func(n int) []ring) any {
	return func(b *task.Builder, x, work, out *task.Tensor, n int) {
		last := slices.Repeat([]task.ID{meet(b, 0, nil)}, len(rings(n)))
		for step := range 2*b.NumRanks() - 1 {
			for i, r := range rings(n) {
				last[i] = r.hop(step, b.Rank(), b.NumRanks()).submit(b, x, work, out, last[i])
			}
		}
		meet(b, 1, nil, last...)
	}
}

// submit adds the step as a task. What the rank before puts into this one's windows is
// there when the step has waited: the step writes it, as far as others here can see.
func (h hop) submit(b *task.Builder, x, work, out *task.Tensor, after task.ID) task.ID {
	part := func(x *task.Tensor) task.Region { return vector(x, h.from, h.elems) }
	if 2*h.step > h.last {
		return b.Submit("pass", h.pass, task.Args{task.InOut("out", part(out))}, task.After(after))
	}
	partial, total := task.AtPeers("work", part(work)), task.AtPeers("out", part(out))
	if h.step > 0 {
		partial = task.InOut("work", part(work))
	}
	if h.full() {
		total = task.Out("out", part(out))
	}
	return b.Submit("sum", h.sum, task.Args{task.In("x", part(x)), partial, total}, task.After(after))
}
