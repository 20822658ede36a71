package dense

import (
	"math"

	"github.com/kernbench/kernbench/internal/numeric"
)

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
