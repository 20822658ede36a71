package procpe

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/tl"
)

// waves returns the initial value of element i at a rank. The values have both signs and
// must be rounded in every dtype.
func waves(rank, i int) float64 { return 3 * math.Sin(float64(7*i+rank+1)) }

// small returns the initial value of element i at a rank, an integer from -5 to 5.
func small(rank, i int) float64 { return float64((i*5+rank)%11) - 5 }

// TestKernels runs kernels with many kinds of operations on one rank. It checks that their
// results have the same bits as on the simulated machine.
func TestKernels(t *testing.T) {
	mat := func(d tl.DType, rows, cols int) *array {
		return &array{dtype: d, shape: tl.Shape{rows, cols}, init: waves, private: rows%2 == 0}
	}
	for _, c := range []struct {
		name   string
		kernel any
		args   []any
	}{
		{"elementwise", func(t *tl.PE, x, y, z tl.Ptr) {
			s := tl.Shape{5, 9}
			a, b := t.Load(x, s, tl.F16), t.Load(y, s, tl.F16)
			t.Store(z, a.Add(b).Mul(a).Sub(0.3).Div(b.Abs().Add(1)).Maximum(b.Minimum(0.5)).FMA(a, b).Exp().Log().Neg().Sigmoid().Tanh())
		}, []any{mat(tl.F16, 5, 9), mat(tl.F16, 5, 9), mat(tl.F16, 5, 9)}},
		{"numbers first", func(t *tl.PE, x, z tl.Ptr) {
			a := t.Load(x, tl.Shape{5, 9}, tl.BF16)
			t.Store(z, t.Div(1, t.Sub(7, a)).Clamp(0.1, 0.2).Sqrt().Add(a.Abs().Add(1).Rsqrt()))
		}, []any{mat(tl.BF16, 5, 9), mat(tl.BF16, 5, 9)}},
		{"broadcast", func(t *tl.PE, x, y, z tl.Ptr) {
			row, col := t.Load(x, tl.Shape{9}, tl.F32), t.Load(y, tl.Shape{6, 1}, tl.F32)
			one := t.Load(x, tl.Shape{1}, tl.F32)
			t.Store(z, row.Mul(col).Add(one).Add(row.Broadcast(tl.Shape{6, 9})))
		}, []any{mat(tl.F32, 1, 9), mat(tl.F32, 6, 1), mat(tl.F32, 6, 9)}},
		{"where", func(t *tl.PE, x, y, z tl.Ptr) {
			s := tl.Shape{4, 7}
			a, b := t.Load(x, s, tl.F64), t.Load(y, s, tl.F64)
			t.Store(z, t.Where(a.Lt(b), a, t.Where(a.Ge(1), b, -1)))
		}, []any{mat(tl.F64, 4, 7), mat(tl.F64, 4, 7), mat(tl.F64, 4, 7)}},
		{"comparison of a tile without axes", func(t *tl.PE, x, z tl.Ptr) {
			a := t.Load(x, tl.Shape{8}, tl.F32)
			t.Store(z, a.Gt(a.Sum(0)))
		}, []any{&array{dtype: tl.F32, shape: tl.Shape{8}, init: waves}, &array{dtype: tl.U8, shape: tl.Shape{8}}}},
		{"integers", func(t *tl.PE, x, z tl.Ptr) {
			a := t.Load(x, tl.Shape{64}, tl.I16)
			t.Store(z, a.And(12).Or(a.Xor(5)).Mul(a).Div(3))
		}, []any{&array{dtype: tl.I16, shape: tl.Shape{64}, init: small}, &array{dtype: tl.I16, shape: tl.Shape{64}}}},
		{"dot", func(t *tl.PE, x, y, z tl.Ptr) {
			acc := t.Zeros(tl.Shape{6, 10}, tl.F32)
			for k := 0; k < 32; k += 16 {
				acc = t.Load(x.At(0, k), tl.Shape{6, 16}, tl.F16).Dot(t.Load(y.At(k), tl.Shape{16, 10}, tl.F16), acc)
			}
			t.Store(z, acc)
		}, []any{mat(tl.F16, 6, 32), mat(tl.F16, 32, 10), mat(tl.F32, 6, 10)}},
		{"softmax", func(t *tl.PE, x, z tl.Ptr) {
			t.Store(z, t.Load(x, tl.Shape{5, 33}, tl.F16).Softmax())
		}, []any{mat(tl.F16, 5, 33), mat(tl.F16, 5, 33)}},
		{"reductions", func(t *tl.PE, x, z tl.Ptr) {
			a := t.Load(x, tl.Shape{5, 9}, tl.F16)
			t.Store(z, a.Sum(0))
			t.Store(z.At(1), a.Max(0))
			t.Store(z.At(2, 2), a.Min(1))
			t.Store(z.At(3, 3), a.Sum(1).Sum(0))
			t.Store(z.At(4, 4), t.Zeros(tl.Shape{2, 0}, tl.F16).Sum(1))
		}, []any{mat(tl.F16, 5, 9), mat(tl.F16, 5, 9)}},
		{"cast, trans, reshape, arange", func(t *tl.PE, x, z tl.Ptr) {
			a := t.Load(x, tl.Shape{4, 6}, tl.F32)
			b := a.Trans().Reshape(24).Add(t.Arange(24, tl.F32)).To(tl.I8).To(tl.F16)
			t.Store(z.Strided(1), b)
		}, []any{mat(tl.F32, 4, 6), mat(tl.F16, 4, 6)}},
		{"masks", func(t *tl.PE, x, z tl.Ptr) {
			a := t.Load(x.At(1, 2), tl.Shape{3, 4}, tl.F32, tl.Mask(2, 3), tl.Other(math.Inf(-1)))
			t.Store(z, a)
			t.Store(z.At(3), a.Max(1), tl.Mask(2))
			t.Store(z.At(4), t.Load(x.At(99), tl.Shape{4}, tl.F32, tl.Mask(0), tl.Other(7)))
			t.Store(z.At(77), t.Zeros(tl.Shape{3, 4}, tl.F32), tl.Mask(-1, 4))
		}, []any{mat(tl.F32, 5, 6), mat(tl.F32, 5, 4)}},
		{"strides", func(t *tl.PE, x, z tl.Ptr) {
			column := t.Load(x.At(0, 3).Strided(8), tl.Shape{6}, tl.F32)
			upwards := t.Load(x.At(0, 1).Strided(1, 8), tl.Shape{6, 5}, tl.F32)
			deep := t.Load(x.Strided(24, 4, 8, 1), tl.Shape{2, 2, 3, 4}, tl.F32, tl.Mask(2, 1, 3, 2))
			t.Store(z.Strided(8), column)
			t.Store(z.At(1, 1), upwards, tl.Mask(5, 4))
			t.Store(z.At(5, 2).Strided(1), deep.Sum(0).Sum(0).Sum(0))
		}, []any{mat(tl.F32, 6, 8), mat(tl.F32, 6, 8)}},
		{"other dtype", func(t *tl.PE, x, z tl.Ptr) {
			t.Store(z.As(tl.U8), t.Load(x.As(tl.U8), tl.Shape{3, 16}, tl.U8).Xor(128))
		}, []any{mat(tl.F32, 3, 4), mat(tl.F32, 3, 4)}},
		{"scratch", func(t *tl.PE, x, z tl.Ptr) {
			p, q := t.Scratch(tl.Shape{4, 8}, tl.F32), t.Scratch(tl.Shape{8}, tl.F32)
			t.Store(p.At(1, 2), t.Load(x, tl.Shape{2, 3}, tl.F32))
			t.Store(q, t.Load(p.At(2), tl.Shape{8}, tl.F32))
			t.Store(z, t.Load(p, tl.Shape{4, 8}, tl.F32).Add(t.Load(q, tl.Shape{8}, tl.F32)))
		}, []any{mat(tl.F32, 3, 3), mat(tl.F32, 4, 8)}},
		{"gemm with an epilogue", func(t *tl.PE, x, y, b, z tl.Ptr) {
			bias := t.Load(b, tl.Shape{40}, tl.F16)
			t.Wait(t.Composite(tl.Gemm(t.Ref(x, tl.Shape{35, 70}, tl.F16), t.Ref(y.At(0, 3), tl.Shape{70, 40}, tl.F16), z),
				tl.Do(tl.OpMul, 0.25), tl.Do(tl.OpAdd, bias), tl.Do(tl.OpMaximum, t.Ref(b.At(0, 1), tl.Shape{40}, tl.F16)), tl.Do(tl.OpTanh)))
		}, []any{mat(tl.F16, 35, 70), mat(tl.F16, 70, 45), mat(tl.F16, 1, 41), mat(tl.F16, 35, 40)}},
		{"stream in place", func(t *tl.PE, x, y tl.Ptr) {
			s := tl.Shape{20, 30}
			t.Composite(tl.Stream(tl.OpFMA, x, t.Ref(x, s, tl.BF16), t.Ref(y, tl.Shape{30}, tl.BF16), 0.5), tl.Do(tl.OpExp))
			t.Wait(t.Composite(tl.Stream(tl.OpWhere, y.At(0), t.Load(y, tl.Shape{30}, tl.BF16).Gt(0), t.Ref(x, tl.Shape{30}, tl.BF16), -2)))
		}, []any{mat(tl.BF16, 20, 30), mat(tl.BF16, 2, 30)}},
		{"branch on values", func(t *tl.PE, x, z tl.Ptr) {
			a := t.Load(x, tl.Shape{16}, tl.F32)
			for i, v := range a.Values() {
				if v > a.Sum(0).Div(16).Item() {
					t.Store(z.At(i), t.Full(tl.Shape{1}, tl.F32, v))
				}
			}
		}, []any{&array{dtype: tl.F32, shape: tl.Shape{16}, init: waves}, &array{dtype: tl.F32, shape: tl.Shape{16}}}},
	} {
		t.Run(c.name, func(t *testing.T) { checkSame(t, 1, 1, setup{}, c.kernel, c.args...) })
	}
}

