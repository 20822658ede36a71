package ccl

import (
	"iter"

	"github.com/kernbench/kernbench/tl"
)

// chunks is the elements of each chunk of an all-reduce over a tree, in the order in
// which they travel, and whether there are so many.
type chunks func(i int) (at, n int, more bool)

// TreeChunks returns the number of chunks that n elements are cut into over a tree: enough that
// each hop begins before the hop before it has ended, as far as a queue has slots for them, and
// none so small that its overhead is larger than the time of its bytes.
func (p *Plan) TreeChunks(n int) int {
	const small, enough = 512, 16
	return max(tl.CDiv(n, p.Chunk), min(n/small, p.Slots, enough))
}

// inParts is those chunks.
func (p *Plan) inParts(n int) iter.Seq2[int, int] { return parts(n, p.TreeChunks(n)) }

// linear is n elements from first to last.
func (p *Plan) linear(n int) chunks {
	parts := p.TreeChunks(n)
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
