package ccl

import "github.com/kernbench/kernbench/tl"

// Ring moves blocks round a ring of all ranks. It is for large messages: no algorithm sends
// fewer bytes over each link.
var Ring = bucketAlgorithm("ring", "round a ring of all ranks: reduce-scatter, all-gather or both, and all-to-all by relay",
	ringNeighbors, func(p *Plan, rank int) []path { return onePath(p.ring(rank)) }, AllToAll)

// BidirectionalRing is a Ring that sends half of the data in each direction. It is for
// links that carry both directions at once.
var BidirectionalRing = bucketAlgorithm("bidirectional_ring", "round a ring of all ranks, half of the data in each direction",
	ringNeighbors, func(p *Plan, rank int) []path { return bothDirections(onePath(p.ring(rank))) })

// ring returns the ring of all ranks from the view of the given rank.
func (p *Plan) ring(rank int) dim {
	if p.ringOrder == nil { // the order is the same for all ranks
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

// neighbors returns the two neighbours of a rank on the ring d: the next rank and the
// previous rank. The port d.next of each rank is connected with the port d.previous of the
// next rank. `base` is the rank with coordinate 0. `first` is the index that the first of
// the two neighbours has in the rank's complete list.
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
