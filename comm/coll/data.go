package coll

import (
	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/numeric"
)

// streamFrom is from what size on a buffer does not fit into caches anyway, so that
// stores go past them.
const streamFrom = 4 << 20

// source is where a rank's data of a step can be read.
type source struct {
	window *comm.Window // nil for this rank itself, whose data is
	own    []byte
	off    int // in the window, of the data that the step begins with
}

// from is the source from a later byte on.
func (s source) from(off int) source {
	s.off += off
	if s.window == nil {
		s.own = s.own[off:]
	}
	return s
}

// allSources returns everybody's data of a step, by rank. The list is the group's own.
func (g *Group) allSources(c *call, slotAt, bufferAt int, inPlace bool) []source {
	g.sources = g.sources[:0]
	for peer := range g.n {
		g.sources = append(g.sources, g.source(c, peer, slotAt, bufferAt, inPlace))
	}
	return g.sources
}

// source returns a peer's data of a step: in its buffer if that is in a window and is read in
// place, else in its slot.
func (g *Group) source(c *call, peer int, slotAt, bufferAt int, inPlace bool) source {
	if peer == g.rank {
		return source{own: c.src[bufferAt:]}
	}
	if at := c.at[peer]; inPlace && at.window != 0 {
		return source{window: g.comm.Window(at.window), off: int(at.off) + bufferAt}
	}
	return source{window: g.window, off: slotAt}
}

// bytes is n bytes of the source from off on, in one of the rooms if they cannot be
// addressed.
func (g *Group) bytes(s source, peer, off, n, room int) ([]byte, error) {
	if s.window == nil {
		return s.own[off : off+n], nil
	}
	if b := s.window.Peer(peer); b != nil {
		return b[s.off+off : s.off+off+n], nil
	}
	if len(g.room[room]) < n {
		g.room[room] = make([]byte, n)
	}
	b := g.room[room][:n]
	return b, s.window.Get(peer, int64(s.off+off), b)
}

// fetch copies a peer's data to where the caller wants it.
func (g *Group) fetch(c *call, dst []byte, s source, peer int) error {
	if s.window == nil {
		if !same(dst, s.own) {
			copy(dst, s.own)
		}
		return nil
	}
	b := s.window.Peer(peer)
	switch {
	case b == nil:
		return s.window.Get(peer, int64(s.off), dst)
	case len(c.dst) >= streamFrom:
		numeric.CopyStreaming(dst, b[s.off:s.off+len(dst)])
	default:
		copy(dst, b[s.off:s.off+len(dst)])
	}
	return nil
}

// same reports whether two buffers begin at the same place.
func same(a, b []byte) bool { return len(a) > 0 && len(b) > 0 && &a[0] == &b[0] }

// stage copies private data to where others, if there are any, can read it.
func (g *Group) stage(at int, src []byte) {
	if g.n == 1 {
		return
	}
	g.copied += int64(copy(g.window.Local()[at:], src))
}

// combine reduces n bytes of the sources of all ranks in ascending order, and writes
// the result to one or two places of n bytes.
func (g *Group) combine(c *call, sources []source, n int, stream bool, dst ...[]byte) error {
	if g.n == 2 && c.op != Avg {
		x, err := g.bytes(sources[0], 0, 0, n, 0)
		if err != nil {
			return err
		}
		y, err := g.bytes(sources[1], 1, 0, n, 1)
		if err != nil {
			return err
		}
		if stream {
			numeric.CombineStreaming(c.op.numeric(), c.dtype, x, y, dst...)
		} else {
			numeric.Combine(c.op.numeric(), c.dtype, x, y, dst...)
		}
		return nil
	}
	for off := 0; off < n; off += block {
		end := min(off+block, n)
		acc := g.acc[:end-off]
		for peer := range g.n {
			x, err := g.bytes(sources[peer], peer, off, end-off, 0)
			if err != nil {
				return err
			}
			if peer == 0 {
				copy(acc, x)
			} else {
				numeric.Combine(c.op.numeric(), c.dtype, acc, x, acc)
			}
		}
		if c.op == Avg {
			numeric.Apply(numeric.Div, c.dtype, acc, acc, g.ranks(c.dtype, len(acc)))
		}
		for _, d := range dst {
			copy(d[off:end], acc)
		}
	}
	return nil
}

// ranks is the number of ranks as n bytes of elements.
func (g *Group) ranks(d numeric.DType, n int) []byte {
	if g.manyOf != d || len(g.many) < n {
		g.manyOf, g.many = d, make([]byte, block)
		for i := range block / d.Size() {
			numeric.Set(d, g.many, i, float64(g.n))
		}
	}
	return g.many[:n]
}
