package ccl

import "github.com/kernbench/kernbench/tl"

// Ring is for large messages: each link carries no more than any algorithm needs.
var Ring = Register(&Algorithm{
	Name:        "ring",
	Summary:     "each rank sends to the next one: reduce-scatter, all-gather or both, block by block, and all-to-all by relay",
	Collectives: []Collective{AllReduce, AllGather, ReduceScatter, AllToAll},
	Neighbors:   ringNeighbors,
	Inbox:       ringInbox,
	Kernel:      ringKernel,
})

func ringNeighbors(p *Plan, rank int) []Neighbor {
	return circle(rank, p.Ranks, func(place int) int { return place }, tl.East, tl.West, 0)
}

// circle is the neighbours of a place on a ring, as numbers `first` and first+1 of the
// rank's: each place's port `next` leads to port `prev` of the following one.
func circle(place, size int, rank func(place int) int, next, prev tl.Port, first int) []Neighbor {
	if size == 1 {
		return nil
	}
	return []Neighbor{
		{Port: next, Rank: rank((place + 1) % size), PeerPort: prev, Inbox: first + 1},
		{Port: prev, Rank: rank((place + size - 1) % size), PeerPort: next, Inbox: first},
	}
}

func ringInbox(p *Plan) int {
	switch p.Collective {
	case AllReduce:
		return 2 * (p.Ranks - 1) * tl.CDiv(p.count(0), p.Ranks)
	case AllToAll:
		return relayInbox(p)
	}
	return p.total()
}

func ringKernel(t *tl.PE, a *Args) {
	m := join(t, a, ringNeighbors, ringInbox)
	switch {
	case m.alone():
	case a.Collective == AllToAll:
		m.relay()
	default:
		m.ring(a.Collective, a.Reduction, a.blocks(), a.Rank, a.Ranks, tl.East, tl.West)
	}
}

// ring is a place on a ring at work. In step s of a reduce-scatter it sends block
// place-1-s and receives place-2-s; the steps of an all-gather continue that. So block b
// is what places b+1, b+2, ... and lastly b have, combined in this order.
type ring struct {
	trade
	place, size int
	next, prev  tl.Port
}

// ring does a reduce-scatter, an all-gather or an all-reduce on a ring of some ranks
// of the group, or all.
func (m *member) ring(does Collective, r Reduction, block func(place int) block, place, size int, next, prev tl.Port) {
	x := ring{newTrade(m, does, r, block, size, size-1), place, size, next, prev}
	x.schedule().run(&x)
}

// sent is the piece that is sent as an item.
func (r *ring) sent(at item) block {
	return r.piece(at, (r.place-r.gathered(at)+r.size)%r.size)
}

// received is the piece that the place before sends as the same item.
func (r *ring) received(at item) block {
	return r.piece(at, (r.place-r.gathered(at)-1+r.size)%r.size)
}

func (r *ring) take(at item) tl.Tile {
	b := r.received(at)
	if b.n == 0 {
		return tl.Tile{}
	}
	if r.gathered(at) >= 0 {
		return r.recv(r.prev, b.n)
	}
	own := r.addend(r.reduction, b.in, b.n) // on its way while the message is
	x := r.reduction.combine(r.recv(r.prev, b.n), own)
	if r.gathered(at) == -1 {
		x = r.result(r.reduction, x)
	}
	return x
}

func (r *ring) pass(at item, x tl.Tile) {
	b := r.sent(at)
	if b.n == 0 {
		return
	}
	if at.step == 0 {
		x = r.first(b)
	}
	r.send(r.next, x)
	if at.step == 0 && r.does == AllGather {
		r.stay(b, x)
	}
}

func (r *ring) keep(at item, x tl.Tile) {
	if b := r.received(at); b.n > 0 && r.gathered(at) >= -1 {
		r.t.Store(b.out, x)
	}
}
