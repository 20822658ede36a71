package ccl

import "github.com/kernbench/kernbench/tl"

// DirectOnePhase is for tiny messages: nothing is quicker than one step. Each rank sends
// and receives N-1 times all elements, Direct 2(N-1)/N times.
var DirectOnePhase = builtin(&Algorithm{
	Name:        "direct_one_phase",
	Tiles:       4,
	Summary:     "everything straight from each rank to each other in one step, added up by everyone",
	Collectives: []Collective{AllReduce},
	Neighbors:   directNeighbors,
	Inbox:       func(p *Plan) int { return p.Count(0) },
	Cost:        func(p *Plan, n *Network) Time { return n.straight(p, 1, 1, p.Count(0)) },
}, func(m *member) {
	all := block{m.In(0), m.Out(0), m.Count(0)}
	x := onePhase{newDirect(m, ReduceScatter, func(int) block { return all })}
	x.run(&x)
})

// onePhase is a direct reduce-scatter in which the block of every rank is all elements.
// Everyone combines them in the order of the ranks, and gets the same bits.
type onePhase struct{ direct }

func (x *onePhase) pass(at item, _ tl.Tile) {
	b := x.piece(at, x.Rank)
	if b.n == 0 {
		return
	}
	tile := x.first(b)
	for rank := range x.following {
		x.Send(x.port(rank), tile)
	}
}