// TestRandomExpressions runs random chains of operations on tiles of random dtype, shape
// and mask. It checks that the results have the same bits as on the simulated machine.
func TestRandomExpressions(t *testing.T) {
	unary := []func(tl.Tile) tl.Tile{tl.Tile.Neg, tl.Tile.Abs, tl.Tile.Trans, func(x tl.Tile) tl.Tile { return x.Max(1).Reshape(x.Dim(0), 1) }, func(x tl.Tile) tl.Tile { return x.Sum(0) }}
	binary := []func(x tl.Tile, y any) tl.Tile{tl.Tile.Add, tl.Tile.Sub, tl.Tile.Mul, tl.Tile.Maximum, tl.Tile.Minimum}
	drawn := 0
	rapid.Check(t, func(rt *rapid.T) {
		d := rapid.SampledFrom([]tl.DType{tl.F16, tl.BF16, tl.F32, tl.F64, tl.I8, tl.I32, tl.U16, tl.I64}).Draw(rt, "dtype")
		n := rapid.IntRange(1, 7).Draw(rt, "n")
		valid := []int{rapid.IntRange(0, n).Draw(rt, "rows"), rapid.IntRange(1, n).Draw(rt, "cols")}
		steps := rapid.SliceOfN(rapid.IntRange(0, len(unary)+len(binary)-1), 1, 6).Draw(rt, "steps")
		kernel := func(t *tl.PE, x, z tl.Ptr) {
			s := tl.Shape{n, n}
			first := t.Load(x, s, d, tl.Mask(valid...), tl.Other(3))
			y := first
			for _, i := range steps {
				if i < len(unary) {
					y = unary[i](y).Broadcast(s)
				} else {
					y = binary[i-len(unary)](y, first)
				}
			}
			t.Store(z, y, tl.Mask(n, valid[1]))
		}
		shape := tl.Shape{n, n}
		drawn++
		t.Run(fmt.Sprint(drawn), func(t *testing.T) {
			checkSame(t, 1, 1, setup{}, kernel, &array{dtype: d, shape: shape, init: small}, &array{dtype: d, shape: shape, private: true})
		})
	})
}

// TestEndOfLaunch checks that a scratch buffer is zero at the start of a launch, although
// the previous launch wrote to its own scratch buffer.
func TestEndOfLaunch(t *testing.T) {
	out := runOnRanks(t, 1, 3, setup{}, func(t *tl.PE, x tl.Ptr) {
		p := t.Scratch(tl.Shape{4}, tl.I32)
		t.Store(x, t.Load(x, tl.Shape{4}, tl.I32).Add(t.Load(p, tl.Shape{4}, tl.I32)).Add(1))
		t.Store(p, t.Full(tl.Shape{4}, tl.I32, 1000))
	}, &array{dtype: tl.I32, shape: tl.Shape{4}})
	for i := range 4 {
		if got := numeric.Get(tl.I32, out[0][0], i); got != 3 {
			t.Errorf("element %d is %v after three launches, want 3", i, got)
		}
	}
}
