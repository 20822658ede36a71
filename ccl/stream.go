package ccl

import (
	"github.com/kernbench/kernbench/tl"
)

// stream is work in a fixed order, item by item, that goes on whenever it can. Streams on one
// rank wait for different things: what came for one must not wait for another.
type stream struct {
	// needs is what has to be so before an item is done, and whether there is that item.
	// It is asked once for each, in order.
	needs func(i int) (cases []tl.Case, more bool)
	// gate, if there is one, is whether other streams of the rank have come far enough.
	gate func(i int) bool
	// do is an item. It does not wait for other ranks.
	do func(i int)

	next  int       // item
	cases []tl.Case // that may not be so yet
}

// play runs streams until all are at their end. Where several could go on it is the first
// that does: what drains the machine comes before what fills it.
//
// What a stream needs stays so once it is: nobody else takes its messages or its room. So
// its needs are looked at one by one.
func (m *member) play(streams ...*stream) {
	running := streams[:0:0]
	for _, s := range streams {
		if s.begin() {
			running = append(running, s)
		}
	}
	for len(running) > 0 {
		which := m.pick(running)
		s := running[which]
		if len(s.cases) > 0 {
			s.cases = s.cases[1:]
		}
		if len(s.cases) > 0 {
			continue
		}
		s.do(s.next)
		if s.next++; !s.begin() {
			running = append(running[:which], running[which+1:]...)
		}
	}
}

// begin finds out what the next item needs, if there is one.
func (s *stream) begin() (more bool) {
	s.cases, more = s.needs(s.next)
	return more
}

// pick is the first stream that can go on, waiting for one that can.
func (m *member) pick(streams []*stream) int {
	m.waits, m.waiting = m.waits[:0], m.waiting[:0]
	for i, s := range streams {
		switch {
		case s.gate != nil && !s.gate(s.next):
			continue
		case len(s.cases) == 0:
			return i
		}
		if len(streams) == 1 {
			s.cases = s.cases[:1] // whatever the item waits for, nobody else does
			return i
		}
		m.waits, m.waiting = append(m.waits, s.cases[0]), append(m.waiting, i)
	}
	return m.waiting[m.t.Select(m.waits...)]
}

// block is elements that travel together: where the rank has them, if it does, and
// where it wants them, if it does.
type block struct {
	in, out tl.Ptr
	n       int
}

// slice returns n elements of the block from one on.
func (b block) slice(from, n int) block { return block{b.in.Add(from), b.out.Add(from), n} }

// blocks cuts n elements into blocks for so many ranks.
func blocks(in, out tl.Ptr, n, ranks int) func(int) block {
	return func(b int) block { return block{in, out, n}.slice(part(n, b, ranks)) }
}

// blocks is the block of each rank: in an all-reduce the share that it reduces, in a
// reduce-scatter what it gets, in an all-gather what it has.
func (a *Args) blocks() func(int) block {
	switch a.Collective {
	case ReduceScatter:
		return func(b int) block {
			if b == a.Rank {
				return block{a.In(b), a.Out(0), a.Count(b)}
			}
			return block{in: a.In(b), n: a.Count(b)}
		}
	case AllGather:
		return func(b int) block {
			if b == a.Rank {
				return block{a.In(0), a.Out(b), a.Count(b)}
			}
			return block{out: a.Out(b), n: a.Count(b)}
		}
	}
	return blocks(a.In(0), a.Out(0), a.Count(0), a.Ranks)
}

// stay stores a piece of the own block, which an all-gather has only sent, if it is
// not there yet.
func (m *member) stay(b block, tile tl.Tile) {
	if b.in.Addr != b.out.Addr {
		m.t.Store(b.out, tile)
	}
}
