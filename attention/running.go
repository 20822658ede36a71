package attention

import (
	"math"

	"github.com/kernbench/kernbench/tl"
)

// Running is the softmax of rows of scores, times values, over blocks of keys that come one
// after the other. Of each row it has the largest score so far, the sum of e to the power
// of the scores less that, and the sum of the values with those weights: all in f32 and in
// TCM, pinned. A new one has seen no keys.
type Running struct {
	t       *tl.PE
	rows, d int
	begun   bool    // there are tiles
	m, l, o tl.Tile // [rows 1], [rows 1], [rows d]
}

// New returns the state of so many rows of queries, with values of d elements.
func New(t *tl.PE, rows, d int) *Running { return &Running{t: t, rows: rows, d: d} }

// lowest stands for the maximum of a row without keys, where -Inf less -Inf would be NaN.
const lowest = -math.MaxFloat32

// Add takes in a block of keys: q is [rows d], k and v are [keys d]. Scores are q·kᵀ times
// the scale, which is positive. A Pipeline does the same faster where blocks or states are
// several.
func (r *Running) Add(q, k, v tl.Tile, scale float64, mask Mask) {
	var p Pipeline
	p.Add(r, q, k, v, scale, mask)
	p.Flush()
}

// few reports whether it is less to transpose queries and their scores than keys.
func (r *Running) few() bool { return r.rows < r.d }

// turned returns queries as step wants them.
func (r *Running) turned(q tl.Tile) tl.Tile {
	if r.few() {
		return q.Trans()
	}
	return q
}

// step asks for the scores of queries, turned, with a block of keys.
func (r *Running) step(q, k, v tl.Tile, scale float64, mask Mask) *step {
	x := &step{Running: r, v: v, scale: scale, mask: mask, turned: r.few()}
	if x.turned {
		x.s = k.Dot(q)
	} else {
		x.s = q.Dot(k.Trans())
	}
	return x
}

// Step is Add of scores, [rows keys] in f32, that have been computed before, and have not
// been multiplied by the scale.
func (r *Running) Step(scores, v tl.Tile, scale float64, mask Mask) {
	var p Pipeline
	p.add(&step{Running: r, s: scores, v: v, scale: scale, mask: mask})
	p.Flush()
}

// Merge takes in what another state of as many rows has seen, and frees it. A state
// without keys changes nothing, to the bit.
func (r *Running) Merge(x *Running) {
	switch {
	case !x.begun:
		return
	case !r.begun:
		*r = *x
		return
	}
	m := r.m.Maximum(x.m)
	base := m.Maximum(lowest)
	mine, its := r.m.Sub(base).Exp(), x.m.Sub(base).Exp()
	r.set(m, r.l.Mul(mine).Add(x.l.Mul(its)), r.o.Mul(mine).Add(x.o.Mul(its)))
	x.Free()
}

// Out returns the attention of the rows, in f32: the weighted mean of the values, and 0 for a
// row that has seen no key. The state is as it was.
func (r *Running) Out() tl.Tile {
	r.begin()
	// The sum of a row with a key is 1 or more, but for rounding: that key's weight.
	return r.o.Mul(r.t.Div(1, r.l.Maximum(0.5)))
}

// Send sends the state through a port, to Receive.
func (r *Running) Send(port tl.Port) {
	r.begin()
	for _, x := range []tl.Tile{r.m, r.l, r.o} {
		r.t.Send(port, x)
	}
}

// Receive returns a state of so many rows that comes through a port.
func Receive(t *tl.PE, port tl.Port, rows, d int) *Running {
	r := New(t, rows, d)
	m, l := t.Recv(port, tl.Shape{rows, 1}, tl.F32), t.Recv(port, tl.Shape{rows, 1}, tl.F32)
	r.set(m, l, t.Recv(port, tl.Shape{rows, d}, tl.F32))
	return r
}

// StateElems returns the elements of memory of f32 that Store writes and Load reads.
func StateElems(rows, d int) int { return rows * (d + 2) }

// Store writes the state to memory, to a vector of StateElems.
func (r *Running) Store(p tl.Ptr) {
	r.begin()
	r.t.Store(p, r.o)
	r.t.Store(p.Add(r.rows*r.d), r.m)
	r.t.Store(p.Add(r.rows*r.d+r.rows), r.l)
}

// Load returns a state of so many rows that Store has written.
func Load(t *tl.PE, p tl.Ptr, rows, d int) *Running {
	r := New(t, rows, d)
	o := t.Load(p, tl.Shape{rows, d}, tl.F32)
	m := t.Load(p.Add(rows*d), tl.Shape{rows, 1}, tl.F32)
	r.set(m, t.Load(p.Add(rows*d+rows), tl.Shape{rows, 1}, tl.F32), o)
	return r
}

// Free gives the room of the state back. It has seen no keys then.
func (r *Running) Free() {
	if r.begun {
		r.m.Free()
		r.l.Free()
		r.o.Free()
	}
	r.begun = false
}

// begin makes the tiles of a state without keys.
func (r *Running) begin() {
	if r.begun {
		return
	}
	r.set(r.t.Full(tl.Shape{r.rows, 1}, tl.F32, math.Inf(-1)), r.t.Zeros(tl.Shape{r.rows, 1}, tl.F32), r.t.Zeros(tl.Shape{r.rows, r.d}, tl.F32))
}

// set replaces the tiles.
func (r *Running) set(m, l, o tl.Tile) {
	r.Free()
	r.m, r.l, r.o, r.begun = m.Pin(), l.Pin(), o.Pin(), true
}

// replace puts a tile in the place of one of the state's, which goes unless it is the
// first there.
func replace(at *tl.Tile, x tl.Tile, first bool) {
	if !first {
		at.Free()
	}
	*at = x.Pin()
}
