package torch_test

import (
	"errors"
	"testing"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// TestRankUsedByOtherCode checks that the code of a rank cannot use the *torch.Rank or the
// tensors of another rank or of the program.
func TestRankUsedByOtherCode(t *testing.T) {
	l := hostedtest.New(t, torch.Options{Topology: hostedtest.System(t, "ring6", "system.sips.count=2")})
	own := hostedtest.Full(l.Rank, 7, 1)
	var first *torch.Rank
	var x *torch.Tensor
	const fix = ": use the *torch.Rank that this code was given, and its own tensors"
	for text, misused := range map[string]func(r *torch.Rank){
		"torch: Zeros: called by the code of rank 1 for rank 0" + fix:            func(*torch.Rank) { first.Zeros(torch.F32, torch.Shape{1}) },
		"torch: Synchronize: called by the code of rank 1 for the program" + fix: func(r *torch.Rank) { r.Main().Synchronize() },
		"torch: Numpy: called by the code of rank 1 for rank 0" + fix:            func(*torch.Rank) { x.Numpy() },
		"torch: CopyFrom: called by the code of rank 1 for the program" + fix:    func(*torch.Rank) { own.CopyFrom([]int{1}) },
		"torch: all_reduce: called by the code of rank 1 for rank 0" + fix:       func(*torch.Rank) { dist.AllReduce(first, x, dist.SUM) },
	} {
		err := l.Spawn(func(r *torch.Rank) error {
			if r.Rank() == 0 {
				first, x = r, hostedtest.Full(r, 3, 1)
				return r.Synchronize()
			}
			misused(r)
			return nil
		}, 2)
		if wrong := new(torch.Error); !errors.As(err, &wrong) || wrong.Error() != text {
			t.Errorf("got %v, want %s", err, text)
		}
	}
}

// TestTensorsOfOtherRanks checks that a rank can launch a kernel on a tensor of the program
// and check its values, and that after Spawn the tensors of the ranks belong to the
// program.
func TestTensorsOfOtherRanks(t *testing.T) {
	l := hostedtest.New(t, torch.Options{Topology: hostedtest.System(t, "ring6", "system.sips.count=2")})
	own := hostedtest.Full(l.Rank, 7, 1)
	var x *torch.Tensor
	err := l.Spawn(func(r *torch.Rank) error {
		if r.Rank() == 0 {
			x = hostedtest.Full(r, 3, 1)
			return r.Synchronize()
		}
		torch.Must(r.Launch("double", func(t *tl.PE, x tl.Ptr) {
			t.Store(x, t.Load(x, tl.Shape{1}, tl.F32).Mul(2))
		}, own))
		torch.OK(r.Check("the program's", own, []int{14}))
		return r.Synchronize()
	}, 2)
	if err != nil {
		t.Fatal(err)
	}
	if got := torch.Must(x.At(0)); got != 3 || x.Rank() != l.Main() || !l.Checks().OK() || len(l.Checks()) != 1 {
		t.Errorf("x is %v of %v, checks %+v", got, x.Rank(), l.Checks())
	}
}
