package ccl

import "github.com/kernbench/kernbench/tl"

// DirectOnePhase sends all elements of each rank to all other ranks in one step. It is for
// tiny messages: no algorithm has fewer steps. Each rank sends and receives all elements
// N-1 times, compared with 2(N-1)/N times in Direct.
var DirectOnePhase = builtin(&Algorithm{
	Name:        "direct_one_phase",
	Tiles:       4,
	Summary:     "all data from each rank to every other rank in one step; each rank forms the sum",
	Collectives: []Collective{AllReduce},
	Neighbors:   directNeighbors,
	Divide:      func(p *Plan) (elems, messages int) { return p.Count(0), exchangeMessages },
	Inbox:       func(p *Plan) int { return p.Count(0) },
	Schedule:    func(p *Plan) Schedule { return newExchange(p, Exchange{Steps: 1, Combines: 1}, p.Count(0)) },
}, func(m *member) {
	all := block{m.In(0), m.Out(0), m.Count(0)}
	x := onePhase{newDirect(m, all.n, func(int) block { return all })}
	x.run(&x)
})

// onePhase is a direct reduce-scatter in which the block of every rank consists of all
// elements. All ranks combine the elements in the order of ranks, and so get the same bits.
type onePhase struct{ direct }

// send sends the rank's own elements of item `at` to all other ranks.
func (x *onePhase) send(at item, _ tl.Tile) {
	if b := x.piece(at, x.to(x.Rank)); b.n > 0 {
		own := x.addend(x.load(b.in, b.n))
		x.sendAll(own)
		own.Free()
	}
}
