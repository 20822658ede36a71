package ccl

import "github.com/kernbench/kernbench/tl"

// ringAllToAll is an all-to-all on a ring: a block for the rank d places on travels east d hops,
// and each rank between sends it on.
//
// Blocks of the same distance travel together: in step s a rank sends the block that has come s
// hops, beginning with its own, and receives the one that has come s+1, which is for itself if
// that is d. Large blocks go distance by distance, in segments as on any ring. Small ones, of
// which a queue holds several, go in groups of several distances: a group has as many steps as
// its longest distance, and the items of a block that has arrived are empty. In both cases a rank
// sends on at once what it receives, so that it holds one tile, and links are never idle.
type ringAllToAll struct {
	*member
	cut   cut
	group int // distances that travel together
}

func (m *member) ringAllToAll() {
	r := ringAllToAll{member: m, cut: newCut(m.Plan, m.Largest())}
	if r.cut.pieces == 0 {
		return
	}
	groups := tl.CDiv(m.Ranks-1, m.Ahead()/r.cut.pieces)
	r.group = tl.CDiv(m.Ranks-1, groups)
	oneFlow{&r, groups * r.cut.segments, m.Ranks - 1, r.group * r.cut.pieces}.run(m)
}

// relayed is a piece of a block between two ranks.
type relayed struct {
	from, to int // ranks
	at, n    int // elements of the block
	arrived  bool
}

// piece returns the piece of an item that has come a number of hops.
func (r *ringAllToAll) piece(at item, hops int) relayed {
	distance := at.segment/r.cut.segments*r.group + at.message/r.cut.pieces + 1
	if distance >= r.Ranks || at.step >= distance {
		return relayed{}
	}
	p := relayed{from: (r.Rank - hops + r.Ranks) % r.Ranks, arrived: hops == distance}
	p.to = (p.from + distance) % r.Ranks
	p.at, p.n = r.cut.piece(r.Between(p.from, p.to), at.segment%r.cut.segments, at.message%r.cut.pieces)
	return p
}

func (r *ringAllToAll) receive(at item) (x tl.Tile) {
	if p := r.piece(at, at.step+1); p.n > 0 {
		x = r.Recv(tl.West, p.n)
	}
	return x
}

func (r *ringAllToAll) send(at item, x tl.Tile) {
	p := r.piece(at, at.step)
	if p.n == 0 {
		return
	}
	if at.step == 0 {
		x = r.load(r.In(p.to).Add(p.at), p.n)
	}
	r.Send(tl.East, x)
}

func (r *ringAllToAll) store(at item, x tl.Tile) bool {
	if p := r.piece(at, at.step+1); p.n > 0 && p.arrived {
		r.t.Store(r.Out(p.from).Add(p.at), x)
	}
	if at.step == 0 && at.segment < r.cut.segments && at.message < r.cut.pieces {
		r.copyPiece(r.cut, at)
	}
	return false
}

// copyPiece copies a piece of the block that a rank has for itself. Pieces are copied one by one,
// because a message is not visible before the stores in front of it have ended.
func (m *member) copyPiece(c cut, at item) {
	from, n := c.piece(m.Between(m.Rank, m.Rank), at.segment, at.message)
	if n > 0 {
		m.t.Store(m.Out(m.Rank).Add(from), m.load(m.In(m.Rank).Add(from), n))
	}
}

// ringAllToAllInbox returns the elements on the busiest of a ring's links.
func ringAllToAllInbox(p *Plan) int {
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
