package ccl

import (
	"cmp"
	"slices"

	"github.com/kernbench/kernbench/tl"
)

// bucketAlgorithm registers an algorithm whose data takes some paths: the bucket algorithm.
func bucketAlgorithm(name, summary string, neighbors func(*Plan, int) []Neighbor, paths func(*Plan, int) []path, also ...Collective) *Algorithm {
	return builtin(&Algorithm{
		Name: name, Summary: summary, Collectives: append([]Collective{AllReduce, AllGather, ReduceScatter}, also...),
		Neighbors: neighbors, Inbox: bucketInbox, Tiles: 3,
		Schedule: func(p *Plan) Schedule {
			if p.Collective == AllToAll {
				return newExchange(p, Exchange{Ring: true}, p.Largest())
			}
			return newPipelineSchedule(p, func(rank int) *pipeline { return newBucketPipeline(p.withoutPE(rank), paths(p, rank)) })
		},
	}, func(m *member) {
		if m.Collective == AllToAll {
			m.ringAllToAll()
		} else {
			newBucketPipeline(m, paths(m.Plan, m.Rank)).run()
		}
	})
}

// bucketInbox returns the elements that come from a neighbour: in each half of an all-reduce no
// element comes twice.
func bucketInbox(p *Plan) int {
	switch p.Collective {
	case AllReduce:
		return 2 * p.Count(0)
	case AllToAll:
		return ringAllToAllInbox(p)
	}
	return p.total()
}

// bucket is the steps of a rank on a path. Each rank has a block of the data. Along a dimension
// the blocks of ranks with the same coordinate travel together, round the ring: in step s of a
// reduce-scatter a place sends the blocks for place-1-s and receives those for place-2-s, and
// the steps of an all-gather continue that. So the result of a block for place b combines the
// elements of places b+1, b+2, ... and lastly b, in this order.
type bucket struct {
	path
	list  []dimSteps
	count int // of steps
}

// dimSteps is the steps of a bucket along a dimension.
type dimSteps struct {
	k       int // the dimension
	gathers bool
	first   int // step
}

// newBucketFlow returns the flow of a path.
func newBucketFlow(m *member, p path) *blockFlow {
	b := &bucket{path: p}
	f := &blockFlow{member: m, blockSteps: b}
	add := func(k int, gathers bool) {
		b.list = append(b.list, dimSteps{k, gathers, b.count})
		f.last = b.count
		b.count += p.dims[k].size() - 1
	}
	for k := range p.dims {
		if m.Collective != AllGather {
			add(k, false)
		}
	}
	f.reduces = b.count
	for k := range slices.Backward(p.dims) {
		if m.Collective != ReduceScatter {
			add(k, true)
		}
	}
	for _, n := range m.Counts { // each size once
		_, n = p.share(n)
		f.largest = max(f.largest, n)
	}
	whole := m.blocks()
	f.block = func(rank int) block {
		x := whole(rank)
		return x.slice(p.share(x.n))
	}
	if m.Collective == AllReduce { // a block is part of the share
		f.largest = tl.CDiv(f.largest, m.Ranks)
		f.block = func(rank int) block { return b.adjacent(m, rank, 1) }
	}
	return f
}

// adjacent returns a number of blocks of an all-reduce, from that of a rank on. Blocks that
// travel together are adjacent.
func (b *bucket) adjacent(m *member, rank, count int) block {
	first := 0
	for k := range b.dims {
		d := &b.dims[k]
		first = first*d.size() + rank/d.stride%d.size()
	}
	at, n := b.share(m.Count(0))
	from, _ := part(n, first, m.Ranks)
	to, last := part(n, first+count-1, m.Ranks)
	return block{m.In(0).Add(at + from), m.Out(0).Add(at + from), to + last - from}
}

// join makes the blocks of a step one, in as few messages as possible.
func (b *bucket) join(f *blockFlow) {
	f.joinedFrom = b.dims[0].size() - 1
	f.joined = func(step, rank int) (block, int) {
		n := b.blocks(step)
		return b.adjacent(f.member, rank, n), max(1, tl.CDiv(n*f.largest, f.Chunk))
	}
}

