package main

import (
	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/tl"
)

// star sums everything on rank 0, the hub, and sends the sums back.
var _ = ccl.Register(&ccl.Algorithm{
	Name:        "star",
	Summary:     "from all ranks to rank 0, and back",
	Collectives: []ccl.Collective{ccl.AllReduce},
	Neighbors:   spokes,
	Inbox:       spokeInbox,
	Kernel:      starKernel,
})

// spokes returns the neighbours of a rank. For the hub, these are all other ranks, rank r at
// port Numbered(r). For every other rank, it is the hub.
func spokes(p *ccl.Plan, rank int) (list []ccl.Neighbor) {
	if rank > 0 {
		return []ccl.Neighbor{{Port: tl.Parent, Rank: 0, PeerPort: tl.Numbered(rank), Inbox: rank - 1}}
	}
	for r := 1; r < p.Ranks; r++ {
		list = append(list, ccl.Neighbor{Port: tl.Numbered(r), Rank: r, PeerPort: tl.Parent, Inbox: 0})
	}
	return list
}

// spokeInbox returns how many elements one rank sends to another: all elements, once.
func spokeInbox(p *ccl.Plan) int { return p.Count(0) }

func starKernel(t *tl.PE, a *ccl.Args) {
	ports := a.Connect(t, spokes, spokeInbox)
	chunks := tl.CDiv(a.Count(0), a.Chunk)
	for i := range chunks {
		from, n := chunk(a, i, chunks)
		sum := a.Addend(t.Load(a.In(0).Add(from), tl.Shape{n}, a.DType))
		if a.Rank > 0 {
			ports.Send(tl.Parent, sum)
			t.Store(a.Out(0).Add(from), ports.Recv(tl.Parent, n))
			continue
		}
		for r := 1; r < a.Ranks; r++ {
			sum = a.Combine(sum, ports.Recv(tl.Numbered(r), n))
		}
		sum = a.Result(sum)
		for r := 1; r < a.Ranks; r++ {
			ports.Send(tl.Numbered(r), sum)
		}
		t.Store(a.Out(0).Add(from), sum)
	}
}
