package dense

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestErrorsOfOperands checks by how much the variances of an operand increase the
// variances of the result. The increase must be the sum of each variance times the squared
// derivative. The test computes derivatives as difference quotients.
func TestErrorsOfOperands(t *testing.T) {
	gain := exactMatrix([]float64{1, -2, 0.5, 3, 1})
	other := exactMatrix([]float64{2, 3, -1, 0.25, 5})
	square := exactMatrix([]float64{1, 2}, []float64{3, 4}, []float64{-1, 5}, []float64{0, 1}, []float64{2, 2})
	for _, c := range []struct {
		name string
		f    func(x *Matrix) *Matrix
	}{
		{"Add", func(x *Matrix) *Matrix { return Add(x, other, f32) }},
		{"Mul", func(x *Matrix) *Matrix { return Mul(x, other, f32) }},
		{"Scale", func(x *Matrix) *Matrix { return Scale(x, 3, f32) }},
		{"GELU", func(x *Matrix) *Matrix { return Map(x, GELU, f32) }},
		{"SiLU", func(x *Matrix) *Matrix { return Map(x, SiLU, f32) }},
		{"MatMul from the left", func(x *Matrix) *Matrix { return MatMul(x, square, 5, f32) }},
		{"MatMul from the right", func(x *Matrix) *Matrix { return MatMul(square, x, 1, f32) }},
		{"RMSNorm", func(x *Matrix) *Matrix { return RMSNorm(x, gain, 0.5, f32) }},
		{"gain of RMSNorm", func(x *Matrix) *Matrix { return RMSNorm(other, x.Slice(0, 0, 1, 5), 0.5, f32) }},
		{"Softmax", func(x *Matrix) *Matrix { return Softmax(x, NoMask, f32) }},
		{"causal Softmax", func(x *Matrix) *Matrix { return Softmax(x, 2, f32) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				x := zeros(2, 5)
				for i := range x.V {
					x.V[i] = rapid.Float64Range(-3, 3).Draw(t, "x")
				}
				own := c.f(x)
				for i := range x.Var {
					x.Var[i] = 1e-8 * rapid.Float64Range(0, 1).Draw(t, "variance")
				}
				got := c.f(x)
				for o := range got.Var {
					want := own.Var[o]
					for i := range x.V {
						slope := derivative(c.f, x, i, o)
						want += slope * slope * x.Var[i]
					}
					// Where the slope is zero, a term of the order of the squared
					// variance remains.
					if math.Abs(got.Var[o]-want) > 1e-5*want+1e-15 {
						t.Fatalf("variance %d of f(%g ± √%g) is %.9g, want %.9g", o, x.V, x.Var, got.Var[o], want)
					}
				}
			})
		})
	}
}

// derivative returns the derivative of element o of f(x) with respect to element i of x, as
// a difference quotient.
func derivative(f func(*Matrix) *Matrix, x *Matrix, i, o int) float64 {
	const h = 1e-5
	at := func(v float64) float64 {
		moved := x.Slice(0, 0, x.Rows, x.Cols)
		moved.V[i] = v
		return f(moved).V[o]
	}
	return (at(x.V[i]+h) - at(x.V[i]-h)) / (2 * h)
}

// TestFlatPlaces checks that the variance of the operand still contributes to the result at
// the minimum of GELU, where the derivative is zero.
func TestFlatPlaces(t *testing.T) {
	const minimum, sigma = -0.7524614220710162, 0.1
	x := &Matrix{Rows: 1, Cols: 1, V: []float64{minimum}, Var: []float64{sigma * sigma}}
	bottom, _ := GELU(minimum)
	above, _ := GELU(minimum + sigma)
	if got, least := math.Sqrt(Map(x, GELU, f32).Var[0]), above-bottom; got < 0.9*least || got > 1.2*least {
		t.Errorf("standard deviation %g at the minimum, want about %g", got, least)
	}
}
