package torch_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// TestMisuseSaysWhatIsWrong checks the texts of the errors for wrong calls of the API.
func TestMisuseSaysWhatIsWrong(t *testing.T) {
	l := hostedtest.New(t, torch.Options{})
	x := l.MustZeros(torch.F32, torch.On(0), 4)
	for want, f := range map[string]func(){
		"torch: Zeros: PE 0 holds the tensor twice":                                                          func() { l.Zeros(torch.F32, torch.Shape{4}, torch.On(0, 0)) },
		"torch: Zeros: shape [4294967296 4294967296] has more than 2^48 elements":                            func() { l.Zeros(torch.F32, torch.Shape{1 << 32, 1 << 32}) },
		"torch: Zeros: no such dtype: use torch.F16 to torch.U64":                                            func() { l.Zeros(99, torch.Shape{4}) },
		"torch: PE: no SIP 9, cube 9, PE 9: the system has 2, 16 and 8":                                      func() { l.PE(9, 9, 9) },
		"torch: Engines: PE 9999 of a system that has 0 to 255":                                              func() { l.Engines(9999) },
		"torch: Buffers: no memory \"dram\": use one of [tcm sram hbm]":                                      func() { torch.Buffers("dram") },
		"torch: Launch: k: the kernel is nil":                                                                func() { l.Launch("k", nil, x) },
		"torch: Shape: a nil tensor":                                                                         func() { (*torch.Tensor)(nil).Shape() },
		"torch: DType: a nil tensor":                                                                         func() { (*torch.Tensor)(nil).DType() },
		"torch: Launch: argument 1 of k is a nil tensor":                                                     func() { l.Launch("k", hostedtest.Nothing, (*torch.Tensor)(nil)) },
		"torch: Launch: argument 2 of k is a uint, and -1, a int, is given":                                  func() { l.Launch("k", func(*tl.PE, tl.Ptr, uint) {}, x, -1) },
		"torch: Launch: k takes 1 arguments after the PE, and 2 are given":                                   func() { l.Launch("k", hostedtest.Nothing, x, 2) },
		"torch: Check: 3 elements for tensor 1 [4] f32, which has 4":                                         func() { l.Check("x", x, []int{1, 2, 3}) },
		"torch: Races: the context was made without Race":                                                    func() { l.Races() },
		"torch: FromSlice: string is not a slice of numbers: write the elements in one slice, row after row": func() { l.FromSlice("abc", torch.F32, torch.Shape{3}) },
		"torch: Launch: k is a int: a kernel is a func(*tl.PE, ...) without results":                         func() { l.Launch("k", 3, x) },
		"torch: Launch: k has no tensor to say where it runs: add torch.PEs":                                 func() { l.Launch("k", func(*tl.PE) {}) },
		"torch: FromSlice: 2 elements for shape [3], which has 3":                                            func() { l.FromSlice([]int{1, 2}, torch.F32, torch.Shape{3}) },
		"torch: Launch: argument 1 of k is a int, and a tensor is given, which is a tl.Ptr":                  func() { l.Launch("k", func(*tl.PE, int) {}, x) },
	} {
		if err := hostedtest.Misuse(f); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// TestKernelsCannotCallTheHost checks that a kernel that calls a function of the host API
// fails, and that the machine cannot be used afterwards.
func TestKernelsCannotCallTheHost(t *testing.T) {
	l := hostedtest.New(t, torch.Options{})
	x := l.MustZeros(torch.F32, torch.On(0), 4)
	err := try(l, "nested", func(*tl.PE, tl.Ptr) { l.Launch("inner", hostedtest.Nothing, x) }, x)
	if want := "torch: Launch: called from a kernel"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
	err = try(l, "after", hostedtest.Nothing, x)
	if want := "the machine has ended before"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}

// TestRanksFollowThePlacement checks that rank i of a launch holds part i of the tensor, in
// whatever order the placement lists the PEs.
func TestRanksFollowThePlacement(t *testing.T) {
	l := hostedtest.New(t, torch.Options{})
	x := l.Ints(lists.Count(0, 6), torch.I32, torch.On(5, 3, 0))
	l.MustLaunch("mark", func(t *tl.PE, x tl.Ptr) {
		t.Store(x, t.Load(x, tl.Shape{2}, tl.I32).Add(10*t.Rank()))
	}, x)
	l.Holds("x", x, []int{0, 1, 12, 13, 24, 25})
}

// TestCheckLooksAtEveryCopy checks that Check compares every copy of a replicated tensor.
func TestCheckLooksAtEveryCopy(t *testing.T) {
	l := hostedtest.New(t, torch.Options{})
	x := l.Ints(lists.Count(0, 4), torch.I32, torch.OnEach(0, 1, 2))
	l.MustLaunch("spoil", func(t *tl.PE, x tl.Ptr) {
		if t.Rank() == 1 {
			t.Store(x.At(2), t.Full(tl.Shape{1}, tl.I32, 99))
		}
	}, x)
	if err := l.Check("x", x, lists.Count(0, 4)); err != nil {
		t.Fatal(err)
	}
	want := torch.Check{Name: "x", Elems: 12, Wrong: "element 2 of the copy on PE 1 is 99, want 2"}
	if got := l.Checks(); len(got) != 1 || got[0] != want || l.Checks().OK() {
		t.Errorf("checks %+v, want %+v", got, want)
	}
}

// TestFailedAllocationTakesNothing checks that an allocation that fails on one PE returns
// the memory that it has taken on other PEs.
func TestFailedAllocationTakesNothing(t *testing.T) {
	l := hostedtest.New(t, torch.Options{NoData: true})
	const gib = 1 << 30
	l.MustZeros(torch.U8, torch.On(1), 5*gib)
	for range 10 {
		if _, err := l.Zeros(torch.U8, torch.Shape{8 * gib}, torch.On(0, 1)); err == nil {
			t.Fatal("4 GiB fit into 1")
		}
	}
	l.MustZeros(torch.U8, torch.On(0), 6*gib)
}

// TestTheDataPhaseEndsWithItsContext checks that the data phase ends when its
// context.Context is cancelled.
func TestTheDataPhaseEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	on, err := torch.New(ctx, torch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := on.Main()
	defer c.Close()
	x, err := c.Zeros(torch.F32, torch.Shape{256, 256})
	if err != nil {
		t.Fatal(err)
	}
	heavy, err := c.Launch("heavy", func(t *tl.PE, x tl.Ptr) {
		v := t.Load(x, tl.Shape{256, 256}, tl.F32)
		for range 20000 {
			v = v.Dot(v)
		}
		t.Store(x, v)
		cancel() // while the kernel runs: nothing has been computed
	}, x)
	if err == nil {
		err = heavy.Wait()
	}
	if err == nil {
		_, err = x.Numpy()
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

// TestPEUsedAfterItsKernel checks that a *tl.PE cannot be used after its kernel has ended.
func TestPEUsedAfterItsKernel(t *testing.T) {
	l := hostedtest.New(t, torch.Options{})
	x := l.MustZeros(torch.F32, torch.On(0), 4)
	var kept *tl.PE
	l.MustLaunch("keep", func(t *tl.PE, x tl.Ptr) { kept = t }, x)
	err := try(l, "use", func(t *tl.PE, x tl.Ptr) { kept.Load(x, tl.Shape{4}, tl.F32) }, x)
	if err == nil || !strings.Contains(err.Error(), "its kernel has ended") {
		t.Errorf("error %v, want one that says that the kernel has ended", err)
	}
}

// try launches a kernel, waits for the kernel and returns the error.
func try(l *hostedtest.Lab, name string, kernel any, args ...any) error {
	r, err := l.Launch(name, kernel, args...)
	if err != nil {
		return err
	}
	return r.Wait()
}
