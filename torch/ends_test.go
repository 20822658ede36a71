package torch_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// TestOperationsAfterAnError checks that, after a kernel has failed, every operation except
// Free returns the error of the kernel, without a stack trace.
func TestOperationsAfterAnError(t *testing.T) {
	l := hostedtest.PEs(t, 2)
	x := l.MustZeros(torch.F32, torch.On(0, 1), 16)
	bad, err := l.Launch("bad", func(t *tl.PE, x tl.Ptr) { t.Load(x, tl.Shape{99}, tl.F32) }, x)
	if err != nil {
		t.Fatal(err)
	}
	behind, err := l.Launch("behind", hostedtest.Nothing, x)
	if err != nil {
		t.Fatal(err)
	}
	first := bad.Wait()
	reason, ok := strings.CutPrefix(fmt.Sprint(first), "launch bad: ")
	if !ok || !strings.HasPrefix(reason, "kernel bad on sip0.cube0.pe0: Load([99] f32) at ends_test.go:") || strings.Contains(reason, "goroutine") {
		t.Errorf("Wait gives %v", first)
	}
	for _, c := range []struct {
		op  string
		err error
	}{
		{"Wait", behind.Wait()},
		{"Synchronize", l.Synchronize()},
		{"all_reduce", dist.AllReduce(l.Rank, x, dist.SUM)},
		{"CopyFrom", x.CopyFrom(lists.Count(0, 16))},
		{"Spawn", l.Spawn(func(*torch.Rank) error { return nil }, 1)},
		{"Zeros", hostedtest.Second(l.Zeros(torch.F32, nil))},
		{"Full", hostedtest.Second(l.Full(1, torch.F32, nil))},
		{"FromSlice", hostedtest.Second(l.FromSlice([]int{1}, torch.F32, torch.Shape{1}))},
		{"Numpy", hostedtest.Second(x.Numpy())},
		{"At", hostedtest.Second(x.At(0))},
		{"Launch", hostedtest.Second(l.Launch("again", hostedtest.Nothing, x))},
	} {
		hostedtest.Says(t, c.op, c.err, c.op+": the machine has ended before: "+reason)
	}
	if err := x.Free(); err != nil {
		t.Errorf("Free: %v", err)
	}
}

// TestStoppedWorkerCannotContinue checks a worker that is stopped because another worker
// has failed. Its deferred calls run, but operations in them return an error.
func TestStoppedWorkerCannotContinue(t *testing.T) {
	var got [3]error
	_, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
		x := hostedtest.Full(r, 1, 4)
		defer func() { got[r.Rank()] = hostedtest.Second(x.Numpy()) }()
		if r.Rank() == 2 {
			return errors.New("boom")
		}
		return errors.Join(dist.AllReduce(r, x, dist.SUM), r.Synchronize())
	})
	hostedtest.Blames(t, err, []int{2}, "rank 2: boom")
	for rank, err := range got[:2] {
		hostedtest.Says(t, fmt.Sprint("rank ", rank), err, "Numpy: this rank has been stopped")
	}
	if got[2] != nil {
		t.Errorf("the failed rank cannot read its tensor: %v", got[2])
	}
}

// TestDeadlockedKernelsNameTheirRanks checks that the error for a deadlock of kernels names
// the ranks that launched the kernels, whether or not a rank waits for the kernels.
func TestDeadlockedKernelsNameTheirRanks(t *testing.T) {
	for _, waits := range []bool{false, true} {
		for _, stuck := range [][]int{{1}, {0, 2}, {0, 1, 2}} {
			_, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
				rank := r.Rank()
				x, err := r.Zeros(torch.F32, torch.Shape{8}, torch.DPPolicy{PE: torch.RowWise, NumCubes: 1, NumPEs: 2})
				if err != nil {
					return err
				}
				pes := []int{r.PE(rank, 0, 0), r.PE(rank, 0, 1)}
				if _, err := r.Launch("mute", func(t *tl.PE, x tl.Ptr) {
					if slices.Contains(stuck, rank) {
						t.Recv(tl.West, tl.Shape{4}, tl.F32)
					}
				}, x, torch.Neighbors(torch.Ring(pes...))); err != nil {
					return err
				}
				if err := dist.AllReduce(r, x, dist.SUM); err != nil || !waits {
					return err
				}
				return r.Synchronize()
			})
			var texts []string
			for _, rank := range stuck {
				texts = append(texts, fmt.Sprintf("mute@sip%d.cube0.pe0 waits for a message [4] f32 on the queue sip%[1]d.cube0.pe1 east -> sip%[1]d.cube0.pe0 west", rank))
			}
			hostedtest.Blames(t, err, stuck, append(texts, "deadlock at", "ends_test.go:")...)
		}
	}
}

