package torch_test

import (
	"testing"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// TestDataOfShards checks that Data returns the bytes that the PE of a shard holds. Data
// neither gathers shards nor sums addends.
func TestDataOfShards(t *testing.T) {
	l := hostedtest.New(t, hostedtest.Options(t, 3))
	x := l.Ints(lists.Count(0, 15), torch.I32, torch.DPPolicy{Cube: torch.Partial, PE: torch.ColumnWise, NumPEs: 2}, 3, 5)
	l.MustLaunch("own", func(t *tl.PE, x tl.Ptr) {
		if t.Rank() >= 2 { // PEs of the second addend
			t.Store(x, t.Full(tl.Shape{3, x.Dim(1)}, tl.I32, float64(t.Rank())))
		}
	}, x)
	for i, want := range []struct {
		shape  string
		values []int
	}{
		{"[3 3]", []int{0, 1, 2, 5, 6, 7, 10, 11, 12}},
		{"[3 2]", []int{3, 4, 8, 9, 13, 14}},
		{"[3 3]", hostedtest.Fill(2, 9)},
		{"[3 2]", hostedtest.Fill(3, 6)},
	} {
		a := torch.Must(x.Data(i))
		if a.Shape.String() != want.shape || a.DType != torch.I32 || a.Wrong(want.values) >= 0 {
			t.Errorf("shard %d is %v %v, want %s %v", i, a.Shape, a, want.shape, want.values)
		}
	}
	ragged := l.Ints(lists.Count(0, 5), torch.F32, torch.On(0, 1, 2, 3))
	if a := torch.Must(ragged.Data(3)); a.Shape.String() != "[0]" || a.Len() != 0 {
		t.Errorf("an empty shard is %v %v", a.Shape, a)
	}
	scalar := l.MustZeros(torch.F32, torch.OnEach(0, 3), []int{}...)
	torch.OK(scalar.CopyFrom([]int{6}))
	if a := torch.Must(scalar.Data(1)); a.Shape.String() != "[]" || a.At(0) != 6 {
		t.Errorf("a scalar is %v %v", a.Shape, a)
	}
	hostedtest.Says(t, "no shard", hostedtest.Misuse(func() { x.Data(4) }), "torch: Data: no shard 4: tensor 1 [3 5] i32 has 0 to 3")
	hostedtest.Says(t, "no shard", hostedtest.Misuse(func() { x.Data(-1) }), "torch: Data: no shard -1: tensor 1 [3 5] i32 has 0 to 3")
	torch.OK(ragged.Free())
	hostedtest.Says(t, "freed", hostedtest.Misuse(func() { ragged.Data(0) }), "torch: Data: tensor 2 [5] f32 has been freed")
}

// TestDataWaits checks that Data waits for the last write, that its copy takes simulated
// time, and that it returns an error in the same cases as Numpy.
func TestDataWaits(t *testing.T) {
	l := hostedtest.New(t, hostedtest.Options(t, 3))
	x := l.Ints(lists.Count(0, 8), torch.F32, torch.OnEach(5, 9))
	k := torch.Must(l.Launch("set", setKernel(x, 7), torch.PEs(0), torch.Using(x)))
	a := torch.Must(x.Data(1))
	if a.Wrong(hostedtest.Fill(7, 8)) >= 0 || l.Now() <= k.Start()+k.Crit() {
		t.Errorf("%v at %v, and the launch ends at %v", a, l.Now(), k.Start()+k.Crit())
	}
	before := l.Now()
	torch.Must(x.Data(0))
	one := l.Now() - before
	torch.Must(x.Numpy()) // reads the first copy, with the same number of bytes
	if two := l.Now() - before; one <= 0 || two != 2*one {
		t.Errorf("Data takes %v, Data and Numpy %v, want twice as much", one, two)
	}
	torch.OK(dist.InitProcessGroup(l.Rank, "ahbm"))
	y := l.MustZeros(torch.F32, torch.On(dist.PEs(l.Rank)...), 24)
	w := torch.Must(dist.AllReduceAsync(l.Rank, y, dist.SUM))
	_, err := y.Data(3)
	hostedtest.Says(t, "async", err, "Data of tensor 2 [24] f32: all_reduce 1 of the default group, which writes it, has not been waited for: call Wait of its Work first")
	torch.OK(w.Wait())
	torch.Must(y.Data(3))

	off := hostedtest.New(t, torch.Options{NoData: true})
	_, err = off.MustZeros(torch.F32, nil, 3).Data(0)
	hostedtest.Says(t, "without values", err, "tensor 1 [3] f32 has no values: this run was made without data")
}
