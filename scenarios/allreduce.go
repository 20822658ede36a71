package scenarios

import (
	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/tl"
)

func init() {
	register("allreduce")
	scenario.RegisterKernel("allreduce_onephase", onePhase)
	scenario.RegisterKernel("allreduce_twophase", twoPhase)
	scenario.RegisterKernel("allreduce_ring", ringAllReduce)
	scenario.RegisterKernel("allreduce_bidirectional_ring", bidirectionalRing)
}

// onePhase has every rank read all windows.
func onePhase(t *tl.PE, x, _, out tl.Ptr, n int) {
	ranks := upTo(t.NumRanks())
	Barrier(t, 0)
	blocks(n, func(at, elems int) {
		t.Store(out.At(at), sum(t, ranks, x.At(at), elems))
	})
	Barrier(t, 1)
}

// twoPhase has rank r sum part r of all windows into its own, and then everyone
// collect the parts.
func twoPhase(t *tl.PE, x, work, out tl.Ptr, n int) {
	ranks := upTo(t.NumRanks())
	Barrier(t, 0)
	from, elems := chunk(n, len(ranks), t.Rank())
	blocks(elems, func(at, elems int) {
		t.Store(work.At(from+at), sum(t, ranks, x.At(from+at), elems))
	})
	Barrier(t, 1)
	for _, peer := range ranks {
		from, elems := chunk(n, len(ranks), peer)
		blocks(elems, func(at, elems int) {
			t.Store(out.At(from+at), fetch(t, peer, work.At(from+at), elems))
		})
	}
	Barrier(t, 2)
}

// ringAllReduce goes round one way.
func ringAllReduce(t *tl.PE, x, work, out tl.Ptr, n int) {
	goRound(t, ring{x, work, out, n, +1, 2})
}

// bidirectionalRing goes round both ways, with half of the elements each.
func bidirectionalRing(t *tl.PE, x, work, out tl.Ptr, n int) {
	half := n / 2
	goRound(t,
		ring{x, work, out, half, +1, 2},
		ring{x.At(half), work.At(half), out.At(half), n - half, -1, 3})
}

// ring is an all-reduce of n elements round the ranks. Each rank puts into the
// windows of the next one only: a part that is not complete into work, a sum into out.
type ring struct {
	x, work, out tl.Ptr
	n            int
	way          int // +1 or -1
	arrived      int // signal that counts what came
}

// goRound does rings side by side, step by step.
func goRound(t *tl.PE, rings ...ring) {
	Barrier(t, 0) // the next rank's last outputs have been read
	for step := range 2*t.NumRanks() - 1 {
		for _, r := range rings {
			r.step(t, step)
		}
	}
	Barrier(t, 1)
}

// step is one of 2P-1. In step s < P a rank has the sum of s+1 ranks of a part: the
// part of the rank s before it. With s = P-1 that sum is complete. Then complete parts
// come in and go on.
func (r ring) step(t *tl.PE, s int) {
	ranks := t.NumRanks()
	at := func(rank int) int { return (rank%ranks + ranks) % ranks }
	next := at(t.Rank() + r.way)
	from, elems := chunk(r.n, ranks, at(t.Rank()-r.way*s))
	if s > 0 {
		t.WaitSignal(r.arrived, tl.GE, s)
	}
	blocks(elems, func(off, elems int) {
		i, shape := from+off, tl.Shape{elems}
		switch {
		case s >= ranks: // it is in its place
			if s < 2*ranks-2 {
				t.Put(next, r.out.At(i), t.Load(r.out.At(i), shape, tl.F32))
			}
			return
		case s == 0 && ranks > 1:
			t.Put(next, r.work.At(i), t.Load(r.x.At(i), shape, tl.F32))
			return
		}
		total := t.Load(r.x.At(i), shape, tl.F32)
		if s > 0 {
			total = t.Load(r.work.At(i), shape, tl.F32).Add(total)
		}
		if s < ranks-1 {
			t.Put(next, r.work.At(i), total)
			return
		}
		t.Store(r.out.At(i), total)
		if ranks > 1 {
			t.Put(next, r.out.At(i), total)
		}
	})
	if s < 2*ranks-2 {
		t.Notify(next, r.arrived, tl.Add, 1)
	}
}
