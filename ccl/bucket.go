package ccl

import (
	"slices"

	"github.com/kernbench/kernbench/tl"
)

// bucket is a rank at work on a path: an all-reduce, or the half of it that is a
// reduce-scatter or an all-gather. Each rank has a block of the data, and along a
// dimension those of the ranks with the same coordinate travel together, round the ring:
// in step s of a reduce-scatter a place sends what is for place-1-s and receives what is
// for place-2-s, and the steps of an all-gather continue that. So what becomes of a block
// for place b is what places b+1, b+2, ... and lastly b have, combined in this order.
//
// Between dimensions what has come waits in TCM.
type bucket struct {
	*member
	path
	block    func(rank int) block // the path's share of it
	largest  int                  // elements of one
	segments int
	pieces   int // of a segment of a block
	parts    []phase
	count    int // of steps
	held     map[holding]tl.Tile
	// joined, if blocks that travel together are as one and meet in the output's memory
	// between dimensions, is how many messages they are, by dimension: for little data.
	joined []int
}

// phase is the steps along a dimension.
type phase struct {
	k       int // the dimension
	gathers bool
	first   int // step
}

// holding is elements on their way from one dimension to the next.
type holding struct{ segment, rank, piece int }

func newBucket(m *member, p path) *bucket {
	b := &bucket{member: m, path: p}
	if len(p.dims) > 1 {
		b.held = map[holding]tl.Tile{}
	}
	whole := m.blocks()
	b.block = func(rank int) block {
		x := whole(rank)
		return x.slice(p.share(x.n))
	}
	if m.Collective == AllReduce { // a block is part of the share
		b.block = func(rank int) block { return b.run(b.number(rank), 1) }
	}
	add := func(k int, gathers bool) {
		b.parts = append(b.parts, phase{k, gathers, b.count})
		b.count += p.dims[k].size() - 1
	}
	for k := range p.dims {
		if m.Collective != AllGather {
			add(k, false)
		}
	}
	for k := range slices.Backward(p.dims) {
		if m.Collective != ReduceScatter {
			add(k, true)
		}
	}
	return b
}

// number is which block of an all-reduce a rank has: those that travel together follow
// each other.
func (b *bucket) number(rank int) (n int) {
	for k := range b.dims {
		d := &b.dims[k]
		n = n*d.size() + rank/d.stride%d.size()
	}
	return n
}

// run is so many blocks of an all-reduce from one on.
func (b *bucket) run(first, count int) block {
	at, n := b.share(b.Count(0))
	from, _ := part(n, first, b.Ranks)
	to, last := part(n, first+count-1, b.Ranks)
	return block{b.In(0).Add(at + from), b.Out(0).Add(at + from), to + last - from}
}

func (b *bucket) steps() int { return b.count }

// phase returns which dimension a step is in, how many of its steps came before, and
// whether it gathers.
func (b *bucket) phase(step int) (k, s int, gathers bool) {
	i := len(b.parts) - 1
	for b.parts[i].first > step {
		i--
	}
	p := b.parts[i]
	return p.k, step - p.first, p.gathers
}

func (b *bucket) phases() (list []Phase) {
	for _, p := range b.parts {
		d := &b.dims[p.k]
		next := b.Rank + (d.cycle[(d.place+1)%d.size()]-d.cycle[d.place])*d.stride
		l := Phase{next, int(d.next), d.size() - 1, b.together(p.k) * b.pieces, tl.CDiv(b.largest, b.segments*b.pieces), !p.gathers}
		if b.joined != nil {
			l.Messages, l.Elems = b.joined[p.k], tl.CDiv(b.together(p.k)*b.largest, b.joined[p.k])
		}
		list = append(list, l)
	}
	return list
}

func (b *bucket) messages(step int) int {
	k, _, _ := b.phase(step)
	if b.joined != nil {
		return b.joined[k]
	}
	return b.together(k) * b.pieces
}

// together is how many blocks travel together along a dimension: those that differ in
// the dimensions behind it.
func (b *bucket) together(k int) int {
	n := 1
	for l := k + 1; l < len(b.dims); l++ {
		n *= b.dims[l].size()
	}
	return n
}

func (b *bucket) way(step int) int {
	k, _, _ := b.phase(step)
	return int(b.dims[k].next)
}

