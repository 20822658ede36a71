package ccl

import (
	"iter"

	"github.com/kernbench/kernbench/tl"
)

// chunks is the elements of each chunk of an all-reduce over a tree, in the order in
// which they travel, and whether there are so many.
type chunks func(i int) (at, n int, more bool)

// parts is how many chunks n elements are over a tree: at least so many that each hop
// begins before the one before has ended, as far as a queue has slots for them, and none so
// small that it costs more than its bytes.
func (p *Plan) parts(n int) int {
	const small, enough = 512, 16
	return max(tl.CDiv(n, p.Chunk), min(n/small, p.Slots, enough))
}

// inParts is those chunks.
func (p *Plan) inParts(n int) iter.Seq2[int, int] { return parts(n, p.parts(n)) }

// linear is n elements from first to last.
func (p *Plan) linear(n int) chunks {
	parts := p.parts(n)
	return func(i int) (at, count int, more bool) {
		if i >= parts {
			return 0, 0, false
		}
		at, count = part(n, i, parts)
		return at, count, true
	}
}

// from is the chunks of elements that begin at some place.
func (c chunks) from(place int) chunks {
	return func(i int) (at, n int, more bool) {
		at, n, more = c(i)
		return place + at, n, more
	}
}

// allReduce lets chunks go up a tree and, once they are complete, down again. The two go
// on independently, so that nobody waits forever: what goes up waits for what is below,
// what goes down for what is above, and the root for what is below and for room there,
// which waits for nothing but going down.
func (c *climber) allReduce(list chunks) []*stream {
	if c.root {
		return []*stream{c.upwards(list, func(at int, x tl.Tile) {
			x = c.Result(x)
			c.pass(x)
			c.t.Store(c.Out(0).Add(at), x)
		}, c.down...)}
	}
	up := c.upwards(list, func(_ int, x tl.Tile) { c.Send(c.up, x) }, c.up)
	return []*stream{c.downwards(list), up}
}

