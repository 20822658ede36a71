package dense

import (
	"math"
	"slices"

	"github.com/kernbench/kernbench/internal/numeric"
)

// NoMask is an offset with which every row sees every column.
const NoMask = math.MaxInt32

// Softmax is exp(x)/Σ exp(x) over each row, each step of which rounds to d. Row i sees the
// columns up to and including i + offset, which is at least 0: 0 for a square of scores of
// queries and keys at the same places, NoMask for all. The others are exactly 0.
func Softmax(x *Matrix, offset int, d numeric.DType) *Matrix {
	require(offset >= 0, "Softmax of %v with offset %d: row 0 would see nothing", x, offset)
	step := roundingTo(d)
	out := zeros(x.Rows, x.Cols)
	for i := range x.Rows {
		v, variance := x.row(i)
		seen := min(i+offset+1, x.Cols)
		e := exponentials(v[:seen], variance[:seen], step)
		p, pVar := out.row(i)
		for j := range seen {
			p[j] = e.v[j] / e.sum
			// ∂p[j]/∂e is 1 - p[j] at j and -p[j] elsewhere, divided by the sum.
			own := (1 - p[j]) * (1 - p[j]) * e.variance[j]
			others := p[j] * p[j] * (e.variances - e.variance[j] + e.sumVar)
			// The quotient may be a reciprocal and a product.
			pVar[j] = (own+others)/(e.sum*e.sum) + 2*step.variance(p[j])
		}
	}
	return out
}

// CrossEntropy is log Σ exp(x) - x[target] of each row of logits, in one column. Each step
// rounds to d.
func CrossEntropy(logits *Matrix, targets []int, d numeric.DType) *Matrix {
	require(len(targets) == logits.Rows, "CrossEntropy of %v with %d targets", logits, len(targets))
	step := roundingTo(d)
	out := zeros(logits.Rows, 1)
	for i, target := range targets {
		require(0 <= target && target < logits.Cols, "CrossEntropy of %v with target %d", logits, target)
		v, variance := logits.row(i)
		e := exponentials(v, variance, step)
		log, shifted := math.Log(e.sum), v[target]-e.greatest
		out.V[i] = log - shifted
		// ∂/∂x is p, but p - 1 at the target, whose error is in both terms. Only the rounding
		// of its exponential is not.
		p := e.v[target] / e.sum
		own := (1 - p) * (1 - p) * (variance[target] + step.variance(shifted))
		others := e.variances - e.variance[target] + step.variance(e.v[target]) + e.sumVar
		out.Var[i] = own + others/(e.sum*e.sum) + step.variance(log) + step.variance(out.V[i])
	}
	return out
}

// exponents is exp(x - max(x)) of a row. The maximum is the same number wherever it is
// subtracted, so its error is of no consequence.
type exponents struct {
	v, variance []float64
	greatest    float64 // max(x)
	variances   float64 // sum of variance
	sum, sumVar float64 // sumVar is from roundings of the sum alone
}

func exponentials(x, xVar []float64, step rounding) exponents {
	e := exponents{v: make([]float64, len(x)), variance: make([]float64, len(x)), greatest: slices.Max(x)}
	for j := range x {
		shifted := x[j] - e.greatest
		e.v[j] = math.Exp(shifted)
		e.variance[j] = e.v[j]*e.v[j]*(xVar[j]+step.variance(shifted)) + step.variance(e.v[j])
		e.variances += e.variance[j]
	}
	e.sum, e.sumVar = sum(e.v)
	e.sumVar += step.variance(e.sum)
	return e
}

// Attention is softmax(scale · q·kᵀ)·v of one head. Scores and softmax are in the dtype
// work; the probabilities are stored in d, of which v is too, before they are multiplied
// by v, and so is the result. Row i of q sees the rows of k up to and including i +
// offset, as in [Softmax].
func Attention(q, k, v *Matrix, scale float64, offset int, work, d numeric.DType) *Matrix {
	scores := Scale(MatMul(q, k.Transpose(), 1, work), scale, work)
	p := Softmax(scores, offset, work)
	if work != d {
		p = p.Round(d)
	}
	return MatMul(p, v, 1, d)
}
