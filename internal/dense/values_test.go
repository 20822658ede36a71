package dense

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/numeric"
)

// exactMatrix returns a matrix of the given rows. Its variances are zero.
func exactMatrix(rows ...[]float64) *Matrix {
	return New(len(rows), len(rows[0]), slices.Concat(rows...), f32)
}

// TestValues checks that each operation gives the values that were computed by hand or by
// other programs.
func TestValues(t *testing.T) {
	m := exactMatrix([]float64{1, 2, 3}, []float64{4, 5, 6})
	row := exactMatrix([]float64{10, 20, 30})
	l2, l3 := math.Log(2), math.Log(3)
	logs := &Matrix{Rows: 2, Cols: 3, V: []float64{0, l2, l3, l3, l3, l3}, Var: make([]float64, 6)}
	for _, c := range []struct {
		name string
		got  *Matrix
		want [][]float64
	}{
		{"New rounds", New(1, 3, []float32{0.1, 2049, 1e-8}, f16), [][]float64{{0.0999755859375, 2048, 0}}},
		{"Transpose", m.Transpose(), [][]float64{{1, 4}, {2, 5}, {3, 6}}},
		{"Slice", m.Slice(1, 1, 1, 2), [][]float64{{5, 6}}},
		{"Beside", Beside(m, m.Slice(0, 0, 2, 1)), [][]float64{{1, 2, 3, 1}, {4, 5, 6, 4}}},
		{"Round", m.Round(f16), [][]float64{{1, 2, 3}, {4, 5, 6}}},
		{"Add", Add(m, m, f16), [][]float64{{2, 4, 6}, {8, 10, 12}}},
		{"Add a row", Add(m, row, f16), [][]float64{{11, 22, 33}, {14, 25, 36}}},
		{"Mul", Mul(m, m, f16), [][]float64{{1, 4, 9}, {16, 25, 36}}},
		{"Mul by a row", Mul(m, row, f16), [][]float64{{10, 40, 90}, {40, 100, 180}}},
		{"Scale", Scale(m, 0.1, f16), [][]float64{{0.0999755859375, 0.199951171875, 0.2999267578125}, {0.39990234375, 0.4998779296875, 0.599853515625}}},
		{"MatMul", MatMul(m, m.Transpose(), 1, f16), [][]float64{{14, 32}, {32, 77}}},
		{"MatMul in parts", MatMul(m, m.Transpose(), 3, f16), [][]float64{{14, 32}, {32, 77}}},
		{"GELU", Map(exactMatrix([]float64{-1, 0, 1, 2}), GELU, f32), [][]float64{{-0.15880800939172324, 0, 0.8411919906082768, 1.954597694087775}}},
		{"SiLU", Map(exactMatrix([]float64{-1, 0, 1}), SiLU, f32), [][]float64{{-0.2689414213699951, 0, 0.7310585786300049}}},
		{"RMSNorm", RMSNorm(exactMatrix([]float64{3, 4}), exactMatrix([]float64{2, 1}), 0, f32), [][]float64{{6 / math.Sqrt(12.5), 4 / math.Sqrt(12.5)}}},
		{"RMSNorm with eps", RMSNorm(exactMatrix([]float64{3, 4}), exactMatrix([]float64{2, 1}), 3.5, f32), [][]float64{{1.5, 1}}},
		{"Softmax", Softmax(logs, NoMask, f32), [][]float64{{1. / 6, 2. / 6, 3. / 6}, {1. / 3, 1. / 3, 1. / 3}}},
		{"causal Softmax", Softmax(logs, 0, f32), [][]float64{{1, 0, 0}, {0.5, 0.5, 0}}},
		{"causal Softmax with offset", Softmax(logs, 1, f32), [][]float64{{1. / 3, 2. / 3, 0}, {1. / 3, 1. / 3, 1. / 3}}},
		{"Attention", Attention(exactMatrix([]float64{0}, []float64{0}), exactMatrix([]float64{5}, []float64{6}), exactMatrix([]float64{8, 1}, []float64{2, 3}), 1, NoMask, f32, f16), [][]float64{{5, 2}, {5, 2}}},
		{"causal Attention", Attention(exactMatrix([]float64{0}, []float64{0}), exactMatrix([]float64{5}, []float64{6}), exactMatrix([]float64{8, 1}, []float64{2, 3}), 1, 0, f32, f16), [][]float64{{8, 1}, {5, 2}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := slices.Concat(c.want...)
			if c.got.Rows != len(c.want) || c.got.Cols != len(c.want[0]) {
				t.Fatalf("got %v, want %d×%d", c.got, len(c.want), len(c.want[0]))
			}
			for i, w := range want {
				if math.Abs(c.got.V[i]-w) > 1e-15*max(1, math.Abs(w)) {
					t.Errorf("element %d is %.17g, want %.17g", i, c.got.V[i], w)
				}
			}
		})
	}
}

