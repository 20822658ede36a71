package tp

import (
	"fmt"
	"math"
	"testing"

	"github.com/kernbench/kernbench/internal/dense"
	"github.com/kernbench/kernbench/torch"
)

var floatTypes = []torch.DType{torch.F16, torch.BF16, torch.F32}

// TestElementwise compares GELU and sums of ragged matrices with the dense reference. It
// checks several placements, and every copy of the result.
func TestElementwise(t *testing.T) {
	r := newSystem(t, 1)
	other := torch.DPPolicy{Cube: torch.RowWise, PE: torch.ColumnWise}
	for _, dtype := range floatTypes {
		for _, shape := range []torch.Shape{{1, 1}, {5, 13}, {3, 70}} {
			x, y := gaussian(shape[0]*shape[1], 4, 1), gaussian(shape[0]*shape[1], 4, 2)
			a, b := dense.New(shape[0], shape[1], x, dtype), dense.New(shape[0], shape[1], y, dtype)
			for _, on := range []torch.DPPolicy{Spread, {}, other, {PE: torch.RowWise, NumCubes: 1}} {
				name := fmt.Sprintf("of %v %v, %v", dtype, shape, on)
				in := torch.Must(r.FromSlice(x, dtype, shape, on))
				gelu := dense.Map(a, dense.GELU, torch.F32).Round(dtype)
				torch.OK(r.CheckWithin("GELU "+name, torch.Must(GELU(r, "GELU", in)), gelu.V, gelu.Tolerances()))
				sum := dense.Add(a, b, dtype)
				torch.OK(r.CheckWithin("sum "+name, torch.Must(Add(r, "Add", in, torch.Must(r.FromSlice(y, dtype, shape, other)))), sum.V, sum.Tolerances()))
				torch.OK(r.Check("x afterwards "+name, in, x))
			}
		}
	}
	requireChecks(t, r)
}

// TestGated checks that a gated layer followed by SwiGLU uses the first half of the columns
// as gates of the second half, for several placements of the weight. Each rank must have
// its part of the result in the order of the columns.
func TestGated(t *testing.T) {
	const rows, in, out = 10, 12, 32
	x, w, bias := gaussian(rows*in, 1, 1), gaussian(in*2*out, 1/math.Sqrt(in), 2), gaussian(2*out, 1, 3)
	for _, ranks := range []int{1, 2, 4} {
		r := newSystem(t, ranks)
		spawn(t, r, ranks, ranks, func(r *torch.Rank) error {
			rank := r.Rank()
			for _, dtype := range floatTypes {
				toDense := func(rows, cols int, data []float32) *dense.Matrix { return dense.New(rows, cols, data, dtype) }
				h := dense.Add(dense.MatMul(toDense(rows, in, x), toDense(in, 2*out, w), 1, torch.F32), toDense(1, 2*out, bias), torch.F32).Round(dtype)
				gate := dense.Map(h.Slice(0, 0, rows, out), dense.SiLU, torch.F32)
				want := dense.Mul(gate, h.Slice(0, out, rows, out), torch.F32).Round(dtype).Slice(0, rank*out/ranks, rows, out/ranks)
				for _, on := range []torch.DPPolicy{
					Spread, ByTokens, {Cube: torch.ColumnWise, PE: torch.ColumnWise}, {Cube: torch.RowWise, PE: torch.RowWise},
					{Cube: torch.ColumnWise, PE: torch.ColumnWise, NumCubes: 1}, {Cube: torch.RowWise, PE: torch.ColumnWise, NumPEs: 1},
				} {
					for _, sequence := range []bool{false, true} {
						if sequence && rows%ranks != 0 {
							continue
						}
						o := Options{DType: dtype, Bias: true, Gated: true, SequenceParallel: sequence, Weight: &on}
						if dtype == torch.F32 {
							o.Output = &torch.DPPolicy{PE: torch.RowWise} // not where it is computed
						}
						l := torch.Must(NewColumnParallelLinear(r, "up", in, 2*out, o))
						torch.OK(l.Load(w, bias))
						first, n := 0, rows
						if sequence {
							first, n = rank*rows/ranks, rows/ranks
						}
						up, _, err := l.Forward(torch.Must(r.FromSlice(x[first*in:(first+n)*in], dtype, torch.Shape{n, in}, Activations(on))))
						torch.OK(err)
						y := torch.Must(SwiGLU("SwiGLU", l, up))
						name := fmt.Sprintf("%v, %v, tp %d, sequence %t, rank %d", dtype, on, ranks, sequence, rank)
						torch.OK(r.CheckWithin(name, y, want.V, want.Tolerances()))
					}
				}
			}
			return nil
		})
		requireChecks(t, r)
	}
}
