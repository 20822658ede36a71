package dist

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/tl"
)

// inPlace checks the memory that a rank both sends and receives into: of collectives on a
// block for each rank, that may be its own block and nothing else. An all-to-all copies what
// it sends first, but lanes do not wait for each other: blocks of different lanes, which only
// a group of one rank can have in common, are checked as others are.
func inPlace(c ccl.Collective, members []member, lanes []lane) error {
	blocks := c == ccl.AllGather || c == ccl.Gather || c == ccl.ReduceScatter || c == ccl.Scatter || c == ccl.AllToAll && len(members) == 1
	for i := range lanes[0].pes {
		inOut := slices.ContainsFunc(lanes[0].in[i], func(in block) bool {
			return slices.ContainsFunc(lanes[0].out[i], func(out block) bool { return in.x.info.Region.Storage == out.x.info.Region.Storage })
		})
		if !blocks || !inOut {
			continue
		}
		for j := range lanes {
			for k := range lanes {
				for m, in := range lanes[j].in[i] {
					for n, out := range lanes[k].out[i] {
						own := m+n == i && in.va == out.va && in.elems == out.elems // one of them has one block
						if in.overlaps(out) && !(j == k && (own || c == ccl.AllToAll)) {
							return fmt.Errorf("rank %d sends %s and receives into %s, which share memory: they may do so where the block of the rank is, and nowhere else",
								members[i].rank, in.x.info.Name, out.x.info.Name)
						}
					}
				}
			}
		}
	}
	return nil
}

// overwritten returns the blocks that a rank sends and that lie in memory of blocks that it
// receives, the others being empty. The rank's block for itself may stay where it is.
func overwritten(in, out []block, rank int) []block {
	list := make([]block, len(in))
	for i, b := range in {
		if i == rank && b.va == out[i].va && b.elems == out[i].elems {
			continue
		}
		if slices.ContainsFunc(out, func(o block) bool { return b.overlaps(o) }) {
			list[i] = b
		}
	}
	return list
}

// overlaps reports whether two blocks have memory in common.
func (b block) overlaps(o block) bool {
	end := func(b block) memory.VA { return b.va + memory.VA(b.elems*b.x.info.DType.Size()) }
	return b.elems > 0 && o.elems > 0 && b.va < end(o) && o.va < end(b)
}

// fillStage copies what would be overwritten before it is sent, and has the algorithm send
// the copies.
func (p *planned) fillStage(t *tl.PE) {
	if p.stage == nil {
		return
	}
	a, blocks := p.args[t.Rank()], p.staged[t.Rank()]
	in, to, places := a.In, p.stage.ptr(t.Rank()), make([]tl.Ptr, len(blocks))
	for i, b := range blocks {
		places[i] = to
		for at := 0; at < b.elems; at += a.Chunk {
			t.Store(to.Add(at), t.Load(in(i).Add(at), tl.Shape{min(a.Chunk, b.elems-at)}, a.DType))
		}
		to = to.Add(b.elems)
	}
	a.In = func(i int) tl.Ptr {
		if i >= 0 && i < len(blocks) && blocks[i].elems > 0 {
			return places[i]
		}
		return in(i)
	}
}
