package tp

import (
	"fmt"
	"testing"

	"github.com/kernbench/kernbench/torch"
)

// TestTightTCM checks that products of matrices of many shapes are exact with a tiny TCM.
// In some of the cases the rows of x nearly fill their half of TCM, and the tiles of the
// blocks must fit in the rest.
func TestTightTCM(t *testing.T) {
	alone := torch.DPPolicy{NumCubes: 1, NumPEs: 1}
	for _, c := range []struct{ m, k, n int }{
		{8, 1536, 600}, {16, 768, 600}, {32, 384, 600}, {64, 192, 600}, {128, 96, 600}, {384, 32, 600},
		{128, 200, 512}, {16, 512, 512}, {128, 512, 16}, {300, 300, 30}, {1, 3000, 520},
	} {
		r := newSystem(t, 1, tinyTCM...)
		x, w := integers(c.m*c.k, 3), integers(c.k*c.n, 5)
		blocks := func(values []float32, rows, cols int) blockMatrix {
			return stack{torch.Must(r.FromSlice(values, torch.F32, torch.Shape{rows, cols}, alone))}.blocks()
		}
		for _, p := range []product{
			{x: blocks(x, c.m, c.k).factor(), w: blocks(w, c.k, c.n).factor()},
			{x: blocks(transposed(x, c.m, c.k), c.k, c.m).transpose(), w: blocks(transposed(w, c.k, c.n), c.n, c.k).transpose(), addToY: true},
		} {
			y := torch.Must(r.Zeros(torch.F32, torch.Shape{c.m, c.n}, alone))
			p.y = stack{y}.blocks()
			torch.OK(p.launch(r, "product", alone))
			torch.OK(r.Check(fmt.Sprintf("%+v, transposed %t", c, p.x.transposed), y, multiply(x, w, nil, c.m, c.k, c.n)))
		}
		requireChecks(t, r)
	}
}
