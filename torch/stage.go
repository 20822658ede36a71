package torch

import (
	"slices"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/tl"
)

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
	end := func(b block) memory.VA { return b.va + memory.VA(b.elems*b.x.dtype.Size()) }
	return b.elems > 0 && o.elems > 0 && b.va < end(o) && o.va < end(b)
}

// fillStage copies what would be overwritten before it is sent, and has the algorithm send
// the copies.
func (p *planned) fillStage(t *tl.PE) {
	if p.stage == nil {
		return
	}
	a, blocks := p.args[t.Rank()], p.staged[t.Rank()]
	in, to, places := a.In, p.scratchPtr(p.stage, t.Rank()), make([]tl.Ptr, len(blocks))
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
