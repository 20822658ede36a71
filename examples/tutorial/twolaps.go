package main

import (
	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/tl"
)

var _ = ccl.Register(&ccl.Algorithm{
	Name:        "two_laps",
	Summary:     "a sum is made on one lap of a ring, and handed out on another",
	Collectives: []ccl.Collective{ccl.AllReduce},
	Neighbors:   ring,
	Kernel:      twoLaps,
})

// ring connects a rank with the next rank, in the east, and the previous one, in the west.
func ring(p *ccl.Plan, rank int) []ccl.Neighbor {
	if p.Ranks == 1 {
		return nil
	}
	return []ccl.Neighbor{
		{Port: tl.East, Rank: (rank + 1) % p.Ranks, PeerPort: tl.West},
		{Port: tl.West, Rank: (rank + p.Ranks - 1) % p.Ranks, PeerPort: tl.East},
	}
}

func twoLaps(t *tl.PE, a *ccl.Args) {
	chunks := tl.CDiv(a.Count(0), a.Chunk)
	for i := range chunks + a.Slots {
		if i < chunks {
			firstLap(t, a, i)
		}
		if i >= a.Slots {
			secondLap(t, a, i-a.Slots)
		}
	}
}

// firstLap adds the rank's elements to the partial sum from the west and sends the result
// east. The last rank then has the whole sum, stores it and starts its second lap.
func firstLap(t *tl.PE, a *ccl.Args, i int) {
	from, shape := chunk(a, i)
	sum := a.Addend(t.Load(a.In(0).Add(from), shape, a.DType))
	if a.Rank > 0 {
		sum = a.Combine(t.Recv(tl.West, shape, a.DType), sum)
	}
	if a.Rank == a.Ranks-1 {
		sum = a.Result(sum)
		t.Store(a.Out(0).Add(from), sum)
	}
	if a.Ranks > 1 {
		t.Send(tl.East, sum)
	}
}

// secondLap stores the sum. It also forwards the sum, unless the next rank is the last.
func secondLap(t *tl.PE, a *ccl.Args, i int) {
	if a.Rank == a.Ranks-1 {
		return // firstLap has stored the sum
	}
	from, shape := chunk(a, i)
	sum := t.Recv(tl.West, shape, a.DType)
	if a.Rank < a.Ranks-2 {
		t.Send(tl.East, sum)
	}
	t.Store(a.Out(0).Add(from), sum)
}

// chunk returns the offset of chunk i and its shape.
func chunk(a *ccl.Args, i int) (from int, shape tl.Shape) {
	from = i * a.Chunk
	return from, tl.Shape{min(a.Chunk, a.Count(0)-from)}
}