func (b *bucket) steps() int { return b.count }

// at returns the dimension of a step, and how many steps along it came before.
func (b *bucket) at(step int) (d *dimSteps, s int) {
	i := len(b.list) - 1
	for b.list[i].first > step {
		i--
	}
	return &b.list[i], step - b.list[i].first
}

func (b *bucket) ports(step int) (to, from tl.Port) {
	d, _ := b.at(step)
	return b.dims[d.k].next, b.dims[d.k].previous
}

func (b *bucket) blocks(step int) int {
	d, _ := b.at(step)
	return b.together(d.k)
}

func (b *bucket) sent(step, i int) int { return b.owner(step, 0, i) }

func (b *bucket) received(step, i int) int { return b.owner(step, 1, i) }

// owner returns the rank of block i of those at a place that a step sends, or of those at places
// before it.
func (b *bucket) owner(step, before, i int) (rank int) {
	at, s := b.at(step)
	before += s
	if !at.gathers {
		before++
	}
	for l := range b.dims {
		d := &b.dims[l]
		switch {
		case l < at.k:
			rank += d.cycle[d.place] * d.stride
		case l == at.k:
			rank += d.cycle[(d.place-before+2*d.size())%d.size()] * d.stride
		default:
			rank += i % d.size() * d.stride
			i /= d.size()
		}
	}
	return rank
}

func (b *bucket) needsAll(step int) bool {
	if step == 0 {
		return false
	}
	d, _ := b.at(step)
	before, _ := b.at(step - 1)
	return d.k != before.k
}

func (b *bucket) resends(int, int) bool { return true }

func (b *bucket) phases(f *blockFlow) (list []Phase) {
	for i := range b.list {
		at := &b.list[i]
		d := &b.dims[at.k]
		next := f.Rank + (d.cycle[(d.place+1)%d.size()]-d.cycle[d.place])*d.stride
		p := Phase{0, next, int(d.next), d.size() - 1, f.messages(at.first), tl.CDiv(f.largest, f.segments*f.pieces), !at.gathers}
		if f.joined != nil {
			p.Elems = tl.CDiv(b.together(at.k)*f.largest, p.Messages)
		}
		list = append(list, p)
	}
	return list
}

// newBucketPipeline returns the flows of some paths, cut into segments and messages.
func newBucketPipeline(m *member, list []path) *pipeline {
	l := &pipeline{member: m, abreast: 1, spacing: 1}
	largest, together, held := 0, 0, 0 // elements of a block; blocks between dimensions, of the first path and of all
	var all []*blockFlow
	for _, p := range list {
		f := newBucketFlow(m, p)
		largest = max(largest, f.largest)
		if p.back && len(p.dims) == 1 {
			l.abreast = 2
		}
		if p.hi > p.lo {
			all, l.flows = append(all, f), append(l.flows, f)
			together = cmp.Or(together, p.together(0))
			held += p.together(0)
		}
	}
	if largest == 0 {
		l.flows = nil
		return l
	}
	// Between dimensions the blocks of a segment are in TCM: if there is little room, less of
	// each.
	several := len(list[0].dims) > 1
	room, chunk := max(1, m.tiles()/2), m.Chunk
	if several {
		chunk = max(1, min(chunk, chunk*room/held))
	}
	messages := tl.CDiv(largest, chunk)
	steps, pieces := all[0].steps(), m.Ahead()
	if several { // the links of other dimensions are to be busy, too
		pieces = max(1, min(messages/(16*steps), maxPieces, room/held, m.Ahead()/together))
	}
	l.segments = tl.CDiv(messages, pieces)
	pieces = tl.CDiv(messages, l.segments)
	for _, f := range all {
		f.segments, f.pieces = l.segments, pieces
		if several && m.Collective == AllReduce && messages == 1 {
			f.blockSteps.(*bucket).join(f)
		}
	}
	l.spacing = steps
	if several && l.segments > 1 {
		l.spacing = l.space(steps, m.Ahead(), tl.CDiv(steps*held*pieces, room))
	}
	return l
}

// maxPieces is the most messages of a segment where several segments are in flight.
const maxPieces = 4
