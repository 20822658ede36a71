package torch_test

import (
	"testing"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// setKernel returns a kernel that sets all elements of x to v after a delay. It writes
// through the pieces of x.Copies, so x is not an argument of the kernel.
func setKernel(x *torch.Tensor, v float64) func(t *tl.PE) {
	n := x.Numel()
	to := x.Copies(0, 0, 1, n)
	return func(t *tl.PE) {
		for range 100 {
			t.Full(tl.Shape{64, 64}, tl.F32, 0)
		}
		for _, p := range to {
			t.Store(p.Ptr, t.Full(tl.Shape{1, n}, tl.F32, v))
		}
	}
}

// TestReadsWaitForLaunchesUsingATensor checks that a read of a tensor waits for a launch
// that names the tensor with Using.
func TestReadsWaitForLaunchesUsingATensor(t *testing.T) {
	l := hostedtest.New(t, hostedtest.Options(t, 3))
	x := l.Ints(lists.Count(0, 8), torch.F32, torch.OnEach(5, 9))
	before := l.Now()
	k := torch.Must(l.Launch("set", setKernel(x, 7), torch.PEs(0), torch.Using(x)))
	l.Holds("x", x, hostedtest.Fill(7, 8))
	if end := k.Start() + k.Crit(); l.Now() < end || end <= before {
		t.Errorf("the read ends at %v, want at %v or later", l.Now(), end)
	}
	if err := l.Check("x", x, hostedtest.Fill(7, 8)); err != nil || !l.Checks().OK() {
		t.Errorf("error %v, checks %+v", err, l.Checks())
	}
}

// TestFreedTensorStaysWhileUsed checks that a tensor that is freed while a launch uses it
// keeps its memory until the launch has ended, and that new tensors get other memory. Using
// must refuse a tensor that is freed or nil.
func TestFreedTensorStaysWhileUsed(t *testing.T) {
	l := hostedtest.New(t, hostedtest.Options(t, 3))
	x := l.Ints(lists.Count(0, 8), torch.F32, torch.On(5))
	at := x.Copies(0, 0, 1, 8)[0].Ptr.Addr
	torch.Must(l.Launch("set", setKernel(x, 7), torch.PEs(0), torch.Using(x)))
	if err := x.Free(); err != nil {
		t.Fatal(err)
	}
	y := l.MustZeros(torch.F32, torch.On(5), 8)
	if err := l.Synchronize(); err != nil {
		t.Fatal(err)
	}
	l.Holds("y", y, hostedtest.Fill(0, 8))
	for what, using := range map[string]*torch.Tensor{
		"torch: Launch: tensor 1 [8] f32 has been freed": x,
		"torch: Launch: a nil tensor":                    nil,
	} {
		err := hostedtest.Misuse(func() { l.Launch("gone", func(*tl.PE) {}, torch.PEs(0), torch.Using(using)) })
		if err == nil || err.Error() != what {
			t.Errorf("got  %v\nwant %s", err, what)
		}
	}
	late := func(t *tl.PE) { t.Load(tl.Ptr{Addr: at, DType: tl.F32, Rank: 1}, tl.Shape{1}, tl.F32) }
	if err := try(l, "late", late, torch.PEs(0)); err == nil {
		t.Error("what was freed can still be read after the end of the launch")
	}
}