// stream returns the work on chunks that are not empty: what has to be so before one is
// done is appended to cases by needs.
func (c chunks) stream(needs func(cases []tl.Case, at, n int) []tl.Case, do func(at, n int)) *stream {
	var cases []tl.Case
	return &stream{
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

// upwards returns the work on chunks that are combined with those of all children, first the
// own one and then each child's in order, and handed on; that sends them to some ports.
func (c *climber) upwards(list chunks, handOn func(at int, x tl.Tile), to ...tl.Port) *stream {
	var own tl.Tile
	return list.stream(func(cases []tl.Case, at, n int) []tl.Case {
		own = c.addend(c.In(0).Add(at), n).Pin() // on its way while messages are
		for _, child := range c.down {
			cases = append(cases, c.CanRecv(child))
		}
		return c.canSend(cases, n, to)
	}, func(at, n int) {
		x := own
		for _, child := range c.down {
			x = c.Combine(x, c.Recv(child, n))
		}
		handOn(at, x)
		c.spend(own)
	})
}

// downwards returns the work on chunks that come from the parent and go to all children.
func (c *climber) downwards(list chunks) *stream {
	return list.stream(func(cases []tl.Case, _, n int) []tl.Case {
		return c.canSend(append(cases, c.CanRecv(c.up)), n, c.down)
	}, func(at, n int) {
		x := c.Recv(c.up, n)
		c.pass(x)
		c.t.Store(c.Out(0).Add(at), x)
	})
}

// canSend appends to cases that there is room for n elements to some ports.
func (c *climber) canSend(cases []tl.Case, n int, to []tl.Port) []tl.Case {
	for _, port := range to {
		cases = c.CanSend(cases, port, n)
	}
	return cases
}

// climbed is the cost of a collective over one or more trees at once, each with as much
// data as the plan says.
//
// The first chunk takes a message for each hop, up, down or both, and what each rank adds
// on its way. From then on a chunk takes what is most: its messages on the busiest link;
// a chunk for each slot in the time until a credit is back; or what the busiest rank has
// to do for it. In a gather or scatter it is blocks that follow each other.
func (n *Network) climbed(p *Plan, trees ...func(rank int) branch) Time {
	chunks := tl.CDiv(p.Count(0), p.Chunk)
	if p.Collective == AllReduce || p.Collective == Reduce || p.Collective == Broadcast {
		chunks = p.parts(p.Count(0))
	}
	elems := tl.CDiv(p.Count(0), max(1, chunks))
	if p.Collective == Barrier {
		elems = 1
	}
	bytes := int64(elems * p.DType.Size())
	t := climbing{Network: n, Plan: p, bytes: bytes, each: n.handling(bytes)}
	t.alone, _ = n.combining(elems, p.DType)
	var first, slot, work Time
	ups, downs := p.Collective != Broadcast && p.Collective != Scatter, p.Collective != Reduce && p.Collective != Gather
	for _, tree := range trees {
		root := 0
		for rank := range p.Ranks {
			if tree(rank).root {
				root = rank
			}
		}
		t.tree = tree
		var through Time
		if ups {
			through = t.up(root)
		}
		if downs {
			through = t.down(root, through)
		}
		first = max(first, through)
	}
	link := n.Busiest(func(add func(from, to int, bytes int64)) {
		for _, tree := range trees {
			for rank := range p.Ranks {
				if b := tree(rank); !b.root && ups {
					add(rank, b.parent.Rank, t.carried(tree, rank))
				}
				if b := tree(rank); !b.root && downs {
					add(b.parent.Rank, rank, t.carried(tree, rank))
				}
			}
		}
	})
	var flights Time
	gathers := p.Collective == Gather || p.Collective == Scatter
	for rank := range p.Ranks {
		var does, flown Time
		for _, tree := range trees {
			b := tree(rank)
			if ups && !b.root {
				flown += Time(t.carried(tree, rank)/max(1, bytes)) * n.flight(rank, b.parent.Rank, bytes)
			}
			for _, child := range b.children {
				trip := max(n.trip(rank, child.Rank, bytes), n.trip(child.Rank, rank, bytes))
				slot = max(slot, trip)
				if downs {
					flown += Time(t.carried(tree, child.Rank)/max(1, bytes)) * n.flight(rank, child.Rank, bytes)
				}
				if gathers && !n.inbox { // one child after the other
					messages := int(t.carried(tree, child.Rank) / max(1, bytes))
					does += Time(max(0, messages-p.Slots/2)) * trip / Time(p.Slots)
				}
			}
			if ups && !gathers {
				does += Time(len(b.children)) * max(t.alone, t.each) // each sum waits for the one before
			}
			if downs && !gathers {
				does += t.each
			}
		}
		work, flights = max(work, does), max(flights, flown)
	}
	if gathers {
		return first + max(link, Time(p.Ranks)*t.each, work, flights)
	}
	own, last := n.own(bytes), Time(max(0, chunks-1))
	behind := last*max(link, work, flights) + max(0, link-own, flights)
	if b := trees[0](p.Root); !downs && len(b.children) == p.Ranks-1 { // a star: others are under way meanwhile
		near := n.Alpha(b.children[0].Rank, p.Root, bytes)
		behind = max(last*max(own, work, flights), near+Time(chunks)*link-first)
	}
	if n.inbox {
		slot = 0
	}
	waits := Time(max(0, chunks-p.Slots)) * (slot + max(0, link-own)) / Time(p.Slots)
	return first + max(behind, waits)
}

// climbing is a tree on a network.
type climbing struct {
	*Network
	*Plan
	tree  func(rank int) branch
	bytes int64
	alone Time // of combining two chunks
	each  Time // of a chunk
}

// up is when a rank has what all below it have.
func (t *climbing) up(rank int) (at Time) {
	for _, child := range t.tree(rank).children {
		at = max(at, t.up(child.Rank)+t.Alpha(child.Rank, rank, t.bytes))
		if t.Collective.Reduces() {
			at += t.alone
		}
	}
	return at
}

// down is when all below a rank have what it has at some time.
func (t *climbing) down(rank int, at Time) (last Time) {
	last = at
	for i, child := range t.tree(rank).children {
		last = max(last, t.down(child.Rank, at+Time(i)*t.dispatch()+t.Alpha(rank, child.Rank, t.bytes)))
	}
	return last
}

// carried is the bytes on the edge above a rank: a chunk, or the blocks of all below it.
func (t *climbing) carried(tree func(rank int) branch, rank int) int64 {
	if t.Collective != Gather && t.Collective != Scatter {
		return t.bytes
	}
	n := int64(t.Count(rank) * t.DType.Size())
	for _, child := range tree(rank).children {
		n += t.carried(tree, child.Rank)
	}
	return n
}
