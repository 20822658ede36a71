package scenario

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/kernbench/kernbench/comm"
)

const (
	maxBytes   = 1 << 36 // largest size of a buffer
	maxSignals = 1 << 16
	lineBytes  = 64 // alignment of buffers in a window
)

// size evaluates expression x, which must be a whole number from 0 to `most`, and returns
// the number. It returns -1 if x is nil or has a mistake. `what` names the quantity in
// messages.
func (pl *Plan) size(p *problems, x *expr, what string, most int64) int64 {
	if x == nil {
		return -1
	}
	n, err := x.root.eval(pl.values)
	switch {
	case err != nil:
	case n.fraction:
		err = fmt.Errorf("%s of %v: write a whole number, with floor or cdiv if need be", what, n)
	case n.n < 0:
		err = fmt.Errorf("%s of %v is negative: write 0 or more", what, n)
	case n.n > most:
		err = fmt.Errorf("%s of %v is too large: at most %d", what, n, most)
	default:
		return n.n
	}
	p.addInExpr(x, err)
	return -1
}

// addBuffer adds buffer i of the file to the plan and computes its shape. The shape is nil
// if it cannot be computed, is too large, or if the dtype is invalid.
func (pl *Plan) addBuffer(p *problems, i int) {
	text, x := pl.scenario.file.Buffers[i], pl.scenario.buffers[i]
	b := &Buffer{Name: text.Name, DType: text.DType, Window: -1, Staged: text.Staged, index: i}
	if text.Domain != nil {
		b.Domain = pl.domain(*text.Domain)
	}
	pl.Buffers = append(pl.Buffers, b)
	var shape []int
	bytes := int64(8) // the size if the elements had the largest dtype
	for _, e := range x.shape {
		n := pl.size(p, e, "an extent", math.MaxInt32)
		if n < 0 {
			return
		}
		shape = append(shape, int(n))
		if bytes *= max(n, 1); bytes > maxBytes {
			p.addInExpr(e, &exprError{0, fmt.Errorf("a buffer of shape %v is too large: at most 2^33 elements", shape)})
			return
		}
	}
	if !text.DType.Valid() {
		return
	}
	b.Shape = shape
	if n := pl.size(p, x.bytes, "a size", math.MaxInt64); n >= 0 && n != b.Bytes() {
		p.addInExpr(x.bytes, &exprError{0, fmt.Errorf("%d bytes, and %d elements of %v have %d: write that, or delete bytes", n, b.Elems(), b.DType, b.Bytes())})
	}
}

// placeBuffers computes the layout of all windows: the signals, the matrices, and the
// offset of each buffer that is in a window.
func (pl *Plan) placeBuffers(p *problems) {
	s := pl.scenario
	pl.Windows = []Memory{{}}
	first := &pl.Windows[0]
	first.Signals = int(max(0, pl.size(p, s.signals, "a count", maxSignals)))
	for _, name := range s.file.Matrix {
		first.Matrices = append(first.Matrices, Matrix{Name: name, First: first.Signals, Ranks: pl.Ranks})
		first.Signals += pl.Ranks
	}
	if first.Signals > maxSignals {
		p.addAt("signal_matrices", "%d signals, %d for each matrix, are too many: at most %d, with those of signals", len(first.Matrices)*pl.Ranks, pl.Ranks, maxSignals)
	}
	first.Bytes = first.Data()
	for i := range pl.Domains {
		pl.Windows = append(pl.Windows, Memory{Domain: &pl.Domains[i]})
	}
	for i, b := range pl.Buffers {
		text := s.file.Buffers[i]
		if text.Placement != Window || b.Shape == nil {
			continue
		}
		b.Window = slices.IndexFunc(pl.Windows, func(m Memory) bool { return m.Domain == b.Domain })
		m := &pl.Windows[b.Window]
		b.Offset = (m.Bytes + lineBytes - 1) / lineBytes * lineBytes
		if text.Offset != nil {
			b.Offset = pl.size(p, s.buffers[i].offset, "an offset", maxBytes)
			if b.Offset < 0 {
				b.Window = -1 // excludes the buffer from the checks for overlap
				continue
			}
			pl.checkOffset(p, b, m)
		}
		m.Bytes = max(m.Bytes, b.Offset+b.Bytes())
	}
	pl.fitWindow(p)
}

