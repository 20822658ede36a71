package ccl

import (
	"slices"

	"github.com/kernbench/kernbench/tl"
)

// The algorithms that go round rings: one of all ranks, or those of the rows and columns
// of a grid.
var (
	// Ring is for large messages: each link carries no more than any algorithm needs.
	Ring = bucketAlgorithm("ring", "round a ring of all ranks: reduce-scatter, all-gather or both, and all-to-all by relay",
		oneRing, func(p *Plan, rank int) []path { return paths(round(p, rank)) }, AllToAll)

	// BidirectionalRing is Ring for links that carry both ways at once.
	BidirectionalRing = bucketAlgorithm("bidirectional_ring", "round a ring of all ranks, half of the data in each direction",
		oneRing, func(p *Plan, rank int) []path { return bothWays(paths(round(p, rank))) })

	// Mesh needs fewer steps than Ring, along the rows and columns of a grid.
	Mesh = bucketAlgorithm("mesh", "on a grid of the ranks: along rows, then along columns",
		rowsAndColumns, func(p *Plan, rank int) []path { return paths(p.alongs(rank)...) })

	// DualMesh is Mesh on all links of a grid at once.
	DualMesh = bucketAlgorithm("dual_mesh", "on a grid of the ranks: rows first with one share of the data, columns first with the rest",
		rowsAndColumns, func(p *Plan, rank int) []path { return p.split(p.alongs(rank), 1) })

	// Torus is DualMesh for grids whose rows and columns are rings.
	Torus = bucketAlgorithm("torus", "on a grid of the ranks: rows first with one share of the data, columns first with the rest, half of each in either direction",
		rowsAndColumns, func(p *Plan, rank int) []path { return bothWays(p.split(p.alongs(rank), 2)) })
)

// bucketAlgorithm is an algorithm whose data takes some paths.
func bucketAlgorithm(name, summary string, neighbors func(*Plan, int) []Neighbor, paths func(*Plan, int) []path, also ...Collective) *Algorithm {
	return builtin(&Algorithm{
		Name: name, Summary: summary, Collectives: append([]Collective{AllReduce, AllGather, ReduceScatter}, also...),
		Neighbors: neighbors, Inbox: bucketInbox, Tiles: 3,
		Schedule: func(p *Plan) Schedule {
			if p.Collective == AllToAll {
				return newExchange(p, Exchange{Ring: true}, p.Largest())
			}
			return newPipelineSchedule(p, func(rank int) *weave { return newWeave(p.withoutPE(rank), paths(p, rank)) })
		},
	}, func(m *member) {
		if m.Collective == AllToAll {
			m.relay()
		} else {
			newWeave(m, paths(m.Plan, m.Rank)).run()
		}
	})
}

// bucketInbox is what comes from a neighbour: in each half of an all-reduce no element
// comes twice.
func bucketInbox(p *Plan) int {
	switch p.Collective {
	case AllReduce:
		return 2 * p.Count(0)
	case AllToAll:
		return relayInbox(p)
	}
	return p.total()
}

// round is the ring of all ranks.
func round(p *Plan, rank int) dim {
	if p.ring == nil { // it is the same for all of them
		p.ring = grid{p.Ranks, 1, true}.loop()
		if p.Layout.known(p.Ranks) && p.Layout.cubes() == 1 && p.Collective != AllToAll {
			p.ring = p.grid().loop()
		}
		p.places = make([]int, p.Ranks)
		for place, rank := range p.ring {
			p.places[rank] = place
		}
	}
	return dim{p.ring, p.places[rank], 1, tl.East, tl.West}
}

func oneRing(p *Plan, rank int) []Neighbor { return circle(round(p, rank), 0, 0) }

// alongs is the rings of a rank's row and of its column, as far as there are several
// ranks in them.
func (p *Plan) alongs(rank int) (dims []dim) {
	g := p.grid()
	for _, d := range []dim{
		{g.cycle(g.w), rank % g.w, 1, tl.East, tl.West},
		{g.cycle(g.h), rank / g.w, g.w, tl.South, tl.North},
	} {
		if d.size() > 1 {
			d.place = slices.Index(d.cycle, d.place)
			dims = append(dims, d)
		}
	}
	return dims
}

func rowsAndColumns(p *Plan, rank int) (list []Neighbor) {
	for _, d := range p.alongs(rank) {
		own := d.cycle[d.place] * d.stride
		list = append(list, circle(d, rank-own, len(list))...)
	}
	return list
}

