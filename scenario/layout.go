package scenario

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/kernbench/kernbench/comm"
)

const (
	maxBytes   = 1 << 36 // of a buffer
	maxSignals = 1 << 16
	lineBytes  = 64 // where buffers begin
)

// size computes an expression that is a size; -1 if it is none.
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
	p.in(x, err)
	return -1
}

// addBuffer computes the shape of a buffer. One with mistakes has none.
func (pl *Plan) addBuffer(p *problems, i int) {
	text, x := pl.scenario.file.Buffers[i], pl.scenario.buffers[i]
	b := &Buffer{Name: text.Name, DType: text.DType, Window: -1, Staged: text.Staged, index: i}
	if text.Domain != nil {
		b.Domain = pl.domain(*text.Domain)
	}
	pl.Buffers = append(pl.Buffers, b)
	var shape []int
	bytes := int64(8) // of as many elements of the largest dtype
	for _, e := range x.shape {
		n := pl.size(p, e, "an extent", math.MaxInt32)
		if n < 0 {
			return
		}
		shape = append(shape, int(n))
		if bytes *= max(n, 1); bytes > maxBytes {
			p.in(e, &exprError{0, fmt.Errorf("a buffer of shape %v is too large: at most 2^33 elements", shape)})
			return
		}
	}
	if !text.DType.Valid() {
		return
	}
	b.Shape = shape
	if n := pl.size(p, x.bytes, "a size", math.MaxInt64); n >= 0 && n != b.Bytes() {
		p.in(x.bytes, &exprError{0, fmt.Errorf("%d bytes, and %d elements of %v have %d: write that, or delete bytes", n, b.Elems(), b.DType, b.Bytes())})
	}
}

// place gives the buffers in windows their offsets.
func (pl *Plan) place(p *problems) {
	s := pl.scenario
	pl.Windows = []Memory{{}}
	first := &pl.Windows[0]
	first.Signals = int(max(0, pl.size(p, s.signals, "a count", maxSignals)))
	for _, name := range s.file.Matrix {
		first.Matrices = append(first.Matrices, Matrix{Name: name, First: first.Signals, Ranks: pl.Ranks})
		first.Signals += pl.Ranks
	}
	if first.Signals > maxSignals {
		p.at("signal_matrices", "%d signals, %d for each matrix, are too many: at most %d, with those of signals", len(first.Matrices)*pl.Ranks, pl.Ranks, maxSignals)
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
				b.Window = -1 // nothing to compare it with
				continue
			}
			pl.checkOffset(p, b, m)
		}
		m.Bytes = max(m.Bytes, b.Offset+b.Bytes())
	}
	pl.fitWindow(p)
}

// checkOffset refuses a buffer where others or signals are.
func (pl *Plan) checkOffset(p *problems, b *Buffer, m *Memory) {
	x := pl.scenario.buffers[b.index].offset
	overlap := func(what string, from, to int64) {
		p.in(x, &exprError{0, fmt.Errorf("bytes %d to %d of %s overlap %s at %d to %d: move it, or delete offset", b.Offset, b.Offset+b.Bytes(), b.Name, what, from, to)})
	}
	if size := int64(b.DType.Size()); b.Offset%size != 0 {
		p.in(x, &exprError{0, fmt.Errorf("offset %d is no multiple of the %d bytes of %v", b.Offset, size, b.DType)})
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

// fitWindow makes the window as large as the file says, if it says so.
func (pl *Plan) fitWindow(p *problems) {
	s, m := pl.scenario, &pl.Windows[0]
	n := pl.size(p, s.window, "a window", maxBytes)
	if n < 0 {
		return
	}
	used := m.Signals > 0
	if end := m.Data(); end > n {
		p.in(s.window, &exprError{0, fmt.Errorf("a window of %d bytes is too small for %d signals, which have %d", n, m.Signals, end)})
	}
	for i, b := range pl.Buffers {
		if b.Window != 0 {
			continue
		}
		used = true
		if end := b.Offset + b.Bytes(); end > n {
			p.at(fmt.Sprintf("buffers[%d].name", i), "%s ends at byte %d of the window, which has %d: make the window larger, or delete its key", b.Name, end, n)
		}
	}
	if !used {
		p.in(s.window, &exprError{0, errors.New("unused: no buffer lies in the window; delete it")})
	}
	m.Bytes = max(m.Bytes, n)
}

// Domain is some of the ranks, as one of all ranks sees them.
type Domain struct {
	Name  string
	Ranks []int // its members, by their ranks in the domain
	Rank  int   // this rank's in the domain, -1 if it is no member
}

// at returns the domain as a rank sees it.
func (d Domain) at(rank int) Domain {
	d.Rank = slices.Index(d.Ranks, rank)
	return d
}

// Lookup returns the rank in the domain of a rank of the run. The error is comm.ErrNotMember if
// it is no member.
func (d Domain) Lookup(rank int) (int, error) {
	if i := slices.Index(d.Ranks, rank); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("rank %d: %w %s %v", rank, comm.ErrNotMember, d.Name, d.Ranks)
}

// Matrix is signals of which each rank has one for each rank that notifies it, so that the
// notices of different ranks do not add up in one counter. A kernel gets it as the argument
// matrix:NAME.
type Matrix struct {
	Name  string
	First int // the signal that is for notices of rank 0; those of other ranks follow
	Ranks int
}

// From returns the signal that is for notices of the rank source. Source notifies a peer with
// t.Notify(peer, m.From(t.Rank()), ...), and the peer waits with t.WaitSignal(m.From(source),
// ...). From panics if there is no such rank.
func (m Matrix) From(source int) int {
	if source < 0 || source >= m.Ranks {
		panic(fmt.Sprintf("matrix %s: no rank %d: it has a signal for each of the ranks 0 to %d", m.Name, source, m.Ranks-1))
	}
	return m.First + source
}
