package ccl

import "github.com/kernbench/kernbench/tl"

// transfer is a sequence of items, such as chunks that go up a tree. Each item is handled
// as soon as it can be. The transfers of a rank wait for different events, so that a
// message for one transfer never waits for another transfer.
type transfer struct {
	// needs returns the cases that item i waits for, and reports whether item i exists. It
	// is called once for each item, in order.
	needs func(i int) (cases []tl.Case, more bool)
	// gate reports whether other transfers of the rank have progressed far enough for item
	// i. Nil means always.
	gate func(i int) bool
	// do handles item i. It does not wait for other ranks.
	do func(i int)

	next  int       // index of the next item
	cases []tl.Case // cases of the next item that may not hold yet
}

// runTransfers runs transfers until all have ended. If several transfers can continue, it
// continues the first of them. So callers list transfers that finish work, such as those
// down a tree, before transfers that bring new work.
//
// runTransfers waits for the cases of an item one by one. This is correct because a case
// that holds continues to hold: no other transfer takes the messages or the slots that the
// case is about.
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

// begin sets t.cases to the cases that the next item waits for, and reports whether there
// is a next item.
func (t *transfer) begin() (more bool) {
	t.cases, more = t.needs(t.next)
	return more
}

// pick waits until one of the transfers can continue, and returns the index of the first
// transfer that can.
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
			t.cases = t.cases[:1] // the operations of the item wait by themselves
			return i
		}
		m.waits, m.waiting = append(m.waits, t.cases[0]), append(m.waiting, i)
	}
	return m.waiting[m.t.Select(m.waits...)]
}

// chunks is a function that returns the offset and the length of chunk i, in the order in
// which chunks travel over a tree, and reports whether chunk i exists.
type chunks func(i int) (at, n int, more bool)

// TreeChunk returns the number of elements of the chunks into which n elements are divided
// to move over a tree; the last chunk may be shorter. To let consecutive hops overlap, n
// elements make 16 chunks, or as many as a queue has slots. Chunks have at least 512
// elements, because the overhead of a smaller chunk would exceed the time of its bytes, and
// at most p.Chunk elements.
func (p *Plan) TreeChunk(n int) int {
	const small, enough = 512, 16
	return min(max(small, tl.CDiv(n, min(p.Slots, enough))), p.Chunk)
}

// treeChunks returns the chunks of the n elements that begin at offset `place`, in the
// order of their offsets.
func (p *Plan) treeChunks(place, n int) chunks {
	size := p.TreeChunk(n)
	return func(i int) (at, count int, more bool) {
		at, count = chunk(n, i, size)
		return place + at, count, count > 0
	}
}

// transfer returns a transfer whose items are the chunks of c. `do` handles each chunk that
// is not empty. `needs` appends to `cases` the cases that such a chunk waits for.
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
