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

// stay stores a piece of the own block, which an all-gather has only sent, if it is
// not there yet.
func (m *member) stay(b block, tile tl.Tile) {
	if b.in.Addr != b.out.Addr {
		m.t.Store(b.out, tile)
	}
}
