package dense

import (
	"math/rand/v2"
	"testing"

	"github.com/kernbench/kernbench/numeric"
)

// TestPower checks that the tolerances reveal mistakes. The machine multiplies 32×256 by
// 256×64 in 8 parts, adds a bias, and makes one mistake. Almost every element that the
// mistake changes must be beyond its tolerance. In bf16, four of five must be, because a
// term is not much larger than the roundings of 8 parts. If the part of one rank is
// skipped, some elements of this part are so small that no check can find them.
func TestPower(t *testing.T) {
	type operands struct{ x, w, bias tile }
	layer := func(o operands, d numeric.DType, skip ...int) tile {
		return o.x.matmul(o.w, 8, d, skip...).apply(numeric.Add, o.bias)
	}
	const rows, cols, k = 32, 64, 256
	for _, c := range []struct {
		name     string
		machine  func(o operands, d numeric.DType) tile
		affected int    // elements that the mistake changes
		found    [3]int // elements beyond their tolerance in f16, bf16 and f32
	}{
		{
			name:    "none",
			machine: func(o operands, d numeric.DType) tile { return layer(o, d) },
		},
		{
			name: "a missing term",
			machine: func(o operands, d numeric.DType) tile {
				for i := range rows {
					numeric.Set(d, o.x.bytes, i*k+100, 0)
				}
				return layer(o, d)
			},
			affected: rows * cols,
			found:    [3]int{2048, 1685, 2048},
		},
		{
			name: "a doubled term",
			machine: func(o operands, d numeric.DType) tile {
				for i := range rows {
					numeric.Set(d, o.x.bytes, i*k+100, 2*o.x.at(i*k+100))
				}
				return layer(o, d)
			},
			affected: rows * cols,
			found:    [3]int{2048, 1690, 2048},
		},
		{
			name: "two swapped rows of the result",
			machine: func(o operands, d numeric.DType) tile {
				out := layer(o, d)
				for j := range cols {
					a, b := out.at(5*cols+j), out.at(20*cols+j)
					numeric.Set(d, out.bytes, 5*cols+j, b)
					numeric.Set(d, out.bytes, 20*cols+j, a)
				}
				return out
			},
			affected: 2 * cols,
			found:    [3]int{128, 127, 128},
		},
		{
			name: "no bias",
			machine: func(o operands, d numeric.DType) tile {
				return o.x.matmul(o.w, 8, d)
			},
			affected: rows * cols,
			found:    [3]int{2048, 1584, 2048},
		},
		{
			name:     "a skipped rank",
			machine:  func(o operands, d numeric.DType) tile { return layer(o, d, 3) },
			affected: rows * cols,
			found:    [3]int{2014, 1874, 2048},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i, d := range []numeric.DType{f16, bf16, f32} {
				r := rand.New(rand.NewPCG(2, 2))
				x, w, bias := typical(r, rows, k, d), typical(r, k, cols, d), typical(r, 1, cols, d)
				want := Add(MatMul(x, w, 8, d), bias, d)
				got := c.machine(operands{tileOf(x, d), tileOf(w, d), tileOf(bias, d)}, d)
				if wrong, _, _ := got.compare(want); wrong != c.found[i] {
					t.Errorf("%v: %d of %d elements found, want %d", d, wrong, c.affected, c.found[i])
				}
			}
		})
	}
}

// typical returns a random matrix of numbers between 1/2 and 3/2 with random sign, so that
// no term of a product is much smaller than the other terms.
func typical(r *rand.Rand, rows, cols int, d numeric.DType) *Matrix {
	values := make([]float64, rows*cols)
	for i := range values {
		values[i] = 0.5 + r.Float64()
		if r.IntN(2) == 0 {
			values[i] = -values[i]
		}
	}
	return New(rows, cols, values, d)
}

// TestEqualTerms checks a known limit of the model. When all terms are the same number, all
// partial sums are rounded in the same direction, and errors add up. In f32 a correct
// result is then off by 18 standard deviations, which is beyond its tolerance. In f16 the
// rounding of the result is much larger than this error.
func TestEqualTerms(t *testing.T) {
	const k = 1024
	for d, want := range map[numeric.DType]int{f16: 0, bf16: 0, f32: 1} {
		a, b := zeros(1, k), zeros(k, 1)
		for i := range k {
			a.V[i], b.V[i] = roundTo(0.1, d), roundTo(0.9, d)
		}
		got := tileOf(a, d).matmul(tileOf(b, d), 1, d)
		if wrong, _, off := got.compare(MatMul(a, b, 1, d)); wrong != want {
			t.Errorf("%v: %d elements beyond tolerance, off by %.1f standard deviations; want %d", d, wrong, off, want)
		}
	}
}
