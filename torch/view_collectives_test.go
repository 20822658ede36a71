package torch_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// TestAllReduceOfAnyView checks that an all-reduce of a random slice without gaps changes
// only the elements of the slice.
func TestAllReduceOfAnyView(t *testing.T) {
	const ranks = 3
	options := hostedtest.Options(t, ranks)
	split := rapid.SampledFrom([]torch.Split{torch.Replicate, torch.ColumnWise, torch.RowWise})
	reduced := 0
	rapid.Check(t, func(r *rapid.T) {
		l := hostedtest.New(t, options)
		defer l.Close()
		shape := make(torch.Shape, rapid.IntRange(1, 3).Draw(r, "axes"))
		for axis := range shape {
			shape[axis] = rapid.IntRange(1, 6).Draw(r, "extent")
		}
		n := elems(shape)
		on := torch.DPPolicy{Cube: split.Draw(r, "Cube"), PE: split.Draw(r, "PE"), NumCubes: rapid.IntRange(1, 2).Draw(r, "NumCubes"), NumPEs: rapid.IntRange(1, 3).Draw(r, "NumPEs")}
		dim := rapid.IntRange(0, len(shape)-1).Draw(r, "dim")
		start := rapid.IntRange(0, shape[dim]).Draw(r, "start")
		length := rapid.IntRange(0, shape[dim]-start).Draw(r, "length")
		whole := viewModel{indices: lists.Count(0, n), shape: shape}
		part := whole.selectRange(dim, start, length)
		err := l.Spawn(func(r *torch.Rank) error {
			rank := r.Rank()
			torch.OK(dist.InitProcessGroup(r, "ahbm"))
			x := torch.Must(r.FromSlice(lists.Count(1000*rank, n), torch.I32, shape, on))
			y := x.Narrow(dim, start, length)
			if !y.IsContiguous() {
				return nil
			}
			reduced++
			torch.OK(dist.AllReduce(r, y, dist.SUM))
			want := lists.Count(1000*rank, n)
			for _, e := range part {
				want[e] = 1000*ranks*(ranks-1)/2 + ranks*e
			}
			return r.Check(fmt.Sprint("rank ", rank), x, want)
		}, ranks)
		if err != nil || !l.Checks().OK() {
			r.Fatalf("%v on %v, %d from %d on of axis %d: error %v, checks %+v", shape, on, length, start, dim, err, l.Checks())
		}
	})
	if reduced == 0 {
		t.Error("no view was reduced")
	}
}