// TestVariances checks that each operation gives the variances that were computed by hand.
// Each rounding of a number x adds x²·u²/3, where u is the unit roundoff; u16 and u32 are
// u²/3 in f16 and f32.
func TestVariances(t *testing.T) {
	u16, u32 := 0x1p-22/3, 0x1p-48/3
	one := exactMatrix([]float64{1, 2, 3})
	col := exactMatrix([]float64{4}, []float64{5}, []float64{6})
	inexact := &Matrix{Rows: 1, Cols: 3, V: one.V, Var: []float64{1, 10, 100}}
	for _, c := range []struct {
		name string
		got  *Matrix
		want []float64
	}{
		{"New", one, []float64{0, 0, 0}},
		{"Round", one.Round(f16), []float64{u16, 4 * u16, 9 * u16}},
		{"Round to subnormals", exactMatrix([]float64{0x1p-14, 0x1p-20, 0}).Round(f16), []float64{0x1p-50 / 3, 0x1p-50 / 3, 0x1p-50 / 3}},
		{"Round to bf16", one.Round(bf16), []float64{0x1p-16 / 3, 4 * 0x1p-16 / 3, 9 * 0x1p-16 / 3}},
		{"Add", Add(inexact, inexact, f16), []float64{2 + 4*u16, 20 + 16*u16, 200 + 36*u16}},
		{"Mul", Mul(one, inexact, f16), []float64{1 + u16, 40 + 16*u16, 900 + 81*u16}},
		// Terms 4, 10, 18, partial sums 4, 14, 32.
		{"MatMul in f32", MatMul(one, col, 1, f32), []float64{u32 * (16 + 100 + 324 + 16 + 196 + 1024)}},
		{"MatMul in f16", MatMul(one, col, 1, f16), []float64{u32*(16+100+324+16+196+1024) + u16*32*32}},
		// Three blocks of one term each, then 4+10 and 14+18.
		{"MatMul in 3 parts", MatMul(one, col, 3, f16), []float64{u32*2*(16+100+324) + u16*(16+100+324+14*14+32*32)}},
		{"MatMul of errors", MatMul(inexact, col, 1, f32), []float64{16 + 250 + 3600 + u32*(16+100+324+16+196+1024)}},
		{"MatMul by errors", MatMul(col.Transpose(), inexact.Transpose(), 1, f32), []float64{16 + 250 + 3600 + u32*(16+100+324+16+196+1024+1+10+100)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i, w := range c.want {
				if math.Abs(c.got.Var[i]-w) > 1e-12*w {
					t.Errorf("variance %d is %.15g, want %.15g", i, c.got.Var[i], w)
				}
			}
		})
	}
}

// TestTolerances checks that the tolerance of an element is 8 standard deviations plus the
// constant floor.
func TestTolerances(t *testing.T) {
	m := &Matrix{Rows: 1, Cols: 2, V: []float64{1, 1}, Var: []float64{0, 0.25}}
	if got, want := m.Tolerances(), []float64{0x1p-126, 4}; !slices.Equal(got, want) {
		t.Errorf("got %g, want %g", got, want)
	}
}

// TestMatMulOfAnyShape checks that MatMul equals the textbook sum over k for random shapes.
func TestMatMulOfAnyShape(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.IntRange(1, 4).Draw(t, "parts")
		m, k, n := rapid.IntRange(0, 5).Draw(t, "m"), parts*rapid.IntRange(0, 9).Draw(t, "k"), rapid.IntRange(0, 2*stripCols+1).Draw(t, "n")
		draw := func(rows, cols int) *Matrix {
			out := zeros(rows, cols)
			for i := range out.V {
				out.V[i] = float64(i*7%19 - 9)
			}
			return out
		}
		a, b := draw(m, k), draw(k, n)
		got := MatMul(a, b, parts, f16)
		for i := range m {
			for j := range n {
				want := 0.0
				for l := range k {
					want += a.V[i*k+l] * b.V[l*n+j]
				}
				if got.V[i*n+j] != want {
					t.Fatalf("element (%d, %d) of %v·%v is %g, want %g", i, j, a, b, got.V[i*n+j], want)
				}
			}
		}
	})
}

// TestMisuse checks that operands whose shapes do not fit, and other invalid arguments,
// make the operation panic with a message that names them.
func TestMisuse(t *testing.T) {
	a, b, row := zeros(2, 3), zeros(4, 5), zeros(1, 4)
	for want, call := range map[string]func(){
		"New of 2×2 with 3 values":                          func() { New(2, 2, make([]float32, 3), f16) },
		"no reference for i32: use f16, bf16 or f32":        func() { New(1, 1, make([]float32, 1), numeric.I32) },
		"MatMul of 2×3 and 4×5: columns of the first":       func() { MatMul(a, b, 1, f16) },
		"MatMul of 2×3 and 3×2: 2 parts do not divide":      func() { MatMul(a, a.Transpose(), 2, f16) },
		"Add of 2×3 and 4×5":                                func() { Add(a, b, f16) },
		"Mul of 2×3 and 1×4":                                func() { Mul(a, row, f16) },
		"Slice of 2×3 at (1, 0) from 2×3":                   func() { a.Slice(1, 0, 2, 3) },
		"Beside of 2×3 and 4×5: rows differ":                func() { Beside(a, b) },
		"Beside of no matrices":                             func() { Beside() },
		"RMSNorm of 2×3 with gain of 1×4":                   func() { RMSNorm(a, row, 0, f16) },
		"Softmax of 2×3 with offset -1: row 0 would see no": func() { Softmax(a, -1, f16) },
	} {
		t.Run(want, func(t *testing.T) {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "dense: "+want) {
					t.Errorf("panic %q, want %q", got, "dense: "+want)
				}
			}()
			call()
		})
	}
}
