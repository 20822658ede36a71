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
	Cost:      directCost,
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

func (m *member) direct() {
	switch {
	case m.Collective.Rooted():
		m.climb(star(m.Plan, m.Rank))
	case m.Collective == AllToAll:
		m.swap()
	case m.Collective == SendRecv:
		m.exchange()
	default:
		d := direct{newTrade(m, m.Collective, m.blocks(), m.Ranks, 1)}
		d.schedule(&d).run(m)
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

// direct is a rank that trades with all others in one step: an item is a message to
// each of them. Blocks are combined in the order of the ranks, from 0.
type direct struct{ trade }

func (d *direct) take(at item) (x tl.Tile) {
	if d.gathered(at) >= 0 {
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
	if d.gathered(at) < 0 {
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
	if b := d.piece(at, d.Rank); b.n > 0 && d.gathered(at) < 0 && d.does == AllReduce {
		d.t.Store(b.out, x)
	}
	return false
}
