package tp

import (
	"fmt"
	"testing"

	"github.com/kernbench/kernbench/torch"
)

// TestLayersOnViews checks that layers give the same results for a view of a part of a
// tensor as for a copy of that part. The rows of the view may have gaps between them.
func TestLayersOnViews(t *testing.T) {
	const rows, cols = 5, 12
	r := newSystem(t, 2)
	spawn(t, r, 2, 1, func(r *torch.Rank) error {
		up := torch.Must(NewColumnParallelLinear(r, "up", cols, 8, Options{DType: torch.F32, Bias: true}))
		torch.OK(up.Load(normal(cols*8, 1, 0), normal(8, 2, 0)))
		norm := torch.Must(NewRMSNorm(r, "norm", cols, 1e-3, Options{DType: torch.F32}))
		for _, on := range []torch.DPPolicy{Spread, ByTokens, {Cube: torch.RowWise, PE: torch.ColumnWise}, {NumCubes: 1, NumPEs: 1}} {
			wide := torch.Must(r.FromSlice(normal((rows+3)*(cols+7), uint64(r.Rank()), 10), torch.F32, torch.Shape{rows + 3, cols + 7}, on))
			x := wide.Narrow(0, 2, rows).Narrow(1, 3, cols)
			same := torch.Must(x.Clone())
			for i, f := range []func(x *torch.Tensor) (*torch.Tensor, error){
				func(x *torch.Tensor) (*torch.Tensor, error) {
					y, _, err := up.Forward(x)
					return y, err
				},
				norm.Forward,
				func(x *torch.Tensor) (*torch.Tensor, error) { return GELU(r, "gelu", x) },
			} {
				y, want := torch.Must(f(x)), torch.Must(f(same))
				torch.OK(r.Check(fmt.Sprintf("layer %d on %v", i, on), y, torch.Must(want.Numpy())))
			}
		}
		return nil
	})
	requireChecks(t, r)
}
