package ccl

import (
	"cmp"
	"slices"

	"github.com/kernbench/kernbench/tl"
)

// bucketAlgorithm registers a bucket algorithm: an algorithm that moves blocks around rings
// of ranks. The function `paths` returns, for a rank, the rings along which each share of
// the data moves. `also` lists collectives that the algorithm performs in addition to
// all-reduce, all-gather and reduce-scatter.
func bucketAlgorithm(name, summary string, neighbors func(*Plan, int) []Neighbor, paths func(*Plan, int) []path, also ...Collective) *Algorithm {
	return builtin(&Algorithm{
		Name: name, Summary: summary, Collectives: append([]Collective{AllReduce, AllGather, ReduceScatter}, also...),
		Neighbors: neighbors, Inbox: bucketInbox, Tiles: 3,
		Divide: func(p *Plan) (elems, messages int) {
			if p.Collective == AllToAll {
				return p.Largest(), blockMessages
			}
			return divideBlocks(p, paths(p, 0))
		},
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

// blockMessages is the number of messages of a block that keep the links of a ring busy:
// while one message is in flight, the rank sends the others.
const blockMessages = 8

// divideBlocks returns the elements of the largest block that moves along one of the paths,
// and the number of its messages. Several dimensions need more messages, because a block
// moves along one dimension after another.
func divideBlocks(p *Plan, list []path) (elems, messages int) {
	steps := 0
	for i := range list {
		f := newBucketFlow(p.withoutPE(0), list[i])
		elems, steps = max(elems, f.largest), f.steps()
	}
	if len(list[0].dims) < 2 {
		return elems, blockMessages
	}
	return elems, blockMessages * steps
}

// bucketInbox returns the maximum number of elements that a rank receives from one
// neighbour. In each half of an all-reduce (reduce-scatter and all-gather) a rank receives
// each element at most once.
func bucketInbox(p *Plan) int {
	switch p.Collective {
	case AllReduce:
		return 2 * p.Count(0)
	case AllToAll:
		return ringAllToAllInbox(p)
	}
	return p.total()
}

// bucket is the sequence of steps of a rank along a path. Each rank has a block of the
// data. Along a dimension, the blocks of ranks with the same coordinate travel together
// round the ring. In step s of a reduce-scatter, place p of the ring sends the blocks for
// place p-1-s and receives the blocks for place p-2-s. The steps of an all-gather continue
// this sequence. So the result of a block for place b combines the elements of places b+1,
// b+2, ... and finally b, in this order.
type bucket struct {
	path
	list  []dimSteps
	count int // number of steps
}

// dimSteps describes the consecutive steps of a bucket along one dimension.
type dimSteps struct {
	k       int  // index of the dimension
	gathers bool // the steps belong to an all-gather
	first   int  // index of the first step
}

// newBucketFlow returns the flow that carries the share of path p at one rank.
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
	for _, n := range m.Counts { // Counts has each size at least once
		_, n = p.share(n)
		f.largest = max(f.largest, n)
	}
	whole := m.blocks()
	f.block = func(rank int) block {
		x := whole(rank)
		return x.slice(p.share(x.n))
	}
	if m.Collective == AllReduce { // a block is one rank's part of the share
		f.largest = tl.CDiv(f.largest, m.Ranks)
		f.block = func(rank int) block { return b.span(m, rank, 1) }
	}
	return f
}

// span returns the blocks of `count` consecutive ranks as one block, beginning with the
// block of the given rank. It is for all-reduce, in which blocks that travel together are
// adjacent in memory.
func (b *bucket) span(m *member, rank, count int) block {
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

// join changes flow f so that it sends all blocks of a step as one block, in as few
// messages as possible.
func (b *bucket) join(f *blockFlow) {
	f.joinedFrom = b.dims[0].size() - 1
	f.joined = func(step, rank int) (block, int) {
		n := b.blocks(step)
		return b.span(f.member, rank, n), max(1, tl.CDiv(n*f.largest, f.Chunk))
	}
}

func (b *bucket) steps() int { return b.count }

// dimAt returns the dimension along which a step moves, and the number of earlier steps
// along this dimension.
func (b *bucket) dimAt(step int) (d *dimSteps, s int) {
	i := len(b.list) - 1
	for b.list[i].first > step {
		i--
	}
	return &b.list[i], step - b.list[i].first
}

func (b *bucket) ports(step int) (to, from tl.Port) {
	d, _ := b.dimAt(step)
	return b.dims[d.k].next, b.dims[d.k].previous
}

func (b *bucket) blocks(step int) int {
	d, _ := b.dimAt(step)
	return b.groupSize(d.k)
}

func (b *bucket) sentOwner(step, i int) int { return b.owner(step, 0, i) }

func (b *bucket) receivedOwner(step, i int) int { return b.owner(step, 1, i) }

// owner returns the rank that block i of a step belongs to. If `before` is 0, i counts the
// blocks that this rank sends. If `before` is 1, i counts the blocks that this rank
// receives, which are the blocks that the previous rank of the ring sends.
func (b *bucket) owner(step, before, i int) (rank int) {
	at, s := b.dimAt(step)
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

// needsAll reports whether a step moves along a different dimension than the previous step.
func (b *bucket) needsAll(step int) bool {
	if step == 0 {
		return false
	}
	d, _ := b.dimAt(step)
	before, _ := b.dimAt(step - 1)
	return d.k != before.k
}

func (b *bucket) resends(int, int) bool { return true }

// phases returns the steps of flow f as a schedule: one phase for each dimension.
func (b *bucket) phases(f *blockFlow) (list []Phase) {
	for i := range b.list {
		at := &b.list[i]
		d := &b.dims[at.k]
		next := f.Rank + (d.cycle[(d.place+1)%d.size()]-d.cycle[d.place])*d.stride
		p := Phase{0, next, int(d.next), d.size() - 1, f.messages(at.first), f.elems, f.mean(f.largest), !at.gathers}
		if f.joined != nil {
			n := b.groupSize(at.k) * f.largest
			p.Elems, p.Mean = min(n, f.Chunk), tl.CDiv(n, p.Messages)
		}
		list = append(list, p)
	}
	return list
}

// newBucketPipeline returns the pipeline of a rank. The pipeline has one flow for each path
// in `list` that carries data. The data of each flow is divided into segments and messages.
func newBucketPipeline(m *member, list []path) *pipeline {
	l := &pipeline{member: m, interleaved: 1, spacing: 1}
	largest, group, held := 0, 0, 0 // elements of a block; blocks held between dimensions, on the first path and on all
	var all []*blockFlow
	for _, p := range list {
		f := newBucketFlow(m, p)
		largest = max(largest, f.largest)
		if p.back && len(p.dims) == 1 {
			l.interleaved = 2
		}
		if p.hi > p.lo {
			all, l.flows = append(all, f), append(l.flows, f)
			group = cmp.Or(group, p.groupSize(0))
			held += p.groupSize(0)
		}
	}
	if largest == 0 {
		l.flows = nil
		return l
	}
	// Between dimensions, the blocks of a segment are held in TCM. If TCM is small,
	// messages are smaller.
	several := len(list[0].dims) > 1
	room, chunk := max(1, m.tiles()/2), m.Chunk
	if several {
		chunk = max(1, min(chunk, chunk*room/held))
	}
	messages := tl.CDiv(largest, chunk)
	steps, pieces := all[0].steps(), m.Ahead()
	if several { // short segments keep the links of all dimensions busy
		pieces = max(1, min(messages/(16*steps), maxPieces, room/held, m.Ahead()/group))
	}
	c := newCutInto(largest, chunk, pieces)
	if steps == 1 {
		c.pieces = min(messages, pieces) // no rank forwards anything, so that segments need not be equal
	}
	l.segments = c.segments
	for _, f := range all { // all flows have the same number of messages, in proportion to their shares
		f.cut = c
		f.elems = tl.CDiv(c.elems*f.largest, largest)
		if several && m.Collective == AllReduce && messages == 1 {
			f.blockSteps.(*bucket).join(f)
		}
	}
	l.spacing = steps
	if several && l.segments > 1 {
		l.spacing = l.chooseSpacing(steps, m.Ahead(), tl.CDiv(steps*held*c.pieces, room))
	}
	return l
}

// maxPieces is the maximum number of messages of a segment of a block if several segments
// are in flight.
const maxPieces = 4
