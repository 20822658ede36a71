package dist

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/tl"
)

// checkInPlace returns an error if a rank sends from memory that it also receives into,
// unless the collective c allows it. An all-gather, gather, reduce-scatter or scatter
// allows it only for the block that belongs to the rank itself. An all-to-all allows any
// overlap inside a lane, because it first copies the blocks that it sends. Blocks of
// different lanes must not overlap, because lanes do not wait for each other. In an
// all-to-all, blocks of different lanes can overlap only if the group has one rank.
// checkInPlace does not check other collectives.
func checkInPlace(c ccl.Collective, members []member, lanes []lane) error {
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
						own := m+n == i && in.va == out.va && in.elems == out.elems // in or out is a single block
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

// overwrittenBlocks returns the blocks that a rank must copy before it sends them, because
// it also receives into the same memory. The rank sends the blocks `in` and receives into
// the blocks `out`. The result has one entry for each sent block; entries that need no copy
// are empty. The block that the rank sends to itself in place needs no copy.
func overwrittenBlocks(in, out []block, rank int) []block {
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

// overlaps reports whether b and o have memory in common.
func (b block) overlaps(o block) bool {
	end := func(b block) memory.VA { return b.va + memory.VA(b.elems*b.x.info.DType.Size()) }
	return b.elems > 0 && o.elems > 0 && b.va < end(o) && o.va < end(b)
}

// copyOverwritten copies the blocks of this PE that would be overwritten before they are
// sent, and makes the algorithm send the copies. It is called at the start of the launch.
func (p *launchPlan) copyOverwritten(t *tl.PE) {
	if p.copies == nil {
		return
	}
	a, blocks := p.args[t.Rank()], p.overwritten[t.Rank()]
	in, to, places := a.In, p.copies.ptr(t.Rank()), make([]tl.Ptr, len(blocks))
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