func (b *bucket) turns(step int) bool {
	if step == 0 {
		return false
	}
	k, _, _ := b.phase(step)
	before, _, _ := b.phase(step - 1)
	return k != before
}

// message is an item's elements of the blocks for a place.
func (b *bucket) message(at item, k, place int) (block, holding) {
	d := &b.dims[k]
	h := holding{at.segment, d.cycle[(place+2*d.size())%d.size()] * d.stride, at.message % b.pieces}
	for l := range k {
		h.rank += b.dims[l].cycle[b.dims[l].place] * b.dims[l].stride
	}
	if b.joined != nil {
		x := b.run(b.number(h.rank), b.together(k))
		return x.slice(part(x.n, at.message, b.joined[k])), h
	}
	which := at.message / b.pieces
	for l := k + 1; l < len(b.dims); l++ {
		h.rank += which % b.dims[l].size() * b.dims[l].stride
		which /= b.dims[l].size()
	}
	x := b.block(h.rank)
	return x.slice(part(x.n, h.segment*b.pieces+h.piece, b.segments*b.pieces)), h
}

// release is what was held, and is not any more.
func (b *bucket) release(h holding) tl.Tile {
	x := b.held[h]
	delete(b.held, h)
	return x
}

func (b *bucket) take(at item) tl.Tile {
	k, s, gathers := b.phase(at.step)
	d := &b.dims[k]
	if gathers {
		x, _ := b.message(at, k, d.place-1-s)
		if x.n == 0 {
			return tl.Tile{}
		}
		return b.Recv(d.previous, x.n)
	}
	x, h := b.message(at, k, d.place-2-s)
	if x.n == 0 {
		return tl.Tile{}
	}
	var own tl.Tile // on its way while the message is
	switch {
	case k == 0:
		own = b.addend(x.in, x.n)
	case b.joined != nil:
		own = b.load(x.out, x.n)
	default:
		own = b.release(h)
		defer b.spend(own)
	}
	sum := b.Combine(b.Recv(d.previous, x.n), own)
	if k == len(b.dims)-1 && s == d.size()-2 {
		sum = b.Result(sum)
	}
	return sum
}

// awaits is the port that an item comes from, if it is not empty.
func (b *bucket) awaits(at item) (port tl.Port, waits bool) {
	k, s, gathers := b.phase(at.step)
	d := &b.dims[k]
	place := d.place - 1 - s
	if !gathers {
		place--
	}
	x, _ := b.message(at, k, place)
	return d.previous, x.n > 0
}

func (b *bucket) pass(at item, tile tl.Tile) {
	k, s, gathers := b.phase(at.step)
	d := &b.dims[k]
	place := d.place - s
	if !gathers {
		place--
	}
	x, h := b.message(at, k, place)
	switch {
	case x.n == 0:
	case b.turns(at.step) && b.joined != nil:
		b.Send(d.next, b.load(x.out, x.n))
	case b.turns(at.step):
		tile = b.release(h)
		b.Send(d.next, tile)
		b.spend(tile)
	case at.step > 0:
		b.Send(d.next, tile)
	case gathers:
		tile = b.load(x.in, x.n)
		b.Send(d.next, tile)
		b.stay(x, tile)
		b.hold(k, h, tile)
	default:
		b.Send(d.next, b.addend(x.in, x.n))
	}
}

func (b *bucket) keep(at item, tile tl.Tile) (held bool) {
	k, s, gathers := b.phase(at.step)
	d := &b.dims[k]
	if gathers {
		x, h := b.message(at, k, d.place-1-s)
		if x.n == 0 {
			return false
		}
		b.t.Store(x.out, tile)
		return b.hold(k, h, tile)
	}
	if s < d.size()-2 { // it goes on along this dimension
		return false
	}
	x, h := b.message(at, k, d.place)
	switch {
	case x.n == 0:
		return false
	case k < len(b.dims)-1 && b.joined == nil:
		b.held[h] = tile.Pin()
		return true
	}
	b.t.Store(x.out, tile)
	return b.Collective == AllReduce && b.hold(k, h, tile)
}

// hold keeps what is complete, and is to be gathered along another dimension than k.
func (b *bucket) hold(k int, h holding, tile tl.Tile) bool {
	if k == 0 || b.joined != nil {
		return false
	}
	b.held[h] = tile.Pin()
	return true
}
