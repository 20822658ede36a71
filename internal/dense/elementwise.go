package dense

import (
	"math"

	"github.com/kernbench/kernbench/numeric"
)

// Add returns a + b, rounded to d. If b is one row, such as a bias, it is added to every
// row of a.
func Add(a, b *Matrix, d numeric.DType) *Matrix {
	return combine("Add", a, b, d, func(x, xVar, y, yVar float64) (z, variance float64) {
		return x + y, xVar + yVar
	})
}

// Mul returns the elementwise product of a and b, rounded to d. If b is one row, every row
// of a is multiplied by it.
func Mul(a, b *Matrix, d numeric.DType) *Matrix {
	return combine("Mul", a, b, d, func(x, xVar, y, yVar float64) (z, variance float64) {
		return x * y, x*x*yVar + y*y*xVar + xVar*yVar
	})
}

// Scale returns m times `factor`, rounded to d. The factor itself is rounded to d first.
func Scale(m *Matrix, factor float64, d numeric.DType) *Matrix {
	row := zeros(1, m.Cols)
	for j := range row.V {
		row.V[j] = roundTo(factor, d)
	}
	return Mul(m, row, d)
}

// combine applies op to each element of a and the corresponding element of b, and rounds
// the results to d. op takes the values x and y and their variances, and returns a value
// and its variance. b may be one row, which is then used for every row of a. `name` is the
// name of the operation in panics.
func combine(name string, a, b *Matrix, d numeric.DType, op func(x, xVar, y, yVar float64) (z, variance float64)) *Matrix {
	require(a.Cols == b.Cols && (a.Rows == b.Rows || b.Rows == 1), "%s of %v and %v", name, a, b)
	step := roundingTo(d)
	out := zeros(a.Rows, a.Cols)
	for i := range a.V {
		j := i % len(b.V)
		z, variance := op(a.V[i], a.Var[i], b.V[j], b.Var[j])
		out.V[i], out.Var[i] = z, variance+step.variance(z)
	}
	return out
}

// Func is a function of one number that the machine computes in several steps. It returns
// the value y and steps. An error of one unit roundoff u in any step but the last changes
// y by some multiple of u; steps is the sum of the squares of these multiples.
type Func func(x float64) (y, steps float64)

// GELU computes the tanh form of the GELU function, ½x(1 + tanh(√(2/π)(x + 0.044715x³))).
// It is a [Func].
func GELU(x float64) (y, steps float64) {
	a := math.Sqrt(2/math.Pi) * (x + 0.044715*x*x*x)
	t := math.Tanh(a)
	y = x / 2 * (1 + t)
	// The argument has seven roundings: two constants and five operations. Each counts as
	// an error of the whole argument. Then tanh rounds, which matters where 1 + tanh is
	// almost 0. Then the sum rounds, and the product before the last one.
	argument := x / 2 * (1 - t*t) * a
	tanh, plus := x/2*t, y
	return y, 7*argument*argument + tanh*tanh + plus*plus + y*y
}

// SiLU computes x/(1 + exp(-x)). It is a [Func].
func SiLU(x float64) (y, steps float64) {
	y = x / (1 + math.Exp(-x))
	// The relative errors of exponential, sum and reciprocal are at most u each, and
	// change y by at most u·|y| each.
	return y, 3 * y * y
}

// Map applies f to every element of m and returns the results. Their variances assume that
// the machine rounds the result of each step of f to d.
func Map(m *Matrix, f Func, d numeric.DType) *Matrix {
	step := roundingTo(d)
	out := zeros(m.Rows, m.Cols)
	for i, x := range m.V {
		y, steps := f(x)
		out.V[i] = y
		// An intermediate result may be subnormal, such as the sigmoid of -15 in f16, and
		// then be multiplied by x.
		out.Var[i] = step.perSquare()*steps + step.variance(y) + step.variance(0)*x*x
		if m.Var[i] == 0 {
			continue
		}
		// Use differences over one standard deviation, not the derivative: where the
		// derivative is zero, as at the minimum of GELU, errors do not vanish.
		sigma := math.Sqrt(m.Var[i])
		above, _ := f(x + sigma)
		below, _ := f(x - sigma)
		out.Var[i] += ((above-y)*(above-y) + (below-y)*(below-y)) / 2
	}
	return out
}

// rounding is the largest error of rounding to a dtype.
type rounding struct {
	unit  float64 // relative to the number: half the spacing at 1
	least float64 // absolute, for small numbers: half the spacing of subnormals
}

// roundingTo returns the largest errors of rounding to dtype d. It panics if d is not
// supported.
func roundingTo(d numeric.DType) rounding {
	r, ok := map[numeric.DType]rounding{numeric.F16: {0x1p-11, 0x1p-25}, numeric.BF16: {0x1p-8, 0x1p-134}, numeric.F32: {0x1p-24, 0x1p-150}}[d]
	require(ok, "no reference for %v: use f16, bf16 or f32", d)
	return r
}

// variance returns the variance of the error that rounding the number z makes.
func (r rounding) variance(z float64) float64 {
	half := max(r.unit*math.Abs(z), r.least)
	return half * half / 3
}

// perSquare returns variance(z)/z², which is the same for all normal numbers z.
func (r rounding) perSquare() float64 { return r.unit * r.unit / 3 }

// accumulator is the rounding of sums. Machines accumulate in f32 for all dtypes that have
// a reference.
var accumulator = roundingTo(numeric.F32)

// narrows reports whether a sum, which is accumulated in f32, is rounded when it is stored
// as dtype d.
func narrows(d numeric.DType) bool { return d != numeric.F32 }

// sum adds the values in the given order and returns the total. `variance` is the variance
// of the total's error if each addition rounds to f32, as the accumulator of the machine
// does.
func sum(values []float64) (total, variance float64) {
	squares := 0.0
	for _, v := range values {
		total += v
		squares += total * total
	}
	return total, squares * accumulator.perSquare()
}

// roundTo returns v rounded to dtype d, as the machine stores it.
func roundTo(v float64, d numeric.DType) float64 {
	var element [8]byte
	numeric.Set(d, element[:d.Size()], 0, v)
	return numeric.Get(d, element[:d.Size()], 0)
}