// circle is the neighbours of a place on a ring, as numbers `first` and first+1 of the
// rank's: each place's next port leads to the previous one of the following place.
func circle(d dim, base, first int) []Neighbor {
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

// paths is one path for all data.
func paths(dims ...dim) []path { return []path{{dims: dims, hi: shareUnits}} }

// split has one share begin with the first dimension and the rest with the second, such
// that links of both are busy for the same time. Rings of more than two ranks that go both
// ways have as many links, if rows and columns wrap.
//
// Along a dimension of d ranks first, an element's share of a link's time is
// f(d) = 2(d-1)/d / links; along it second, that of what the other dimension has left over.
func (p *Plan) split(dims []dim, ways int) []path {
	if len(dims) < 2 {
		return paths(dims...)
	}
	wraps := p.grid().wrap
	f := func(d dim) float64 {
		links := 1
		if wraps && d.size() > 2 {
			links = ways
		}
		return 2 * float64(d.size()-1) / float64(d.size()) / float64(links)
	}
	x, y := f(dims[0]), f(dims[1])
	w, h := float64(dims[0].size()), float64(dims[1].size())
	share := (y - x/h) / (x - x/h + y - y/w)
	at := int(max(0, min(1, share))*shareUnits/2+0.5) * 2 // which can be halved
	return []path{{dims: dims, hi: at}, {dims: []dim{dims[1], dims[0]}, lo: at, hi: shareUnits}}
}

// bothWays has half of each path's share go the other way round.
func bothWays(list []path) (both []path) {
	for _, p := range list {
		back := path{lo: (p.lo + p.hi) / 2, hi: p.hi, back: true}
		for _, d := range p.dims {
			back.dims = append(back.dims, d.reversed())
		}
		p.hi = back.lo
		both = append(both, p, back)
	}
	return both
}

// newWeave returns buckets of some paths, cut into segments and messages.
func newWeave(m *member, list []path) *weave {
	w := &weave{member: m, abreast: 1}
	largest := 0 // block, in elements
	var all []*bucket
	for _, p := range list {
		b := newBucket(m, p)
		for _, n := range m.Counts { // each size once
			_, n = p.share(n)
			b.largest = max(b.largest, n)
		}
		if m.Collective == AllReduce {
			b.largest = tl.CDiv(b.largest, m.Ranks)
		}
		largest = max(largest, b.largest)
		if p.back && len(p.dims) == 1 {
			w.abreast = 2
		}
		if p.hi > p.lo {
			all, w.strands = append(all, b), append(w.strands, b)
		}
	}
	if w.spacing = 1; largest == 0 {
		w.strands = nil
		return w
	}
	// Between dimensions a segment's blocks are in TCM: if there is little room, less of
	// each.
	several := len(all[0].dims) > 1
	room, held := max(1, m.tiles()/2), 0
	chunk := m.Chunk
	if several {
		for _, b := range all {
			held += b.together(0)
		}
		chunk = max(1, min(chunk, chunk*room/held))
	}
	messages := tl.CDiv(largest, chunk)
	steps, pieces := all[0].steps(), m.Ahead()
	if several { // links of other dimensions are to be busy, too
		pieces = max(1, min(messages/(16*steps), maxPieces, room/held, m.Ahead()/all[0].together(0)))
	}
	w.segments = tl.CDiv(messages, pieces)
	pieces = tl.CDiv(messages, w.segments)
	for _, b := range all {
		b.segments, b.pieces = w.segments, pieces
		for k := range b.dims {
			if several && m.Collective == AllReduce && messages == 1 {
				b.joined = append(b.joined, max(1, tl.CDiv(b.together(k)*b.largest, m.Chunk)))
			}
		}
	}
	w.spacing = steps
	if several && w.segments > 1 {
		w.spacing = w.space(steps, m.Ahead(), tl.CDiv(steps*held*pieces, room))
	}
	return w
}

// maxPieces is messages of a segment where several segments are under way.
const maxPieces = 4

// space returns the fewest rounds from one segment to the next, but at least so many, such
// that no way has more messages in a round than may be sent ahead.
func (w *weave) space(steps, ahead, least int) int {
	for spacing := least; spacing < steps; spacing++ {
		if w.busiest(spacing, steps) <= ahead {
			return spacing
		}
	}
	return steps
}

// busiest returns the most messages that a way has in a round, with segments so far apart.
func (w *weave) busiest(spacing, steps int) (most int) {
	var load []int // by way
	for first := range spacing {
		clear(load)
		for _, s := range w.strands {
			for step := first; step < steps; step += spacing {
				way := s.way(step)
				for way >= len(load) {
					load = append(load, 0)
				}
				load[way] += s.messages(step)
				most = max(most, load[way])
			}
		}
	}
	return most
}
