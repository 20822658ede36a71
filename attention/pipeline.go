package attention

import "github.com/kernbench/kernbench/tl"

// step takes a block of keys into a state. Its stages come in the order in which they stand
// here, and each changes what it computes of the state: so that the next step of the same
// state may follow stage by stage.
type step struct {
	*Running
	s, v   tl.Tile // scores and values
	turned bool    // the scores are [keys rows]
	scale  float64
	mask   Mask
	done   func() // comes after the last stage, if it is not nil

	first                             bool // of its state
	m, base, shrink, p, weights, less tl.Tile
}

func (x *step) top() {
	if x.turned {
		x.s = x.s.Trans()
	}
	x.s = x.mask.apply(x.t, x.s)
	x.m = x.s.Max(1).Reshape(x.rows, 1)
}

func (x *step) shift() {
	x.t.Assert(x.scale > 0, "attention: the scale is %v: it has to be positive", x.scale)
	x.first = !x.begun
	m := x.m.Mul(x.scale)
	if !x.first {
		m = m.Maximum(x.Running.m)
	}
	x.base = m.Maximum(lowest)
	if !x.first {
		x.shrink = x.Running.m.Sub(x.base).Exp()
	}
	x.begun = true
	replace(&x.Running.m, m, x.first)
}

func (x *step) exponents() { x.p = x.s.FMA(x.scale, x.base.Neg()) }

func (x *step) exp() { x.p = x.p.Exp() }

func (x *step) sum() {
	l := x.p.Sum(1).Reshape(x.rows, 1)
	if !x.first {
		l = x.l.FMA(x.shrink, l)
	}
	replace(&x.l, l, x.first)
}

func (x *step) round() {
	if x.weights = x.p; x.v.DType() != tl.F32 {
		x.weights = x.p.To(x.v.DType())
	}
}

func (x *step) rescale() {
	if !x.first {
		x.less = x.o.Mul(x.shrink)
	}
}

func (x *step) values() {
	if x.first {
		replace(&x.o, x.weights.Dot(x.v), true)
	} else {
		replace(&x.o, x.weights.Dot(x.v, x.less), false)
	}
	if x.done != nil {
		x.done()
	}
}

// Pipeline takes blocks of keys into states, several at a time. What comes out is the same
// as of Running.Add, to the bit.
//
// Engines begin commands, and store results, in the order of the program; and a command that
// needs the result of the one before waits while that is stored and fetched. So the stages of
// two steps come in turn, and the products of others right behind the exponentials, which
// take the MATH engine as long as the products take the GEMM engine.
type Pipeline struct {
	fresh *step // has its scores asked for
	begun *step // has its exponentials
	ended *step // has all but its values
}

// Add is Running.Add of r, some of which is left to be done by three further calls, or by
// Flush. Until then v is needed, and r is not to be used otherwise.
func (p *Pipeline) Add(r *Running, q, k, v tl.Tile, scale float64, mask Mask) {
	if !mask.Hides(r.rows) {
		p.add(r.step(r.turned(q), k, v, scale, mask))
	}
}

// Flush does what is left.
func (p *Pipeline) Flush() {
	for !p.empty() {
		p.add(nil)
	}
}

// add does what can be done now that the scores of a step have been asked for, and keeps
// that step; nil is none.
func (p *Pipeline) add(x *step) {
	for _, stage := range []struct {
		of *step
		do func(*step)
	}{
		{p.ended, (*step).values},
		{p.fresh, (*step).top},
		{p.begun, (*step).sum},
		{p.fresh, (*step).shift},
		{p.begun, (*step).round},
		{p.fresh, (*step).exponents},
		{p.begun, (*step).rescale},
		{p.fresh, (*step).exp},
	} {
		if stage.of != nil {
			stage.do(stage.of)
		}
	}
	p.fresh, p.begun, p.ended = x, p.fresh, p.begun
}

// empty reports whether nothing is left to do.
func (p *Pipeline) empty() bool { return p.fresh == nil && p.begun == nil && p.ended == nil }
