package ccl

import "github.com/kernbench/kernbench/tl"

// transfer is a sequence of items, such as chunks that go up a tree, each of which is handled as
// soon as it can be. Transfers of one rank wait for different events: what came for one must
// not wait for another.
type transfer struct {
	// needs returns the cases that an item waits for, and whether there is that item. It is
	// called once for each item, in order.
	needs func(i int) (cases []tl.Case, more bool)
	// gate, if not nil, reports whether other transfers of the rank have come far enough.
	gate func(i int) bool
	// do handles an item. It does not wait for other ranks.
	do func(i int)

	next  int       // item
	cases []tl.Case // that may not hold yet
}

// runTransfers runs transfers until all have ended. Where several could go on, the first does:
// a transfer that drains the machine comes before one that fills it.
//
// A case that holds continues to hold: no other transfer takes the messages or the room. So the
// cases of an item are waited for one by one.
func (m *member) runTransfers(transfers ...*transfer) {
	running := transfers[:0:0]
	for _, t := range transfers {
		if t.begin() {
			running = append(running, t)
		}
	}
	for len(running) > 0 {
		which := m.pick(running)
		t := running[which]
		if len(t.cases) > 0 {
			t.cases = t.cases[1:]
		}
		if len(t.cases) > 0 {
			continue
		}
		t.do(t.next)
		if t.next++; !t.begin() {
			running = append(running[:which], running[which+1:]...)
		}
	}
}

// begin sets the cases of the next item, and reports whether there is one.
func (t *transfer) begin() (more bool) {
	t.cases, more = t.needs(t.next)
	return more
}

// pick returns the first transfer that can go on, and waits until there is one.
func (m *member) pick(transfers []*transfer) int {
	m.waits, m.waiting = m.waits[:0], m.waiting[:0]
	for i, t := range transfers {
		switch {
		case t.gate != nil && !t.gate(t.next):
			continue
		case len(t.cases) == 0:
			return i
		}
		if len(transfers) == 1 {
			t.cases = t.cases[:1] // the item's own operations wait
			return i
		}
		m.waits, m.waiting = append(m.waits, t.cases[0]), append(m.waiting, i)
	}
	return m.waiting[m.t.Select(m.waits...)]
}

// chunks returns the elements of chunk i, in the order in which chunks travel over a tree, and
// whether there is that chunk.
type chunks func(i int) (at, n int, more bool)

// TreeChunks returns the number of chunks that n elements are cut into over a tree: enough that
// each hop begins before the hop before it has ended, as far as a queue has slots for them, and
// none so small that its overhead is larger than the time of its bytes.
func (p *Plan) TreeChunks(n int) int {
	const small, enough = 512, 16
	return max(tl.CDiv(n, p.Chunk), min(n/small, p.Slots, enough))
}

// treeChunks returns the chunks of n elements that begin at a place, from first to last.
func (p *Plan) treeChunks(place, n int) chunks {
	parts := p.TreeChunks(n)
	return func(i int) (at, count int, more bool) {
		if i >= parts {
			return 0, 0, false
		}
		at, count = part(n, i, parts)
		return place + at, count, true
	}
}

// transfer returns the transfer of the chunks that are not empty. What a chunk waits for is
// appended to cases by needs.
func (c chunks) transfer(needs func(cases []tl.Case, at, n int) []tl.Case, do func(at, n int)) *transfer {
	var cases []tl.Case
	return &transfer{
		needs: func(i int) ([]tl.Case, bool) {
			at, n, more := c(i)
			if !more || n == 0 {
				return nil, more
			}
			cases = needs(cases[:0], at, n)
			return cases, true
		},
		do: func(i int) {
			if at, n, _ := c(i); n > 0 {
				do(at, n)
			}
		},
	}
}
