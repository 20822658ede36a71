package dense

import (
	"math"
	"slices"

	"github.com/kernbench/kernbench/numeric"
)

// NoMask is an offset with which every row sees every column.
const NoMask = math.MaxInt32

// Softmax computes exp(x)/Σ exp(x) over each row. Each step rounds to d. Row i sees the
// columns up to and including i + offset; the result is exactly 0 in the other columns.
// `offset` must be at least 0. It is 0 if queries and keys have the same positions, and
// NoMask if every row sees all columns.
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
			// The derivative of p[j] by e.v[l], times the sum, is 1 - p[j] if l = j,
			// and -p[j] otherwise.
			own := (1 - p[j]) * (1 - p[j]) * e.variance[j]
			others := p[j] * p[j] * (e.variances - e.variance[j] + e.sumVar)
			// The machine may compute the quotient as a reciprocal and a product.
			pVar[j] = (own+others)/(e.sum*e.sum) + 2*step.variance(p[j])
		}
	}
	return out
}

// exponents holds exp(x - max(x)) of a row. The same maximum is subtracted everywhere, so
// its error has no effect.
type exponents struct {
	v, variance []float64
	variances   float64 // sum of variance
	sum, sumVar float64 // sumVar is only the part of the roundings of the sum
}

// exponentials computes exp(x - max(x)) for a row x with variances xVar. Every operation
// rounds as `step` says.
func exponentials(x, xVar []float64, step rounding) exponents {
	e := exponents{v: make([]float64, len(x)), variance: make([]float64, len(x))}
	greatest := slices.Max(x)
	for j := range x {
		shifted := x[j] - greatest
		e.v[j] = math.Exp(shifted)
		e.variance[j] = e.v[j]*e.v[j]*(xVar[j]+step.variance(shifted)) + step.variance(e.v[j])
		e.variances += e.variance[j]
	}
	e.sum, e.sumVar = sum(e.v)
	e.sumVar += step.variance(e.sum)
	return e
}

// Attention computes softmax(scale · q·kᵀ)·v of one attention head. Scores and softmax are
// computed in the dtype `work`. The probabilities are stored in d before they are
// multiplied by v. v and the result have the dtype d. Row i of q sees the rows of k up to
// and including i + offset, as in [Softmax].
func Attention(q, k, v *Matrix, scale float64, offset int, work, d numeric.DType) *Matrix {
	scores := Scale(MatMul(q, k.Transpose(), 1, work), scale, work)
	p := Softmax(scores, offset, work)
	if work != d {
		p = p.Round(d)
	}
	return MatMul(p, v, 1, d)
}

// RMSNorm divides each row x of the operand by √(mean(x²) + eps) and multiplies it by
// `gain`, which is one row. Each step rounds to d.
func RMSNorm(x, gain *Matrix, eps float64, d numeric.DType) *Matrix {
	require(gain.Rows == 1 && gain.Cols == x.Cols, "RMSNorm of %v with gain of %v", x, gain)
	out := zeros(x.Rows, x.Cols)
	for i := range x.Rows {
		x.normaliseRow(out, i, gain, roundTo(eps, d), roundingTo(d))
	}
	return out
}

// normaliseRow sets row i of out to x·gain/√(mean(x²) + eps), where x is row i of m, and
// sets the variances of row i of out. Every operation rounds as `step` says.
func (m *Matrix) normaliseRow(out *Matrix, i int, gain *Matrix, eps float64, step rounding) {
	x, xVar := m.row(i)
	count := float64(len(x))
	squares := make([]float64, len(x))
	squaresVar := 0.0
	weighted := 0.0 // sum of the variances times x²
	for j, v := range x {
		squares[j] = v * v
		squaresVar += step.variance(v * v)
		weighted += xVar[j] * v * v
	}
	total, totalVar := sum(squares)
	meanSquare := total/count + eps
	// The sum rounds when it is stored, then the mean, then the addition of eps.
	ownVar := (totalVar+squaresVar)/(count*count) + 3*step.variance(meanSquare)
	inverse := 1 / math.Sqrt(meanSquare)
	// The root halves relative errors. The root and the reciprocal each round.
	inverseVar := inverse*inverse*ownVar/(4*meanSquare*meanSquare) + 2*step.variance(inverse)

	v, variance := out.row(i)
	gains, gainsVar := gain.row(0)
	pull := inverse * inverse / count
	for j, c := range x {
		// The derivative of x[j]/√… with respect to x[l] is inverse·((1 if l = j) -
		// x[j]·x[l]·pull). fromX is the sum of its squares times the variances, without
		// inverse².
		fromX := xVar[j]*(1-2*c*c*pull) + c*c*pull*pull*weighted
		y := c * inverse
		v[j] = y * gains[j]
		variance[j] = gains[j]*gains[j]*(inverse*inverse*max(fromX, 0)+c*c*inverseVar+step.variance(y)) +
			y*y*gainsVar[j] + step.variance(v[j])
	}
}
