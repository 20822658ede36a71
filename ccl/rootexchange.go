package ccl

import (
	"iter"
	"slices"

	"github.com/kernbench/kernbench/tl"
)

// rootExchange is what the roots of devices trade, and in which order the sums of their ranks
// have to come for that: a segment is elements of all blocks.
type rootExchange struct {
	*weave
	chunks   chunks
	segment  func(chunk int) int // that a chunk is part of
	complete []int               // segments of each strand that have come back
}

func newRootExchange(m *member, list []path) *rootExchange {
	w := newWeave(m, list)
	x := &rootExchange{weave: w, chunks: m.linear(m.Count(0)), segment: func(int) int { return 0 }}
	x.complete = make([]int, len(w.strands))
	if w.segments < 2 {
		return x
	}
	pieces := w.strands[0].(*bucket).pieces
	each := len(w.strands) * m.Ranks * pieces // chunks of a segment
	x.segment = func(chunk int) int { return chunk / each }
	x.chunks = func(i int) (at, n int, more bool) {
		b := w.strands[i%each/(m.Ranks*pieces)].(*bucket)
		at, n = b.share(m.Count(0))
		at, n = inside(at, n, i/pieces%m.Ranks, m.Ranks)
		at, n = inside(at, n, i/each*pieces+i%pieces, w.segments*pieces)
		return at, n, i < each*w.segments
	}
	return x
}

// inside is part i of n elements, given where these begin.
func inside(from, n, i, parts int) (int, int) {
	at, count := part(n, i, parts)
	return from + at, count
}

// between runs the root of a device: sums come up, are traded with the other roots, and
// go down. They meet in the output's memory.
func (x *rootExchange) between(c *climber) {
	next, stop := iter.Pull(x.actions)
	defer stop()
	var a action
	var need [1]tl.Case
	up := c.upwards(x.chunks, func(at int, y tl.Tile) { c.t.Store(c.Out(0).Add(at), y) })
	trade := &stream{
		needs: func(int) (cases []tl.Case, more bool) {
			a, more = next()
			if port, waits := x.awaits(a); more && waits {
				need[0] = c.CanRecv(port)
				cases = need[:]
			}
			return cases, more
		},
		gate: func(int) bool { return x.summed(up.next, a) },
		do: func(int) {
			x.do(a)
			if a.last {
				x.complete[a.strand]++
			}
		},
	}
	down := x.chunks.stream(func(cases []tl.Case, _, n int) []tl.Case { return c.canSend(cases, n, c.down) },
		func(at, n int) { c.pass(c.load(c.Out(0).Add(at), n)) })
	down.gate = func(i int) bool {
		return !slices.ContainsFunc(x.complete, func(n int) bool { return n <= x.segment(i) })
	}
	c.play(down, trade, up)
}

// awaits is the port at which an action waits for a message, if it does.
func (x *rootExchange) awaits(a action) (port tl.Port, waits bool) {
	if !a.takes {
		return 0, false
	}
	if _, early := x.held[sent{a.strand, a.ends}]; early {
		return 0, false
	}
	return x.strands[a.strand].(*bucket).awaits(a.ends)
}

// summed reports whether the device has the sums that an action uses, given how many
// chunks have come up.
func (x *rootExchange) summed(came int, a action) bool {
	segment := a.ends.segment
	if a.passes {
		segment = max(segment, a.begins.segment)
	}
	_, _, more := x.chunks(came)
	return !more || x.segment(came) > segment
}
