package ccl

import (
	"iter"

	"github.com/kernbench/kernbench/tl"
)

// part divides n elements into the given number of parts, as equal as possible, and returns
// the offset and the length of part i.
func part(n, i, parts int) (from, count int) {
	from = i * n / parts
	return from, (i+1)*n/parts - from
}

// chunk divides n elements into chunks of `size` elements, of which the last may be shorter.
// It returns the offset and the length of chunk i. Chunks after the last are empty.
//
// The size of chunks does not depend on n, except where algorithms say so. So a few more
// elements never make the other messages smaller, and never make a collective faster.
func chunk(n, i, size int) (from, count int) {
	from = min(i*size, n)
	return from, min(size, n-from)
}

// messages divides n elements into messages of p.Chunk elements. It yields the offset and
// the length of each message.
func (p *Plan) messages(n int) iter.Seq2[int, int] {
	return func(yield func(from, count int) bool) {
		for i := 0; i*p.Chunk < n && yield(chunk(n, i, p.Chunk)); i++ {
		}
	}
}

// cut says how all blocks of a collective are divided into messages: each block into the
// same number of segments, and each segment into the same number of pieces. A piece is a
// message of the given number of elements. The last pieces of a block may be shorter or
// empty.
type cut struct{ segments, pieces, elems int }

// newCut returns the cut for blocks of at most `largest` elements into messages of p.Chunk
// elements. It has the fewest segments such that no segment has more pieces than a rank may
// send ahead (see Ahead).
func newCut(p *Plan, largest int) cut { return newCutInto(largest, p.Chunk, p.Ahead()) }

// newCutInto returns the cut for blocks of at most `largest` elements into messages of
// `elems` elements, and into segments of at most `pieces` messages.
func newCutInto(largest, elems, pieces int) cut {
	elems = min(largest, elems)
	if elems == 0 {
		return cut{}
	}
	messages := tl.CDiv(largest, elems)
	segments := tl.CDiv(messages, pieces)
	return cut{segments, tl.CDiv(messages, segments), elems}
}

// Ahead returns how many messages a rank sends ahead of the messages that it receives. A
// queue may hold more messages.
//
// Suppose that w messages are sent ahead and a queue has Slots slots. Then a hop carries w
// messages in the time of one message. It carries Slots-w+1 messages in the time that a
// credit takes to return, because a rank that waits for a credit returns none. The result
// makes both rates equal if a message takes twice as long as a credit: w = 2(Slots-w+1).
func (p *Plan) Ahead() int { return max(1, 2*(p.Slots+1)/3) }

// piece returns the offset and the length of one piece of one segment, in a block of n
// elements.
func (c cut) piece(n, segment, piece int) (from, count int) {
	return chunk(n, segment*c.pieces+piece, c.elems)
}

// mean returns the mean number of elements of the messages of a block of n elements.
func (c cut) mean(n int) int { return tl.CDiv(n, c.segments*c.pieces) }

// block is n elements that travel together. in and out are their addresses in the rank's
// input and output; they are zero if the rank does not have or does not need the elements.
type block struct {
	in, out tl.Ptr
	n       int
}

// slice returns the part of block b that begins at offset `from` and has n elements.
func (b block) slice(from, n int) block { return block{b.in.Add(from), b.out.Add(from), n} }

// blocks divides n elements, whose input is at address `in` and whose output is at address
// `out`, into one block for each rank. It returns a function from a rank to its block.
func blocks(in, out tl.Ptr, n, ranks int) func(int) block {
	return func(b int) block { return block{in, out, n}.slice(part(n, b, ranks)) }
}

// blocks returns a function from a rank to its block. In an all-reduce the block is the
// share that the rank reduces, in a reduce-scatter the block that the rank receives, and in
// an all-gather the block that the rank contributes.
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
