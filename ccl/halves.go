package ccl

import (
	"iter"
	"slices"

	"github.com/kernbench/kernbench/tl"
)

// partner is the rank so many places on, round a dimension of a grid of ranks.
type partner struct{ size, stride, by int }

func (x partner) of(rank int) int {
	at := rank / x.stride % x.size
	return rank + ((at+x.by)%x.size-at)*x.stride
}

// back is how a partner sees the rank.
func (x partner) back() partner { return partner{x.size, x.stride, x.size - x.by} }

// half is a step of a reduce-scatter, or the same step of an all-gather, which goes the
// other way. Blocks are counted from a rank's own, 0. There are `high` that the rank is
// not done with: it sends those from `low` on to a partner, for whom they begin at 0, and
// receives as many that are its own first ones.
//
// The last goes first. If the halves are equal, what is sent in a step is so the very
// blocks that came first in the step before, in the same order.
type half struct {
	gathers   bool
	low, high int
	to, from  tl.Port
}

func (s *half) count() int { return s.high - s.low }

// sent is the i-th block that a rank sends.
func (s *half) sent(i int) int {
	if s.gathers {
		return s.count() - 1 - i
	}
	return s.high - 1 - i
}

// received is the i-th block that a rank receives.
func (s *half) received(i int) int {
	if s.gathers {
		return s.high - 1 - i
	}
	return s.count() - 1 - i
}

// halves is the steps of a reduce-scatter, and all partners of a rank, by port.
//
// The ranks are a grid. As long as their number is even it has a dimension of two, and
// the last one is what is left, an odd number d. In that too each step halves what is
// left of s blocks, to s/2 rounded up, which is how far on the partner is: the one behind
// it sends as much. So no rank is left over, and there are ceil(log2 N) steps, in which a
// rank sends and receives N-1 blocks, of any number of ranks.
func halves(ranks int) (steps []half, partners []partner) {
	port := func(x partner) tl.Port {
		i := slices.Index(partners, x)
		if i < 0 {
			i = len(partners)
			partners = append(partners, x)
		}
		return tl.Numbered(i)
	}
	stride := 1
	for rest := ranks; rest > 1; {
		size := rest
		if rest%2 == 0 {
			size = 2
		}
		rest /= size
		for s := size; s > 1; s = tl.CDiv(s, 2) {
			by := tl.CDiv(s, 2)
			to := partner{size, stride, by}
			steps = append(steps, half{low: by * rest, high: s * rest, to: port(to), from: port(to.back())})
		}
		stride *= size
	}
	return steps, partners
}

// owners returns the rank that each block belongs to, counted from a rank's own: in a step
// the blocks from `low` on go to the partner, for whom they begin at 0.
func owners(ranks, rank int) []int {
	steps, partners := halves(ranks)
	list := slices.Repeat([]int{rank}, ranks)
	for i := range list {
		number := i
		for _, s := range steps {
			if number >= s.low {
				list[i] = partners[s.to-tl.Numbered(0)].of(list[i])
				number -= s.low
			}
		}
	}
	return list
}

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
