package ccl

import (
	"iter"

	"github.com/kernbench/kernbench/tl"
)

// part returns the elements of part i of n that are cut into parts, as equal as possible.
func part(n, i, parts int) (from, count int) {
	from = i * n / parts
	return from, (i+1)*n/parts - from
}

// messages cuts n elements into messages: where each begins, and its length.
func (p *Plan) messages(n int) iter.Seq2[int, int] {
	return func(yield func(from, count int) bool) {
		parts := tl.CDiv(n, p.Chunk)
		for i := 0; i < parts && yield(part(n, i, parts)); i++ {
		}
	}
}

// cut is how all blocks of a collective are cut into messages: each into the same number of
// segments, and these into the same number of pieces.
type cut struct{ segments, pieces int }

// newCut returns the fewest segments that have no more pieces than may be sent ahead.
func newCut(p *Plan, largest int) cut {
	messages := tl.CDiv(largest, p.Chunk)
	if messages == 0 {
		return cut{}
	}
	segments := tl.CDiv(messages, p.Ahead())
	return cut{segments, tl.CDiv(messages, segments)}
}

// Ahead returns how many messages a rank sends ahead of those that it receives. A queue may
// hold more. With w of Slots sent ahead, a hop takes w messages in the time of a message, and
// Slots-w+1 in the time that a credit takes to come back, because a rank that waits for a
// credit returns none. A message is assumed to take twice as long as a credit.
func (p *Plan) Ahead() int { return max(1, 2*(p.Slots+1)/3) }

// piece returns the elements of one piece of a block of n.
func (c cut) piece(n, segment, piece int) (from, count int) {
	return part(n, segment*c.pieces+piece, c.segments*c.pieces)
}

// block is elements that travel together: where the rank has them, if it does, and where it
// needs them, if it does.
type block struct {
	in, out tl.Ptr
	n       int
}

// slice returns n elements of the block from one on.
func (b block) slice(from, n int) block { return block{b.in.Add(from), b.out.Add(from), n} }

// blocks cuts n elements into blocks of ranks.
func blocks(in, out tl.Ptr, n, ranks int) func(int) block {
	return func(b int) block { return block{in, out, n}.slice(part(n, b, ranks)) }
}

// blocks returns the block of each rank: in an all-reduce the share that it reduces, in a
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
