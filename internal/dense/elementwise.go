package dense

import (
	"math"

	"github.com/kernbench/kernbench/numeric"
)

// Add is a + b, rounded to d. If b is one row (a bias), it is added to every row of a.
func Add(a, b *Matrix, d numeric.DType) *Matrix {
	return combine("Add", a, b, d, func(x, xVar, y, yVar float64) (z, variance float64) {
		return x + y, xVar + yVar
	})
}

// Mul is a·b element by element, rounded to d. If b is one row, every row of a is
// multiplied by it.
func Mul(a, b *Matrix, d numeric.DType) *Matrix {
	return combine("Mul", a, b, d, func(x, xVar, y, yVar float64) (z, variance float64) {
		return x * y, x*x*yVar + y*y*xVar + xVar*yVar
	})
}

// Scale is m times a factor, which itself is rounded to d first.
func Scale(m *Matrix, factor float64, d numeric.DType) *Matrix {
	row := zeros(1, m.Cols)
	for j := range row.V {
		row.V[j] = rounded(factor, d)
	}
	return Mul(m, row, d)
}

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

// Func is a function of one number, y, that the machine computes in several steps. If each
// step but the last were off by one unit roundoff u, y would be off by some multiple of u
// for each: steps is the sum of the squares of those multiples.
type Func func(x float64) (y, steps float64)

// GELU is the tanh form, ½x(1 + tanh(√(2/π)(x + 0.044715x³))).
func GELU(x float64) (y, steps float64) {
	a := math.Sqrt(2/math.Pi) * (x + 0.044715*x*x*x)
	t := math.Tanh(a)
	y = x / 2 * (1 + t)
	// The argument comes from two rounded constants and five operations, each taken as if
	// it concerned all of it. Then tanh rounds, which matters where 1 + tanh is nearly
	// nothing, the sum rounds, and a product before the last.
	argument := x / 2 * (1 - t*t) * a
	tanh, plus := x/2*t, y
	return y, 7*argument*argument + tanh*tanh + plus*plus + y*y
}

// SiLU is x/(1 + exp(-x)).
func SiLU(x float64) (y, steps float64) {
	y = x / (1 + math.Exp(-x))
	// Exponential, sum and reciprocal each are off by at most u of themselves, and so is y.
	return y, 3 * y * y
}

// Map is f of every element, each step of which rounds to d.
func Map(m *Matrix, f Func, d numeric.DType) *Matrix {
	step := roundingTo(d)
	out := zeros(m.Rows, m.Cols)
	for i, x := range m.V {
		y, steps := f(x)
		out.V[i] = y
		// A step before the last may be subnormal, as the sigmoid of -15 is in f16, and then
		// be multiplied by x.
		out.Var[i] = step.perSquare()*steps + step.variance(y) + step.variance(0)*x*x
		if m.Var[i] == 0 {
			continue
		}
		// Differences over one standard deviation, not the derivative: where it is zero, as
		// at the minimum of GELU, errors do not vanish.
		sigma := math.Sqrt(m.Var[i])
		above, _ := f(x + sigma)
		below, _ := f(x - sigma)
		out.Var[i] += ((above-y)*(above-y) + (below-y)*(below-y)) / 2
	}
	return out
}

// rounding is the error of rounding to a dtype.
type rounding struct {
	unit  float64 // of a number, relative: half the spacing at 1
	least float64 // of any number, absolute: half the spacing of subnormals
}

func roundingTo(d numeric.DType) rounding {
	r, ok := map[numeric.DType]rounding{numeric.F16: {0x1p-11, 0x1p-25}, numeric.BF16: {0x1p-8, 0x1p-134}, numeric.F32: {0x1p-24, 0x1p-150}}[d]
	require(ok, "no reference for %v: use f16, bf16 or f32", d)
	return r
}

// variance is that of the error of rounding z.
func (r rounding) variance(z float64) float64 {
	half := max(r.unit*math.Abs(z), r.least)
	return half * half / 3
}

// perSquare is variance(z)/z² of normal numbers.
func (r rounding) perSquare() float64 { return r.unit * r.unit / 3 }

// accumulator is the rounding of sums, which machines accumulate in f32 for all dtypes
// that have a reference.
var accumulator = roundingTo(numeric.F32)

// narrows says whether an accumulated sum is rounded when it becomes a d.
func narrows(d numeric.DType) bool { return d != numeric.F32 }

// sum is the sum of values, and the variance of its error if each addition rounds as
// the accumulator does, in ascending order.
func sum(values []float64) (total, variance float64) {
	squares := 0.0
	for _, v := range values {
		total += v
		squares += total * total
	}
	return total, squares * accumulator.perSquare()
}

// rounded is v as the machine has it in d.
func rounded(v float64, d numeric.DType) float64 {
	var element [8]byte
	numeric.Set(d, element[:d.Size()], 0, v)
	return numeric.Get(d, element[:d.Size()], 0)
}
