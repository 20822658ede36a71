package dense

import (
	"math"
	"slices"

	"github.com/kernbench/kernbench/numeric"
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

// RMSNorm divides each row by the root of its mean square plus eps, and multiplies it by
// gain, one row. Each step rounds to d.
func RMSNorm(x, gain *Matrix, eps float64, d numeric.DType) *Matrix {
	require(gain.Rows == 1 && gain.Cols == x.Cols, "RMSNorm of %v with gain of %v", x, gain)
	out := zeros(x.Rows, x.Cols)
	for i := range x.Rows {
		n := centred{c: x.V[i*x.Cols:][:x.Cols], variance: x.Var[i*x.Cols:][:x.Cols]}
		n.normalise(out, i, gain, rounded(eps, d), roundingTo(d))
	}
	return out
}

// LayerNorm subtracts from each row its mean, then divides it by the root of its mean square
// plus eps, multiplies it by gain and adds bias, one row each. Each step rounds to d. A
// machine that takes the mean square before it subtracts the mean has larger errors.
func LayerNorm(x, gain, bias *Matrix, eps float64, d numeric.DType) *Matrix {
	require(gain.Rows == 1 && gain.Cols == x.Cols, "LayerNorm of %v with gain of %v", x, gain)
	step := roundingTo(d)
	out := zeros(x.Rows, x.Cols)
	n := centred{c: make([]float64, x.Cols), variance: make([]float64, x.Cols), perElement: 1 / float64(x.Cols)}
	for i := range x.Rows {
		v, variance := x.row(i)
		total, totalVar := sum(v)
		mean := total * n.perElement
		// The sum rounds when it is stored, and so does the mean.
		n.meanVar = totalVar*n.perElement*n.perElement + 2*step.variance(mean)
		for j := range v {
			n.c[j] = v[j] - mean
			n.variance[j] = variance[j] + step.variance(n.c[j])
		}
		n.normalise(out, i, gain, rounded(eps, d), step)
	}
	return Add(out, bias, d)
}

// centred is a row from which its mean was subtracted, or which is taken as it is.
type centred struct {
	c, variance []float64
	perElement  float64 // what an element contributes to the mean: 1/n, or 0 if none was subtracted
	meanVar     float64 // of the error made in computing the mean
}

// normalise makes row i of out c·gain/√(mean(c²) + eps).
func (n *centred) normalise(out *Matrix, i int, gain *Matrix, eps float64, step rounding) {
	count := float64(len(n.c))
	squares := make([]float64, len(n.c))
	squaresVar := 0.0
	var w, cw, c2w float64 // sums of the variances, weighted with the powers of c
	for j, c := range n.c {
		squares[j] = c * c
		squaresVar += step.variance(c * c)
		w += n.variance[j]
		cw += n.variance[j] * c
		c2w += n.variance[j] * c * c
	}
	total, totalVar := sum(squares)
	meanSquare := total/count + eps
	// The sum rounds when it is stored, then the mean, then the addition of eps.
	ownVar := (totalVar+squaresVar)/(count*count) + 3*step.variance(meanSquare)
	inverse := 1 / math.Sqrt(meanSquare)
	// The root halves relative errors. It rounds, and so does the reciprocal.
	inverseVar := inverse*inverse*ownVar/(4*meanSquare*meanSquare) + 2*step.variance(inverse)

	v, variance := out.row(i)
	gains, gainsVar := gain.row(0)
	pull := inverse * inverse / count
	for j, c := range n.c {
		// ∂/∂x of c/√… is inverse·(1 at j, - perElement - c[j]·c·pull), whose squares, times
		// the variances, sum up to this.
		fromX := n.variance[j]*(1-2*n.perElement-2*c*c*pull) +
			n.perElement*n.perElement*w + 2*n.perElement*pull*c*cw + c*c*pull*pull*c2w
		y := c * inverse
		v[j] = y * gains[j]
		variance[j] = gains[j]*gains[j]*(inverse*inverse*(max(fromX, 0)+n.meanVar)+c*c*inverseVar+step.variance(y)) +
			y*y*gainsVar[j] + step.variance(v[j])
	}
}
