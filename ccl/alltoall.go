package ccl

import "github.com/kernbench/kernbench/tl"

// ringAllToAll is an all-to-all on a ring. A block from a rank to the rank d places further
// east travels over d hops, and each rank on the way forwards it.
//
// Blocks of the same distance d travel together. In step s a rank sends the block that has
// travelled s hops, beginning with its own, and receives a block that has travelled s+1
// hops. That block has arrived if s+1 = d. Large blocks travel one distance after another,
// in segments as on any ring. Small blocks, of which a queue holds several, travel in
// groups of several distances: a group has as many steps as its longest distance, and the
// items of a block that has arrived are empty. In both cases a rank forwards at once what
// it receives, so that it holds one tile, and links are never idle.
type ringAllToAll struct {
	*member
	cut   cut
	group int // number of distances that travel together
}

// ringAllToAll runs an all-to-all around the ring of all ranks.
func (m *member) ringAllToAll() {
	r := ringAllToAll{member: m, cut: newCut(m.Plan, m.Largest())}
	if r.cut.pieces == 0 {
		return
	}
	groups := tl.CDiv(m.Ranks-1, m.Ahead()/r.cut.pieces)
	r.group = tl.CDiv(m.Ranks-1, groups)
	oneFlow{&r, groups * r.cut.segments, m.Ranks - 1, r.group * r.cut.pieces}.run(m)
}

// relayPiece is a piece of a block on its way between two ranks.
type relayPiece struct {
	from, to int  // ranks
	at, n    int  // offset and length in the block, in elements
	arrived  bool // the block has reached rank to
}

// piece returns the piece of a block that item `at` carries after the given number of hops.
// The piece is empty if the block arrived at its destination earlier, or if there is no
// rank at the distance that the item stands for.
func (r *ringAllToAll) piece(at item, hops int) relayPiece {
	distance := at.segment/r.cut.segments*r.group + at.message/r.cut.pieces + 1
	if distance >= r.Ranks || at.step >= distance {
		return relayPiece{}
	}
	p := relayPiece{from: (r.Rank - hops + r.Ranks) % r.Ranks, arrived: hops == distance}
	p.to = (p.from + distance) % r.Ranks
	p.at, p.n = r.cut.piece(r.Between(p.from, p.to), at.segment%r.cut.segments, at.message%r.cut.pieces)
	return p
}

// receive receives the piece of item `at` from the previous rank, unless the piece is
// empty.
func (r *ringAllToAll) receive(at item) (x tl.Tile) {
	if p := r.piece(at, at.step+1); p.n > 0 {
		x = r.Recv(tl.West, p.n)
	}
	return x
}

// send sends the piece of item `at` to the next rank, unless the piece is empty. In the
// first step this is the rank's own piece. In later steps it is tile x, which the rank has
// just received.
func (r *ringAllToAll) send(at item, x tl.Tile) {
	p := r.piece(at, at.step)
	if p.n == 0 {
		return
	}
	if at.step == 0 {
		r.sendLast(tl.East, r.load(r.In(p.to).Add(p.at), p.n))
	} else {
		r.Send(tl.East, x)
	}
}

// store stores tile x if its block is for this rank. In the first step it also copies a
// piece of the block that the rank sends to itself. It never keeps a tile, so it reports
// false.
func (r *ringAllToAll) store(at item, x tl.Tile) bool {
	if p := r.piece(at, at.step+1); p.n > 0 && p.arrived {
		r.t.Store(r.Out(p.from).Add(p.at), x)
	}
	if at.step == 0 && at.segment < r.cut.segments && at.message < r.cut.pieces {
		r.copyPiece(r.cut, at)
	}
	return false
}

// copyPiece copies one piece of the block that the rank sends to itself. A message becomes
// visible only when all earlier stores have ended. The block is therefore copied piece by
// piece, so that no message waits for a store of the whole block.
func (m *member) copyPiece(c cut, at item) {
	from, n := c.piece(m.Between(m.Rank, m.Rank), at.segment, at.message)
	if n > 0 {
		m.storeLast(m.Out(m.Rank).Add(from), m.load(m.In(m.Rank).Add(from), n))
	}
}

// ringAllToAllInbox returns the number of elements that the busiest link of the ring
// carries. An inbox must hold that number of elements.
func ringAllToAllInbox(p *Plan) int {
	load := 0 // elements on the link into rank 0: all that go to lower ranks
	for from := range p.Ranks {
		for to := range from {
			load += p.Between(from, to)
		}
	}
	most := load
	for rank := range p.Ranks { // to the link out of rank: add what begins at rank, remove what ends there
		for other := range p.Ranks {
			load += p.Between(rank, other) - p.Between(other, rank)
		}
		most = max(most, load)
	}
	return most
}
