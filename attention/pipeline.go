package attention

import "github.com/kernbench/kernbench/tl"

// step is the computation that adds one block of keys to a softmax state (Running). Its
// methods are the stages of the computation, and run in the order in which they are
// declared. Each stage updates its part of the state, so that the same stage of the next
// step of this state may follow directly.
type step struct {
	*Running
	scores, v  tl.Tile // scores and values
	transposed bool    // the scores are [keys rows], not [rows keys]
	scale      float64
	mask       Mask
	onEnd      func() // called after the last stage; may be nil

	first                                            bool // this is the first step of the state
	m, base, shrink, exponentials, weights, rescaled tl.Tile
}

// maximum masks the scores and computes the maximum of each row.
func (x *step) maximum() {
	if x.transposed {
		x.scores = x.scores.Trans()
	}
	x.scores = x.mask.apply(x.t, x.scores)
	x.m = x.scores.Max(1).Reshape(x.rows, 1)
}

// updateMaximum updates the running maximum of each row, and computes the factor by which
// the earlier sums must be multiplied.
func (x *step) updateMaximum() {
	x.t.Assert(x.scale > 0, "attention: the scale is %v: it has to be positive", x.scale)
	x.first = !x.initialized
	m := x.m.Mul(x.scale)
	if !x.first {
		m = m.Maximum(x.Running.m)
	}
	x.base = m.Maximum(lowest)
	if !x.first {
		x.shrink = x.Running.m.Sub(x.base).Exp()
	}
	x.initialized = true
	replace(&x.Running.m, m, x.first)
}

// exponents computes the arguments of the exponential: the scaled scores minus the running
// maximum.
func (x *step) exponents() { x.exponentials = x.scores.FMA(x.scale, x.base.Neg()) }

// exp replaces the elements of x.exponentials, which are arguments so far, by their
// exponentials.
func (x *step) exp() { x.exponentials = x.exponentials.Exp() }

// addToSum multiplies the running sum by the factor that updateMaximum computed, and adds
// the exponentials.
func (x *step) addToSum() {
	l := x.exponentials.Sum(1).Reshape(x.rows, 1)
	if !x.first {
		l = x.l.FMA(x.shrink, l)
	}
	replace(&x.l, l, x.first)
}

// round converts the exponentials to the dtype of the values.
func (x *step) round() {
	if x.weights = x.exponentials; x.v.DType() != tl.F32 {
		x.weights = x.exponentials.To(x.v.DType())
	}
}

// rescale multiplies the weighted sum of the earlier values by the factor that
// updateMaximum computed.
func (x *step) rescale() {
	if !x.first {
		x.rescaled = x.o.Mul(x.shrink)
	}
}

// addValues adds the values of the block, weighted with the exponentials, to the weighted
// sum. It ends the step.
func (x *step) addValues() {
	if x.first {
		replace(&x.o, x.weights.Dot(x.v), true)
	} else {
		replace(&x.o, x.weights.Dot(x.v, x.rescaled), false)
	}
	if x.onEnd != nil {
		x.onEnd()
	}
}

// Pipeline adds blocks of keys to softmax states, several at a time. The results have the
// same bits as those of Running.Add.
//
// Engines start commands and store results in program order. A command that needs the
// result of the previous command waits until that result is stored and fetched. Therefore
// the pipeline alternates the stages of two steps. It issues the products of further steps
// directly after the exponentials, because the MATH engine needs about as long for the
// exponentials as the GEMM engine for the products.
type Pipeline struct {
	scored        *step // its scores have been issued; nil if none
	exponentiated *step // its exponentials have been issued; nil if none
	weighted      *step // only addValues remains; nil if none
}

// Add adds a block of keys to the state r, as r.Add does, but delays some stages until the
// next three calls of Add, or until Flush. Until then v must stay valid and r must not be
// used otherwise.
func (p *Pipeline) Add(r *Running, q, k, v tl.Tile, scale float64, mask Mask) {
	if !mask.Hides(r.rows) {
		p.add(r.newStep(r.orientQueries(q), k, v, scale, mask))
	}
}

// Flush runs the remaining stages of all steps in the pipeline.
func (p *Pipeline) Flush() {
	for !p.empty() {
		p.add(nil)
	}
}

// add advances every step in the pipeline, and then puts step x into the pipeline. The
// caller has already issued the computation of the scores of x. If x is nil, add only
// advances the steps in the pipeline.
func (p *Pipeline) add(x *step) {
	for _, stage := range []struct {
		step *step
		do   func(*step)
	}{
		{p.weighted, (*step).addValues},
		{p.scored, (*step).maximum},
		{p.exponentiated, (*step).addToSum},
		{p.scored, (*step).updateMaximum},
		{p.exponentiated, (*step).round},
		{p.scored, (*step).exponents},
		{p.exponentiated, (*step).rescale},
		{p.scored, (*step).exp},
	} {
		if stage.step != nil {
			stage.do(stage.step)
		}
	}
	p.scored, p.exponentiated, p.weighted = x, p.scored, p.exponentiated
}

// empty reports whether the pipeline holds no step.
func (p *Pipeline) empty() bool {
	return p.scored == nil && p.exponentiated == nil && p.weighted == nil
}
