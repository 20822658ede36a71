package main

import (
	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/tl"
)

// thereAndBack sums along the line of ranks, from 0 to the last, and sends the sums back
// along it.
var thereAndBack = ccl.Register(&ccl.Algorithm{
	Name:        "there_and_back",
	Summary:     "along a line of all ranks, and back",
	Collectives: []ccl.Collective{ccl.AllReduce},
	Neighbors:   neighbors,
	Kernel:      kernel,
})

// neighbors is the rank before and the rank behind, as far as there are these.
func neighbors(p *ccl.Plan, rank int) (list []ccl.Neighbor) {
	if rank > 0 {
		list = append(list, ccl.Neighbor{Port: tl.West, Rank: rank - 1, PeerPort: tl.East})
	}
	if rank < p.Ranks-1 {
		list = append(list, ccl.Neighbor{Port: tl.East, Rank: rank + 1, PeerPort: tl.West})
	}
	return list
}

// mostAhead is the most chunks that a rank sends there ahead of what it takes back, for
// each hop to the end of the line.
const mostAhead = 8

func ahead(p *ccl.Plan) int { return min(mostAhead, p.Slots) }

func kernel(t *tl.PE, a *ccl.Args) {
	chunks := tl.CDiv(a.Count(0), a.Chunk)
	lead := (a.Ranks - 1 - a.Rank) * ahead(a.Plan) // rounds before it takes something back
	for round := range chunks + lead {
		if round < chunks {
			there(t, a, round, chunks)
		}
		if round >= lead {
			back(t, a, round-lead, chunks)
		}
	}
}

// chunk is where chunk i begins, and how many elements it has.
func chunk(a *ccl.Args, i, chunks int) (from, n int) {
	from = i * a.Count(0) / chunks
	return from, (i+1)*a.Count(0)/chunks - from
}

// there adds the rank's elements to the sum of those before it, and sends that on. At the
// end of the line it is the sum of all, and turns round.
func there(t *tl.PE, a *ccl.Args, i, chunks int) {
	from, n := chunk(a, i, chunks)
	sum := a.Addend(t.Load(a.In(0).Add(from), tl.Shape{n}, a.DType))
	if a.Rank > 0 {
		sum = a.Combine(t.Recv(tl.West, tl.Shape{n}, a.DType), sum)
	}
	if a.Rank < a.Ranks-1 {
		t.Send(tl.East, sum)
		return
	}
	sum = a.Result(sum)
	if a.Rank > 0 {
		t.Send(tl.West, sum)
	}
	t.Store(a.Out(0).Add(from), sum)
}

// back passes on what comes from the end of the line, and keeps it.
func back(t *tl.PE, a *ccl.Args, i, chunks int) {
	if a.Rank == a.Ranks-1 {
		return // there is nothing behind it
	}
	from, n := chunk(a, i, chunks)
	sum := t.Recv(tl.East, tl.Shape{n}, a.DType)
	if a.Rank > 0 {
		t.Send(tl.West, sum)
	}
	t.Store(a.Out(0).Add(from), sum)
}