// checkOffset records a mistake if the offset of buffer b is not a multiple of the element
// size, or if b overlaps the signals or an earlier buffer. m is the window of b.
func (pl *Plan) checkOffset(p *problems, b *Buffer, m *Memory) {
	x := pl.scenario.buffers[b.index].offset
	overlap := func(what string, from, to int64) {
		p.addInExpr(x, &exprError{0, fmt.Errorf("bytes %d to %d of %s overlap %s at %d to %d: move it, or delete offset", b.Offset, b.Offset+b.Bytes(), b.Name, what, from, to)})
	}
	if size := int64(b.DType.Size()); b.Offset%size != 0 {
		p.addInExpr(x, &exprError{0, fmt.Errorf("offset %d is no multiple of the %d bytes of %v", b.Offset, size, b.DType)})
	}
	if end := m.Data(); b.Offset < end && b.Bytes() > 0 {
		overlap("the signals", 0, end)
	}
	for _, o := range pl.Buffers[:b.index] {
		if o.Window == b.Window && o.Offset < b.Offset+b.Bytes() && b.Offset < o.Offset+o.Bytes() {
			overlap("the buffer "+o.Name, o.Offset, o.Offset+o.Bytes())
		}
	}
}

// fitWindow enlarges the window of all ranks to the size that the file gives, if any. It
// records a mistake if the signals and buffers do not fit into that size, or if the window
// holds neither signals nor buffers.
func (pl *Plan) fitWindow(p *problems) {
	s, m := pl.scenario, &pl.Windows[0]
	n := pl.size(p, s.window, "a window", maxBytes)
	if n < 0 {
		return
	}
	used := m.Signals > 0
	if end := m.Data(); end > n {
		p.addInExpr(s.window, &exprError{0, fmt.Errorf("a window of %d bytes is too small for %d signals, which have %d", n, m.Signals, end)})
	}
	for i, b := range pl.Buffers {
		if b.Window != 0 {
			continue
		}
		used = true
		if end := b.Offset + b.Bytes(); end > n {
			p.addAt(fmt.Sprintf("buffers[%d].name", i), "%s ends at byte %d of the window, which has %d: make the window larger, or delete its key", b.Name, end, n)
		}
	}
	if !used {
		p.addInExpr(s.window, &exprError{0, errors.New("unused: no buffer lies in the window; delete it")})
	}
	m.Bytes = max(m.Bytes, n)
}

// Domain is a subset of the ranks, as one rank of the run sees it.
type Domain struct {
	Name  string
	Ranks []int // the members; Ranks[i] has rank i in the domain
	Rank  int   // this rank's number in the domain; -1 if it is not a member
}

// forRank returns the domain as the given rank of the run sees it. In the result, Rank is
// the number that this rank has in the domain, or -1 if it is not a member.
func (d Domain) forRank(rank int) Domain {
	d.Rank = slices.Index(d.Ranks, rank)
	return d
}

// Lookup returns the number that a rank of the run has in the domain. If the rank is not a
// member, the error wraps comm.ErrNotMember.
func (d Domain) Lookup(rank int) (int, error) {
	if i := slices.Index(d.Ranks, rank); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("rank %d: %w %s %v", rank, comm.ErrNotMember, d.Name, d.Ranks)
}

// Matrix is a signal matrix: each rank has a signal for each rank that notifies it, so that
// the notices of different ranks do not add up in one counter. A kernel receives it as the
// argument matrix:NAME.
type Matrix struct {
	Name  string
	First int // the signal for notices of rank 0; the signals for other ranks follow
	Ranks int
}

// From returns the number of the signal that the rank `source` changes to notify a peer.
// The rank `source` calls t.Notify(peer, m.From(t.Rank()), ...). The peer waits with
// t.WaitSignal(m.From(source), ...). From panics if the rank does not exist.
func (m Matrix) From(source int) int {
	if source < 0 || source >= m.Ranks {
		panic(fmt.Sprintf("matrix %s: no rank %d: it has a signal for each of the ranks 0 to %d", m.Name, source, m.Ranks-1))
	}
	return m.First + source
}