// TestEndlessWorker checks that an endless loop in a worker ends the run with an error that
// names the line of the loop.
func TestEndlessWorker(t *testing.T) {
	var release atomic.Bool
	t.Cleanup(func() { release.Store(true) })
	l := hostedtest.New(t, torch.Options{Topology: hostedtest.System(t, "ring6"), Stall: 300 * time.Millisecond})
	err := l.Spawn(func(r *torch.Rank) error {
		for r.Rank() == 1 && !release.Load() {
		}
		return nil
	}, 3)
	var stalled *torch.Stalled
	if !errors.As(err, &stalled) || !strings.HasPrefix(stalled.At, "ends_test.go:") {
		t.Fatalf("error %v, want a *Stalled with its line", err)
	}
	want := "a worker has run for 300ms at " + stalled.At + " without an operation of the host API: an endless loop, or raise the limit (--stall, Options.Stall)"
	hostedtest.Says(t, "error", err, "rank 1: "+want)
	hostedtest.Says(t, "after it", l.Synchronize(), "Synchronize: the machine has ended before: "+want)
}

// TestEndlessWorkerDuringLaunch checks that the error names the rank with the endless loop
// even if operations of the ranks are still in flight.
func TestEndlessWorkerDuringLaunch(t *testing.T) {
	var release atomic.Bool
	t.Cleanup(func() { release.Store(true) })
	l := hostedtest.New(t, torch.Options{Topology: hostedtest.System(t, "ring6"), Stall: 300 * time.Millisecond})
	err := l.Spawn(func(r *torch.Rank) error {
		hostedtest.Full(r, 1, 8)
		for r.Rank() == 1 && !release.Load() {
		}
		return nil
	}, 2)
	hostedtest.Blames(t, err, []int{1}, "a worker has run for 300ms at ends_test.go:")
}

// TestSpawnEndsWithItsContext checks that a cancelled run ends at once with the cause of
// the cancellation, and that the deferred calls of its workers run.
func TestSpawnEndsWithItsContext(t *testing.T) {
	for _, c := range []struct {
		name string
		op   func(t *tl.PE, x tl.Ptr)
	}{
		{"accesses", func(t *tl.PE, x tl.Ptr) { t.Store(x, t.Load(x, tl.Shape{4}, tl.F32)) }},
		{"calls", func(t *tl.PE, x tl.Ptr) { t.Zeros(tl.Shape{4}, tl.F32) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			enough := errors.New("enough")
			ctx, cancel := context.WithCancelCause(context.Background())
			l, err := torch.New(ctx, hostedtest.Far(t, 4))
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			unwound := 0
			err = l.Spawn(func(r *torch.Rank) error {
				defer func() { unwound++ }()
				x := hostedtest.Full(r, 1, 4)
				if r.Rank() == 2 {
					if _, err := r.Launch("endless", func(t *tl.PE, x tl.Ptr) {
						for cancel(enough); ; {
							c.op(t, x)
						}
					}, x); err != nil {
						return err
					}
				}
				return r.Synchronize()
			}, 4)
			if !errors.Is(err, enough) || unwound != 4 {
				t.Errorf("error %v with %d of 4 workers unwound, want %v", err, unwound, enough)
			}
			hostedtest.Says(t, "after it", l.Main().Synchronize(), "Synchronize: the machine has ended before: enough")
		})
	}
}

// TestGoexitEndsTheRun checks that code that ends its goroutine, as t.FailNow does, ends
// the whole run.
func TestGoexitEndsTheRun(t *testing.T) {
	_, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
		if r.Rank() == 1 {
			runtime.Goexit()
		}
		return dist.Barrier(r)
	})
	hostedtest.Blames(t, err, []int{1})
	hostedtest.Says(t, "a worker", err, "rank 1: the worker ended its goroutine")
	l := hostedtest.New(t, torch.Options{})
	err = try(l, "exit", func(*tl.PE, tl.Ptr) { runtime.Goexit() }, l.MustZeros(torch.F32, torch.On(0), 1))
	hostedtest.Says(t, "a kernel", err, "launch exit: a kernel or a worker ended its goroutine: return instead")
}

// TestNoGoroutineIsLeft checks that no goroutine is left after Close, in whatever way the
// workers end: normally, by an error, a panic, a failed kernel, a mismatched collective, an
// early return or Goexit.
func TestNoGoroutineIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	o := hostedtest.Options(t, 3)
	for _, fails := range []string{"", "error", "panic", "kernel", "mismatch", "early", "exit"} {
		c, err := torch.New(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		r := c.Main()
		err = r.Spawn(func(r *torch.Rank) error {
			rank := r.Rank()
			if err := dist.InitProcessGroup(r, "ahbm"); err != nil {
				return err
			}
			x := hostedtest.Full(r, rank, 4)
			if rank == 1 {
				switch fails {
				case "error":
					return errors.New("error")
				case "panic":
					panic("panic")
				case "kernel":
					r.Launch("kernel", func(*tl.PE, tl.Ptr) { panic("kernel") }, x)
				case "mismatch":
					x = hostedtest.Full(r, rank, 5)
				case "early":
					return nil
				case "exit":
					runtime.Goexit()
				}
			}
			return errors.Join(dist.AllReduce(r, x, dist.SUM), r.Synchronize())
		}, 3)
		if (err == nil) != (fails == "") {
			t.Errorf("%q: error %v", fails, err)
		}
		r.Close()
	}
	for range 1_000_000 { // goroutines that have nothing left to do must still be scheduled
		if runtime.NumGoroutine() <= before {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}
