package attention

import (
	"math"

	"github.com/kernbench/kernbench/tl"
)

// Running is the state of a softmax over blocks of keys that are added one after another.
// For each row of queries it holds the largest score so far, the sum of the exponentials of
// the scores minus the largest score, and the sum of the values weighted with these
// exponentials. All of them are in f32 and pinned in TCM. A new Running has seen no keys.
type Running struct {
	t           *tl.PE
	rows, d     int
	initialized bool    // m, l and o hold tiles
	m, l, o     tl.Tile // [rows 1], [rows 1], [rows d]
}

// New returns the state of a softmax that has seen no keys, for the given rows of queries
// and values of d elements.
func New(t *tl.PE, rows, d int) *Running { return &Running{t: t, rows: rows, d: d} }

// lowest replaces the maximum of a row without keys, because -Inf minus -Inf is NaN.
const lowest = -math.MaxFloat32

// Add adds a block of keys and values to the state. q is [rows d], k and v are [keys d].
// The scores are q·kᵀ times scale, which must be positive. With several blocks or states,
// Pipeline.Add takes less time.
func (r *Running) Add(q, k, v tl.Tile, scale float64, mask Mask) {
	var p Pipeline
	p.Add(r, q, k, v, scale, mask)
	p.Flush()
}

// transposesQueries reports whether a step transposes queries and scores instead of keys.
// This is less work if there are fewer rows of queries than elements in a row.
func (r *Running) transposesQueries() bool { return r.rows < r.d }

// orientQueries returns q, transposed if transposesQueries reports true. newStep expects
// the result of orientQueries.
func (r *Running) orientQueries(q tl.Tile) tl.Tile {
	if r.transposesQueries() {
		return q.Trans()
	}
	return q
}

// newStep issues the product of queries and keys, and returns the step that adds the block
// of keys to the state. q is the result of orientQueries.
func (r *Running) newStep(q, k, v tl.Tile, scale float64, mask Mask) *step {
	x := &step{Running: r, v: v, scale: scale, mask: mask, transposed: r.transposesQueries()}
	if x.transposed {
		x.scores = k.Dot(q)
	} else {
		x.scores = q.Dot(k.Trans())
	}
	return x
}

// Step adds a block of keys and values to the state. In contrast to Add, the caller has
// already computed the scores. They are [rows keys] in f32, not multiplied by scale.
func (r *Running) Step(scores, v tl.Tile, scale float64, mask Mask) {
	var p Pipeline
	p.add(&step{Running: r, scores: scores, v: v, scale: scale, mask: mask})
	p.Flush()
}

// Merge adds to state r all keys that state x has seen. It frees x or takes over its tiles,
// so x must not be used afterwards. Both states must have the same number of rows. Merging
// a state x without keys changes no bit of r.
func (r *Running) Merge(x *Running) {
	switch {
	case !x.initialized:
		return
	case !r.initialized:
		*r = *x
		return
	}
	m := r.m.Maximum(x.m)
	base := m.Maximum(lowest)
	mine, its := r.m.Sub(base).Exp(), x.m.Sub(base).Exp()
	r.set(m, r.l.Mul(mine).Add(x.l.Mul(its)), r.o.Mul(mine).Add(x.o.Mul(its)))
	x.Free()
}

// Out returns the attention of the rows in f32: the weighted mean of the values, or 0 for a
// row that has seen no key. It does not change the state.
func (r *Running) Out() tl.Tile {
	r.initialize()
	// The sum of a row with keys is at least 1, apart from rounding: the key with the
	// largest score has the weight 1.
	return r.o.Mul(r.t.Div(1, r.l.Maximum(0.5)))
}

// Send sends the state through a port. The PE at the other end calls Receive.
func (r *Running) Send(port tl.Port) {
	r.initialize()
	for _, x := range []tl.Tile{r.m, r.l, r.o} {
		r.t.Send(port, x)
	}
}

// Receive receives a state through a port. The state has the given rows, and values of d
// elements.
func Receive(t *tl.PE, port tl.Port, rows, d int) *Running {
	r := New(t, rows, d)
	m, l := t.Recv(port, tl.Shape{rows, 1}, tl.F32), t.Recv(port, tl.Shape{rows, 1}, tl.F32)
	r.set(m, l, t.Recv(port, tl.Shape{rows, d}, tl.F32))
	return r
}

// StateElems returns the number of f32 elements that Store writes and Load reads.
func StateElems(rows, d int) int { return rows * (d + 2) }

// Store writes the state to memory, as a vector of StateElems elements.
func (r *Running) Store(p tl.Ptr) {
	r.initialize()
	r.t.Store(p, r.o)
	r.t.Store(p.Add(r.rows*r.d), r.m)
	r.t.Store(p.Add(r.rows*r.d+r.rows), r.l)
}

// Load loads a state that Store has written at p. The state has the given rows, and values
// of d elements.
func Load(t *tl.PE, p tl.Ptr, rows, d int) *Running {
	r := New(t, rows, d)
	o := t.Load(p, tl.Shape{rows, d}, tl.F32)
	m := t.Load(p.Add(rows*d), tl.Shape{rows, 1}, tl.F32)
	r.set(m, t.Load(p.Add(rows*d+rows), tl.Shape{rows, 1}, tl.F32), o)
	return r
}

// Free frees the tiles of the state. The state has then seen no keys.
func (r *Running) Free() {
	if r.initialized {
		r.m.Free()
		r.l.Free()
		r.o.Free()
	}
	r.initialized = false
}

// initialize creates the tiles of a state that has no tiles yet, with the values of a state
// that has seen no keys.
func (r *Running) initialize() {
	if r.initialized {
		return
	}
	r.set(r.t.Full(tl.Shape{r.rows, 1}, tl.F32, math.Inf(-1)), r.t.Zeros(tl.Shape{r.rows, 1}, tl.F32), r.t.Zeros(tl.Shape{r.rows, r.d}, tl.F32))
}

// set replaces all tiles of the state.
func (r *Running) set(m, l, o tl.Tile) {
	r.Free()
	r.m, r.l, r.o, r.initialized = m.Pin(), l.Pin(), o.Pin(), true
}

// replace replaces the tile `at` of a state with x. It frees the old tile, unless first is
// set, which means that there is no old tile.
func replace(at *tl.Tile, x tl.Tile, first bool) {
	if !first {
		at.Free()
	}
	*at = x.Pin()
}
