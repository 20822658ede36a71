package ccl

import "github.com/kernbench/kernbench/tl"

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

// trade is a reduce-scatter, after which each rank has its own block reduced, an
// all-gather, which begins with each rank's own block and ends with all blocks
// everywhere, or an all-reduce, which is one after the other. Each of them is so many
// steps, the same number in both.
type trade struct {
	*member
	does  Collective
	block func(rank int) block
	steps int // of a reduce-scatter or an all-gather
	cut   cut
}

// newTrade is a trade among some ranks of the group, or all.
func newTrade(m *member, does Collective, block func(int) block, ranks, steps int) trade {
	largest := 0
	for b := range ranks {
		largest = max(largest, block(b).n)
	}
	return trade{m, does, block, steps, newCut(m.Plan, largest)}
}

// schedule is all steps for all pieces.
func (x *trade) schedule(with exchange) schedule {
	steps := x.steps
	if x.does == AllReduce {
		steps *= 2
	}
	return schedule{with, x.cut.segments, steps, x.cut.pieces}
}

// gathered is which step of the all-gather an item belongs to, and negative if it is
// one of the reduce-scatter before: -1 is the last of these.
func (x *trade) gathered(at item) int {
	if x.does == AllGather {
		return at.step
	}
	return at.step - x.steps
}

// piece is an item's elements of a rank's block.
func (x *trade) piece(at item, rank int) block {
	b := x.block(rank)
	return b.slice(x.cut.piece(b.n, at.segment, at.message))
}

// first is what a rank sends in the first step: a piece that it has.
func (x *trade) first(b block) tl.Tile {
	if x.does == AllGather {
		return x.load(b.in, b.n)
	}
	return x.addend(b.in, b.n)
}

// stay stores a piece of the own block, which an all-gather has only sent, if it is
// not there yet.
func (m *member) stay(b block, tile tl.Tile) {
	if b.in.Addr != b.out.Addr {
		m.t.Store(b.out, tile)
	}
}
