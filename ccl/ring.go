package ccl

import "github.com/kernbench/kernbench/tl"

// Ring moves blocks round a ring of all ranks. It is for large messages: each link carries no
// more than any algorithm needs.
var Ring = bucketAlgorithm("ring", "round a ring of all ranks: reduce-scatter, all-gather or both, and all-to-all by relay",
	ringNeighbors, func(p *Plan, rank int) []path { return onePath(p.ring(rank)) }, AllToAll)

// BidirectionalRing is Ring for links that carry both directions at once.
var BidirectionalRing = bucketAlgorithm("bidirectional_ring", "round a ring of all ranks, half of the data in each direction",
	ringNeighbors, func(p *Plan, rank int) []path { return bothDirections(onePath(p.ring(rank))) })

// ring returns the ring of all ranks, as a rank sees it.
func (p *Plan) ring(rank int) dim {
	if p.ringOrder == nil { // it is the same for all ranks
		p.ringOrder = grid{p.Ranks, 1, true}.ring()
		if p.Layout.known(p.Ranks) && p.Layout.cubes() == 1 && p.Collective != AllToAll {
			p.ringOrder = p.grid().ring()
		}
		p.ringPlaces = make([]int, p.Ranks)
		for place, rank := range p.ringOrder {
			p.ringPlaces[rank] = place
		}
	}
	return dim{p.ringOrder, p.ringPlaces[rank], 1, tl.East, tl.West}
}

func ringNeighbors(p *Plan, rank int) []Neighbor { return p.ring(rank).neighbors(0, 0) }

// neighbors returns the neighbours of a place on a ring, as numbers `first` and first+1 of the
// rank's. The next port of each place leads to the previous port of the following place.
func (d dim) neighbors(base, first int) []Neighbor {
	n := d.size()
	if n == 1 {
		return nil
	}
	rank := func(place int) int { return base + d.cycle[(place+n)%n]*d.stride }
	return []Neighbor{
		{Port: d.next, Rank: rank(d.place + 1), PeerPort: d.previous, Inbox: first + 1},
		{Port: d.previous, Rank: rank(d.place - 1), PeerPort: d.next, Inbox: first},
	}
}
