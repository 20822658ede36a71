package coll

import (
	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/numeric"
)

// streamFrom is the size in bytes from which on a buffer does not fit into caches. Stores
// to such buffers bypass the caches.
const streamFrom = 4 << 20

// source says where the data of one rank for one step is.
type source struct {
	window *comm.Window // window with the data; nil for this rank, whose data is own
	own    []byte
	off    int // offset of the data in the window
}

// skip returns source s without its first off bytes.
func (s source) skip(off int) source {
	s.off += off
	if s.window == nil {
		s.own = s.own[off:]
	}
	return s
}

// allSources returns the results of g.source for all ranks, indexed by rank. The next call
// reuses the returned slice.
func (g *Group) allSources(c *call, slotAt, bufferAt int, inPlace bool) []source {
	g.sources = g.sources[:0]
	for peer := range g.n {
		g.sources = append(g.sources, g.source(c, peer, slotAt, bufferAt, inPlace))
	}
	return g.sources
}

// source returns the place from which this rank reads the data of a peer in a step. This
// rank's own data is at offset bufferAt of its src. The data of another rank is at offset
// bufferAt of that rank's src if inPlace is set and the src is in a window. Otherwise the
// peer has staged the data at offset slotAt of the group's window.
func (g *Group) source(c *call, peer int, slotAt, bufferAt int, inPlace bool) source {
	if peer == g.rank {
		return source{own: c.src[bufferAt:]}
	}
	if at := c.srcPlaces[peer]; inPlace && at.window != 0 {
		return source{window: g.comm.Window(at.window), off: int(at.off) + bufferAt}
	}
	return source{window: g.window, off: slotAt}
}

// read returns n bytes of source s of a peer, beginning at offset off. If this rank cannot
// address the bytes, read copies them to g.scratch[scratch]. `scratch` is 0 or 1.
func (g *Group) read(s source, peer, off, n, scratch int) ([]byte, error) {
	if s.window == nil {
		return s.own[off : off+n], nil
	}
	if b := s.window.Peer(peer); b != nil {
		return b[s.off+off : s.off+off+n], nil
	}
	if len(g.scratch[scratch]) < n {
		g.scratch[scratch] = make([]byte, n)
	}
	b := g.scratch[scratch][:n]
	return b, s.window.Get(peer, int64(s.off+off), b)
}

// fetch fills dst with the data of source s of a peer. It copies nothing if s is this
// rank's own data and already begins at dst. In calls with a large dst, the stores bypass
// the caches.
func (g *Group) fetch(c *call, dst []byte, s source, peer int) error {
	if s.window == nil {
		if !sameStart(dst, s.own) {
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

// sameStart reports whether two buffers begin at the same address.
func sameStart(a, b []byte) bool { return len(a) > 0 && len(b) > 0 && &a[0] == &b[0] }

// stage copies src into this rank's part of the group's window, at the offset `at`. Other
// ranks can read the bytes there. stage does nothing if the group has only one rank.
func (g *Group) stage(at int, src []byte) {
	if g.n == 1 {
		return
	}
	g.copied += int64(copy(g.window.Local()[at:], src))
}

// combine combines n bytes of the sources of all ranks, in the order of ranks, and writes
// the result to each dst. There are one or two dst. If stream is set, the stores bypass the
// caches.
func (g *Group) combine(c *call, sources []source, n int, stream bool, dst ...[]byte) error {
	if g.n == 2 && c.op != Avg {
		x, err := g.read(sources[0], 0, 0, n, 0)
		if err != nil {
			return err
		}
		y, err := g.read(sources[1], 1, 0, n, 1)
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
			x, err := g.read(sources[peer], peer, off, end-off, 0)
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
			numeric.Apply(numeric.Div, c.dtype, acc, acc, g.divisors(c.dtype, len(acc)))
		}
		for _, d := range dst {
			copy(d[off:end], acc)
		}
	}
	return nil
}

// divisors returns a buffer of n bytes with elements of dtype d. Each element equals the
// number of ranks. n is at most the constant `block`.
func (g *Group) divisors(d numeric.DType, n int) []byte {
	if g.divisorType != d || len(g.divisor) < n {
		g.divisorType, g.divisor = d, make([]byte, block)
		for i := range block / d.Size() {
			numeric.Set(d, g.divisor, i, float64(g.n))
		}
	}
	return g.divisor[:n]
}
