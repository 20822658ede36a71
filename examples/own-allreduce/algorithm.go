package main

import (
	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/tl"
)

// thereAndBack sums along the line of ranks, from the first to the last, and sends the sums
// back.
var thereAndBack = ccl.Register(&ccl.Algorithm{
	Name:        "there_and_back",
	Summary:     "along a line of all ranks, and back",
	Collectives: []ccl.Collective{ccl.AllReduce},
	Neighbors:   neighbors,
	Kernel:      kernel,
})

// neighbors returns the ranks before and after a rank.
func neighbors(p *ccl.Plan, rank int) (list []ccl.Neighbor) {
	if rank > 0 {
		list = append(list, ccl.Neighbor{Port: tl.West, Rank: rank - 1, PeerPort: tl.East})
	}
	if rank < p.Ranks-1 {
		list = append(list, ccl.Neighbor{Port: tl.East, Rank: rank + 1, PeerPort: tl.West})
	}
	return list
}

// mostAhead limits the number of chunks that a rank sends east before it receives a sum. The
// limit is this number for each hop from the rank to the last rank.
const mostAhead = 8

func chunksAhead(p *ccl.Plan) int { return min(mostAhead, p.Slots) }

func kernel(t *tl.PE, a *ccl.Args) {
	chunks := tl.CDiv(a.Count(0), a.Chunk)
	lead := (a.Ranks - 1 - a.Rank) * chunksAhead(a.Plan) // rounds before the first sum
	for round := range chunks + lead {
		if round < chunks {
			sumEast(t, a, round, chunks)
		}
		if round >= lead {
			passWest(t, a, round-lead, chunks)
		}
	}
}

// chunk returns the index of the first element of chunk i, and the length of the chunk.
func chunk(a *ccl.Args, i, chunks int) (from, n int) {
	from = i * a.Count(0) / chunks
	return from, (i+1)*a.Count(0)/chunks - from
}

// sumEast adds the rank's elements to the sum of the ranks before it and sends the result
// east. The last rank has the complete sum and sends it west.
func sumEast(t *tl.PE, a *ccl.Args, i, chunks int) {
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

// passWest stores a sum that comes from the east and sends it west.
func passWest(t *tl.PE, a *ccl.Args, i, chunks int) {
	if a.Rank == a.Ranks-1 {
		return // sumEast has stored it
	}
	from, n := chunk(a, i, chunks)
	sum := t.Recv(tl.East, tl.Shape{n}, a.DType)
	if a.Rank > 0 {
		t.Send(tl.West, sum)
	}
	t.Store(a.Out(0).Add(from), sum)
}
