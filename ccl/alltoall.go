package ccl

import (
	"github.com/kernbench/kernbench/tl"
)

// relay is an all-to-all on a ring: a block for the rank d places on travels east d
// hops, each rank on its way passing it on.
//
// Blocks of the same distance travel together: in step s a rank sends the one that has
// come s hops, beginning with its own, and receives the one that has come s+1, which is
// for itself if that is d. Large blocks go distance by distance, and in segments as on
// any ring. Small ones, of which a queue holds several, go in groups of as many
// distances: a group's steps are as many as its longest distance, and one that has
// arrived leaves its items empty. In both cases what a rank receives it passes on at
// once, so that it holds one tile, and the schedule never stands still.
type relay struct {
	*member
	cut   cut
	group int // distances that travel together
}

func (m *member) relay() {
	r := relay{member: m, cut: newCut(m.Plan, m.Largest())}
	if r.cut.pieces == 0 {
		return
	}
	groups := tl.CDiv(m.Ranks-1, m.Ahead()/r.cut.pieces)
	r.group = tl.CDiv(m.Ranks-1, groups)
	schedule{&r, groups * r.cut.segments, m.Ranks - 1, r.group * r.cut.pieces}.run(m)
}

// parcel is a piece of a block on its way.
type parcel struct {
	from, to int // ranks
	at, n    int // which elements of the block
	arrived  bool
}

// parcel is the piece of an item that has come so many hops.
func (r *relay) parcel(at item, hops int) parcel {
	distance := at.segment/r.cut.segments*r.group + at.message/r.cut.pieces + 1
	if distance >= r.Ranks || at.step >= distance {
		return parcel{}
	}
	p := parcel{from: (r.Rank - hops + r.Ranks) % r.Ranks, arrived: hops == distance}
	p.to = (p.from + distance) % r.Ranks
	p.at, p.n = r.cut.piece(r.Between(p.from, p.to), at.segment%r.cut.segments, at.message%r.cut.pieces)
	return p
}

func (r *relay) take(at item) (x tl.Tile) {
	if p := r.parcel(at, at.step+1); p.n > 0 {
		x = r.Recv(tl.West, p.n)
	}
	return x
}

func (r *relay) pass(at item, x tl.Tile) {
	p := r.parcel(at, at.step)
	if p.n == 0 {
		return
	}
	if at.step == 0 {
		x = r.load(r.In(p.to).Add(p.at), p.n)
	}
	r.Send(tl.East, x)
}

func (r *relay) keep(at item, x tl.Tile) bool {
	if p := r.parcel(at, at.step+1); p.n > 0 && p.arrived {
		r.t.Store(r.Out(p.from).Add(p.at), x)
	}
	if at.step == 0 && at.segment < r.cut.segments && at.message < r.cut.pieces {
		r.settle(r.cut, at)
	}
	return false
}

// settle copies a piece of the block that a rank has for itself: one by one, because a
// message is not seen before the stores in front of it have ended.
func (m *member) settle(c cut, at item) {
	from, n := c.piece(m.Between(m.Rank, m.Rank), at.segment, at.message)
	if n > 0 {
		m.t.Store(m.Out(m.Rank).Add(from), m.load(m.In(m.Rank).Add(from), n))
	}
}

// relayInbox is the elements on the busiest of a ring's links.
func relayInbox(p *Plan) int {
	load := 0 // of the link into rank 0: what goes to lower ranks
	for from := range p.Ranks {
		for to := range from {
			load += p.Between(from, to)
		}
	}
	most := load
	for rank := range p.Ranks { // the link out of it has not what ends here, but what begins
		for other := range p.Ranks {
			load += p.Between(rank, other) - p.Between(other, rank)
		}
		most = max(most, load)
	}
	return most
}

// swap is an all-to-all in which each rank sends straight to each other, in one step.
type swap struct {
	*member
	cut cut
}

func (m *member) swap() {
	x := swap{m, newCut(m.Plan, m.Largest())}
	schedule{&x, x.cut.segments, 1, x.cut.pieces}.run(m)
}

func (x *swap) take(at item) (none tl.Tile) {
	for rank := range x.preceding {
		if from, n := x.cut.piece(x.Between(rank, x.Rank), at.segment, at.message); n > 0 {
			x.t.Store(x.Out(rank).Add(from), x.Recv(x.port(rank), n))
		}
	}
	return none
}

func (x *swap) pass(at item, _ tl.Tile) {
	for rank := range x.following {
		if from, n := x.cut.piece(x.Between(x.Rank, rank), at.segment, at.message); n > 0 {
			x.Send(x.port(rank), x.load(x.In(rank).Add(from), n))
		}
	}
}

func (x *swap) keep(at item, _ tl.Tile) bool {
	x.settle(x.cut, at)
	return false
}
