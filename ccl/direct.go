package ccl

import (
	"github.com/kernbench/kernbench/tl"
)

// Direct is for fabrics on which everyone is near to everyone: each message takes one
// step.
var Direct = builtin(&Algorithm{
	Name:    "direct",
	Tiles:   4,
	Summary: "straight from each rank to each other: an all-reduce is a reduce-scatter and an all-gather",
	Collectives: []Collective{
		AllReduce, AllGather, ReduceScatter, AllToAll, SendRecv, Reduce, Broadcast, Gather, Scatter,
	},
	Neighbors: directNeighbors,
	Inbox:     directInbox,
	Schedule:  directSchedule,
}, (*member).direct)

// directNeighbors returns all others: the rank k places on is at port k.
func directNeighbors(p *Plan, rank int) (list []Neighbor) {
	switch {
	case p.Collective.Rooted():
		return star(p, rank).neighbors()
	case p.Collective == SendRecv:
		return messageNeighbors(p, rank)
	}
	for k := 1; k < p.Ranks; k++ {
		back := p.Ranks - k
		list = append(list, Neighbor{Port: tl.Numbered(k), Rank: (rank + k) % p.Ranks, PeerPort: tl.Numbered(back), Inbox: back - 1})
	}
	return list
}

func directInbox(p *Plan) int {
	switch p.Collective {
	case AllReduce:
		return 2 * tl.CDiv(p.Count(0), p.Ranks)
	case Reduce, Broadcast:
		return p.Count(0)
	}
	return p.Largest()
}

func directSchedule(p *Plan) Schedule {
	switch {
	case p.Collective.Rooted():
		return treeSchedule(p, star)
	case p.Collective == AllReduce:
		return newExchange(p, Exchange{Steps: 2, Combines: 1}, tl.CDiv(p.Count(0), p.Ranks))
	case p.Collective == ReduceScatter:
		return newExchange(p, Exchange{Steps: 1, Combines: 1}, p.Largest())
	case p.Collective == SendRecv:
		return Schedule{}
	}
	return newExchange(p, Exchange{Steps: 1}, p.Largest())
}

func (m *member) direct() {
	switch {
	case m.Collective.Rooted():
		m.climb(star(m.Plan, m.Rank))
	case m.Collective == AllToAll:
		m.swap()
	case m.Collective == SendRecv:
		m.exchange()
	default:
		d := newDirect(m, m.Collective, m.blocks())
		d.run(&d)
	}
}

// port returns the port to another rank.
func (m *member) port(rank int) tl.Port {
	return tl.Numbered((rank - m.Rank + m.Ranks) % m.Ranks)
}

// following is all other ranks, in the order in which a rank sends to them: everyone
// begins with the next one, so that not all send to the same.
func (m *member) following(yield func(rank int) bool) {
	for k := 1; k < m.Ranks && yield((m.Rank+k)%m.Ranks); k++ {
	}
}

// preceding is all other ranks, in the order in which their messages come.
func (m *member) preceding(yield func(rank int) bool) {
	for k := 1; k < m.Ranks && yield((m.Rank-k+m.Ranks)%m.Ranks); k++ {
	}
}

// direct is a rank that trades with all others: a reduce-scatter, after which each rank has
// its own block reduced, an all-gather, which begins with each rank's own block and ends with
// all blocks everywhere, or an all-reduce, which is one after the other. Each of them is one
// step, in which an item is a message to each of the others. Blocks are combined in the order
// of the ranks, from 0.
type direct struct {
	*member
	does  Collective
	block func(rank int) block
	cut   cut
}

func newDirect(m *member, does Collective, block func(int) block) direct {
	largest := 0
	for b := range m.Ranks {
		largest = max(largest, block(b).n)
	}
	return direct{m, does, block, newCut(m.Plan, largest)}
}

// run does all steps for all pieces.
func (d *direct) run(with exchange) {
	steps := 1
	if d.does == AllReduce {
		steps = 2
	}
	schedule{with, d.cut.segments, steps, d.cut.pieces}.run(d.member)
}

// gathers reports whether an item belongs to the all-gather.
func (d *direct) gathers(at item) bool { return d.does == AllGather || at.step == 1 }

// piece returns an item's elements of a rank's block.
func (d *direct) piece(at item, rank int) block {
	b := d.block(rank)
	return b.slice(d.cut.piece(b.n, at.segment, at.message))
}

// first returns what a rank sends in the first step: a piece that it has.
func (d *direct) first(b block) tl.Tile {
	if d.does == AllGather {
		return d.load(b.in, b.n)
	}
	return d.addend(b.in, b.n)
}

func (d *direct) take(at item) (x tl.Tile) {
	if d.gathers(at) {
		for rank := range d.preceding {
			if b := d.piece(at, rank); b.n > 0 {
				d.t.Store(b.out, d.Recv(d.port(rank), b.n))
			}
		}
		return x
	}
	b := d.piece(at, d.Rank)
	if b.n == 0 {
		return x
	}
	var own tl.Tile
	for rank := range d.Ranks {
		if rank == max(0, d.Rank-1) {
			own = d.addend(b.in, b.n) // on its way while a message is
		}
		y := own
		if rank != d.Rank {
			y = d.Recv(d.port(rank), b.n)
		}
		if rank > 0 {
			y = d.Combine(x, y)
		}
		x = y
	}
	x = d.Result(x)
	if d.does == ReduceScatter {
		d.t.Store(b.out, x) // before many others come, if it is not passed on
	}
	return x
}

func (d *direct) pass(at item, x tl.Tile) {
	if !d.gathers(at) {
		for rank := range d.following {
			if b := d.piece(at, rank); b.n > 0 {
				d.Send(d.port(rank), d.first(b))
			}
		}
		return
	}
	b := d.piece(at, d.Rank)
	if b.n == 0 {
		return
	}
	if d.does == AllGather {
		x = d.first(b)
	}
	for rank := range d.following {
		d.Send(d.port(rank), x)
	}
	if d.does == AllGather {
		d.stay(b, x)
	}
}

func (d *direct) keep(at item, x tl.Tile) bool {
	if b := d.piece(at, d.Rank); b.n > 0 && !d.gathers(at) && d.does == AllReduce {
		d.t.Store(b.out, x)
	}
	return false
}

// DirectOnePhase is for tiny messages: nothing is quicker than one step. Each rank sends
// and receives N-1 times all elements, Direct 2(N-1)/N times.
var DirectOnePhase = builtin(&Algorithm{
	Name:        "direct_one_phase",
	Tiles:       4,
	Summary:     "everything straight from each rank to each other in one step, added up by everyone",
	Collectives: []Collective{AllReduce},
	Neighbors:   directNeighbors,
	Inbox:       func(p *Plan) int { return p.Count(0) },
	Schedule:    func(p *Plan) Schedule { return newExchange(p, Exchange{Steps: 1, Combines: 1}, p.Count(0)) },
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
