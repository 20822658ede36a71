package torch

import (
	"errors"
	"regexp"
	"runtime"
	"testing"

	"github.com/kernbench/kernbench/internal/host"
	"github.com/kernbench/kernbench/internal/host/hosttest"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// checkAllocated fails the test if f allocates more than 8 MiB. `what` names the case in
// messages.
func checkAllocated(t *testing.T, what string, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 8<<20 {
		t.Errorf("%s: allocated %d bytes, want less than 8 MiB", what, n)
	}
}

// checkRefused checks that err is a *host.MemoryError and that its text is `want`.
func checkRefused(t *testing.T, err error, want string) {
	t.Helper()
	var short *host.MemoryError
	if !errors.As(err, &short) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestValuesRefused checks that a tensor is refused if this computer's memory is too small
// for its values. The tensor may be too large by itself, or together with other tensors.
// After a tensor is freed or the context is closed, its memory can be used again.
func TestValuesRefused(t *testing.T) {
	hosttest.SetMemory(t, 2000)
	const half = 500_000_000 // bytes
	f := func(int) float64 { t.Error("a value of a refused tensor is made"); return 0 }
	c := Must(New(t.Context(), Options{})).Main()
	defer c.Close()
	checkAllocated(t, "refused tensors", func() {
		_, err := c.Full(1, F16, Shape{2 * half})
		checkRefused(t, err, "Full: values of tensor 1 [1000000000] f16: 2 GB of memory are needed, and 2 GB are free of the 16 GB that this computer has: make it smaller, or find out times only with --data=off")
		_, err = c.FromFunc(f, U8, Shape{2, half})
		checkRefused(t, err, "FromFunc: values of tensor 2 [2 500000000] u8: 3 GB of memory are needed, and 2 GB are free of the 16 GB that this computer has: make it smaller, or find out times only with --data=off")
		var all []*Tensor
		for range 8 { // no operation writes these tensors
			all = append(all, Must(c.Zeros(U8, Shape{half})))
		}
		OK(c.reserveValues("Launch", heldWhenWritten, all[:3]...))
		_, err = c.Launch("copy", func(*tl.PE, tl.Ptr, tl.Ptr) {}, all[2], all[3])
		checkRefused(t, err, "Launch: values of tensor 6 [500000000] u8: 0.5 GB of memory are needed, and 0.5 GB are free of the 16 GB that this computer has: make it smaller, or find out times only with --data=off")
		_, err = c.Launch("copy", func(*tl.PE, tl.Ptr) {}, all[0], Using(all[4]))
		checkRefused(t, err, "Launch: values of tensor 7 [500000000] u8: 0.5 GB of memory are needed, and 0.5 GB are free of the 16 GB that this computer has: make it smaller, or find out times only with --data=off")
		err = all[5].CopyFrom(&Array{Shape: Shape{half}, DType: U8})
		checkRefused(t, err, "CopyFrom: values of tensor 8 [500000000] u8: 1.5 GB of memory are needed, and 0.5 GB are free of the 16 GB that this computer has: make it smaller, or find out times only with --data=off")
		_, err = all[0].Numpy()
		checkRefused(t, err, "Numpy: values of tensor 3 [500000000] u8: 1.5 GB of memory are needed, and 0.5 GB are free of the 16 GB that this computer has: make it smaller, or find out times only with --data=off")
		OK(all[0].Free())
		OK(c.reserveValues("Launch", heldWhenWritten, all[3]))
		checkRefused(t, c.Reserve("the reference", half), "the reference: 0.5 GB of memory are needed, and 0.5 GB are free of the 16 GB that this computer has: take smaller sizes, or find out times only with --data=off")
		c.Close()
		other := Must(New(t.Context(), Options{}))
		defer other.Close()
		OK(other.Reserve("the reference", 4*half-1_000_000))
	})
}

// TestTimesNeedNoValues checks that a run without values can use tensors that are larger
// than this computer's memory.
func TestTimesNeedNoValues(t *testing.T) {
	hosttest.SetMemory(t, 100)
	for _, race := range []bool{false, true} {
		c := Must(New(t.Context(), Options{NoData: true, Race: race})).Main()
		defer c.Close()
		checkAllocated(t, "a run without values", func() {
			x := Must(c.FromFunc(func(int) float64 { t.Error("a value is made"); return 0 }, F16, Shape{1 << 31}))
			y := Must(c.Zeros(F16, Shape{1 << 29}))
			Must(c.Launch("add", func(t *tl.PE, x, y tl.Ptr) {
				t.Store(y, t.Load(x, tl.Shape{64}, tl.F16))
			}, x, y))
			OK(c.CheckFunc("y", y, func(int) float64 { t.Error("a value is compared"); return 0 }))
			OK(c.Synchronize())
		})
	}
}

// TestPEsRefused checks that using more PEs than this computer can simulate is refused, for
// one tensor on many PEs and for several tensors on a few PEs each.
func TestPEsRefused(t *testing.T) {
	spec, err := topology.Load(t.Context(), "default", "system.sips.count=64")
	if err != nil {
		t.Fatal(err)
	}
	g, err := topology.Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	hosttest.SetMemory(t, 100)
	c := Must(New(t.Context(), Options{Topology: g, NoData: true})).Main()
	defer c.Close()
	zero := func(int) float64 { return 0 }
	_, err = c.FromFunc(zero, F16, Shape{c.NumPEs()}, On(c.AllPEs()...))
	checkRefused(t, err, "FromFunc on 8192 PEs: 0.201 GB of memory are needed, and 0.1 GB are free of the 16 GB that this computer has: take a smaller system, or fewer PEs")
	for sip := 0; err != nil || sip < 31; sip++ {
		c.SetDevice(sip)
		if _, err = c.Zeros(F16, Shape{256}, DPPolicy{Cube: RowWise, PE: RowWise}); err != nil {
			t.Fatal(err)
		}
	}
	c.SetDevice(31)
	for range 2 {
		_, err = c.Zeros(F16, Shape{256}, DPPolicy{Cube: RowWise, PE: RowWise})
	}
	checkRefused(t, err, "Zeros, with 4096 PEs in use: 0.00315 GB of memory are needed, and 0.00248 GB are free of the 16 GB that this computer has: take a smaller system, or fewer PEs")
}

// TestExhausted checks that a simulation is stopped when this computer's memory runs out,
// and is not stopped while there is enough memory.
func TestExhausted(t *testing.T) {
	for freeMB, want := range map[int]string{
		0:    `^launch endless: the simulation was stopped: this process has [0-9.]+ GB of memory, and 0 GB are free of the 16 GB that this computer has: take a smaller system, shorter programs, or no op log$`,
		1000: `^launch endless: kernel endless on sip0.cube0.pe0: .*: still running at the limit of 10000000ns of simulated time`,
	} {
		hosttest.SetMemory(t, freeMB)
		limit := Time(10 * simtime.Millisecond)
		if freeMB == 0 {
			limit = 10 * simtime.Second // would take hours of wall-clock time
		}
		c := Must(New(t.Context(), Options{NoData: true, Limit: limit})).Main()
		defer c.Close()
		Must(c.Launch("endless", func(t *tl.PE) {
			for {
				t.Zeros(tl.Shape{64}, tl.F16).Exp()
			}
		}, PEs(0)))
		if err := c.Synchronize(); err == nil || !regexp.MustCompile(want).MatchString(err.Error()) {
			t.Errorf("%d MB free: got %v, want %s", freeMB, err, want)
		}
	}
}

// TestFromFunc checks the values of a tensor that FromFunc makes, with Check and CheckFunc.
// CheckFunc must also find a wrong value.
func TestFromFunc(t *testing.T) {
	c := Must(New(t.Context(), Options{})).Main()
	defer c.Close()
	square := func(i int) float64 { return float64(i * i) }
	x := Must(c.FromFunc(square, I32, Shape{3, 4}, On(0, 1)))
	OK(c.Check("x", x, []int{0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121}))
	OK(c.CheckFunc("x", x, square))
	OK(c.CheckFunc("off", x, func(i int) float64 { return square(min(i, 6)) }))
	want := []Check{{Name: "x", Elems: 12}, {Name: "x", Elems: 12}, {Name: "off", Elems: 12, Wrong: "element 7 is 49, want 36"}}
	for i, got := range c.Checks() {
		if got != want[i] {
			t.Errorf("check %d: got %+v, want %+v", i, got, want[i])
		}
	}
}
