package tp

import (
	"fmt"
	"testing"

	"github.com/kernbench/kernbench/torch"
)

// TestColumnParallelGathersRows checks the result of a column-parallel layer with
// SequenceParallel. Inputs have several placements, some of them ragged.
func TestColumnParallelGathersRows(t *testing.T) {
	const rows, in, out, ranks = 10, 6, 8, 2
	x, w := integers(rows*in, 5), integers(in*out, 3)
	want := multiply(x, w, nil, rows, in, out)
	r := newSystem(t, ranks)
	spawn(t, r, ranks, ranks, func(r *torch.Rank) error {
		rank := r.Rank()
		l := torch.Must(NewColumnParallelLinear(r, "up", in, out, Options{DType: torch.F32, SequenceParallel: true}))
		torch.OK(l.Load(w, nil))
		for _, cube := range []torch.Split{torch.Replicate, torch.ColumnWise, torch.RowWise} {
			for _, pe := range []torch.Split{torch.Replicate, torch.ColumnWise, torch.RowWise} {
				on := torch.DPPolicy{Cube: cube, PE: pe}
				own := x[rank*len(x)/ranks : (rank+1)*len(x)/ranks]
				y, _, err := l.Forward(torch.Must(r.FromSlice(own, torch.F32, torch.Shape{rows / ranks, in}, on)))
				torch.OK(err)
				torch.OK(r.Check(fmt.Sprintf("%v, rank %d", on, rank), y, boxElements(want, out, 0, rank*out/ranks, rows, out/ranks)))
			}
		}
		return nil
	})
	requireChecks(t, r)
}
