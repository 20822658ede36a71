package dist_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// TestAWorkerThatFailsIsTheOnlyOneNamed checks that the error of Spawn names only the
// worker that returns an error, and that all other workers are stopped.
func TestAWorkerThatFailsIsTheOnlyOneNamed(t *testing.T) {
	boom := errors.New("boom")
	stopped := 0
	_, err := hostedtest.Spawn(t, 4, func(r *torch.Rank) error {
		defer func() { stopped++ }()
		if r.Rank() == 2 {
			return boom
		}
		x := hostedtest.Full(r, 1, 8)
		if err := dist.AllReduce(r, x, dist.SUM); err != nil {
			return err
		}
		_, err := x.Numpy()
		return err
	})
	hostedtest.Blames(t, err, []int{2}, "rank 2: boom")
	if !errors.Is(err, boom) || stopped != 4 { // also rank 3, which had not begun
		t.Errorf("errors.Is is %v, and %d of 4 workers were unwound", errors.Is(err, boom), stopped)
	}
}

// TestAWorkerThatPanicsIsTheOnlyOneNamed checks that the error of Spawn names only the
// worker that panics, and has the stack of the panic.
func TestAWorkerThatPanicsIsTheOnlyOneNamed(t *testing.T) {
	_, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
		if r.Rank() == 1 {
			panic("out of ideas")
		}
		return dist.Barrier(r)
	})
	hostedtest.Blames(t, err, []int{1}, "out of ideas")
	var panicked *torch.HostPanic
	if !errors.As(err, &panicked) || !strings.Contains(string(panicked.Stack), "spawn_test.go") {
		t.Errorf("error %v has no stack", err)
	}
}

// TestAWorkerThatReturnsEarlyIsTheOnlyOneNamed checks that the error of Spawn names only
// the worker that returns without calling a collective that the other workers call.
func TestAWorkerThatReturnsEarlyIsTheOnlyOneNamed(t *testing.T) {
	for _, waits := range []bool{false, true} {
		_, err := hostedtest.Spawn(t, 4, func(r *torch.Rank) error {
			x := hostedtest.Full(r, 1, 8)
			if r.Rank() == 3 {
				return nil
			}
			if err := dist.AllReduce(r, x, dist.SUM); err != nil || !waits {
				return err
			}
			_, err := x.Numpy()
			return err
		})
		hostedtest.Blames(t, err, []int{3}, "rank 3: returned without all_reduce 1 of the default group, for which ranks 0-2 wait")
	}
}

// TestAKernelThatFailsNamesItsRank checks that the error of Spawn names only the rank that
// launched the failed kernel.
func TestAKernelThatFailsNamesItsRank(t *testing.T) {
	_, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
		x := hostedtest.Full(r, 1, 8)
		_, err := r.Launch("half", func(t *tl.PE, x tl.Ptr, rank int) {
			if rank == 1 {
				t.Load(x, tl.Shape{1 << 30}, tl.F32)
			}
		}, x, r.Rank())
		if err != nil {
			return err
		}
		return dist.AllReduce(r, x, dist.SUM)
	})
	hostedtest.Blames(t, err, []int{1}, "launch half: ", "spawn_test.go")
}

// TestRanksThatWaitForEachOtherAreNamed checks that the error of Spawn names the ranks that
// call the collectives of two groups in different orders.
func TestRanksThatWaitForEachOtherAreNamed(t *testing.T) {
	_, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
		a, err := dist.NewGroup(r, []int{0, 1})
		if err != nil {
			return err
		}
		b, err := dist.NewGroup(r, []int{0, 1})
		if err != nil {
			return err
		}
		if r.Rank() == 2 {
			return nil
		}
		x := hostedtest.Full(r, 1, 8)
		first, second := a, b
		if r.Rank() == 1 {
			first, second = b, a
		}
		for _, g := range []*dist.Group{first, second} {
			if err := dist.AllReduce(r, x, dist.SUM, g); err != nil {
				return err
			}
		}
		_, err = x.Numpy()
		return err
	})
	hostedtest.Blames(t, err, []int{0, 1}, "rank 0: waits for all_reduce 1 of group 1, which rank 1 has behind all_reduce 1 of group 2",
		"rank 1: waits for all_reduce 1 of group 2, which rank 0 has behind all_reduce 1 of group 1", "the ranks wait for each other")
}

// TestMismatchedCallsNameTheRanks checks that the error of Spawn names the rank whose call
// of a collective differs from the calls of the other ranks.
func TestMismatchedCallsNameTheRanks(t *testing.T) {
	tests := []struct {
		name  string
		odd   func(r *torch.Rank, x *torch.Tensor) error
		texts []string
	}{
		{"size", func(r *torch.Rank, _ *torch.Tensor) error {
			return dist.AllReduce(r, hostedtest.Full(r, 1, 9), dist.SUM)
		}, []string{"rank 2: all_reduce of f32 [9], sum (spawn_test.go:"}},
		{"dtype", func(r *torch.Rank, _ *torch.Tensor) error {
			x, err := r.Zeros(torch.F16, torch.Shape{8})
			if err != nil {
				return err
			}
			return dist.AllReduce(r, x, dist.SUM)
		}, []string{"rank 2: all_reduce of f16 [8], sum"}},
		{"op", func(r *torch.Rank, x *torch.Tensor) error {
			return dist.AllReduce(r, x, dist.MAX)
		}, []string{"rank 2: all_reduce of f32 [8], max"}},
		{"call", func(r *torch.Rank, x *torch.Tensor) error {
			return dist.Broadcast(r, x, 0)
		}, []string{"rank 2: broadcast of f32 [8], root 0"}},
		{"layout", func(r *torch.Rank, _ *torch.Tensor) error {
			x, err := r.Zeros(torch.F32, torch.Shape{8}, torch.DPPolicy{PE: torch.RowWise, NumCubes: 1, NumPEs: 2})
			if err != nil {
				return err
			}
			return dist.AllReduce(r, x, dist.SUM)
		}, []string{"rank 2: all_reduce of f32 [8] in 2 parts of [4], sum"}},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			_, err := hostedtest.Spawn(t, 4, func(r *torch.Rank) error {
				x := hostedtest.Full(r, 1, 8)
				if r.Rank() == 2 {
					torch.OK(c.odd(r, x))
				} else {
					torch.OK(dist.AllReduce(r, x, dist.SUM))
				}
				_, err := x.Numpy()
				return err
			})
			hostedtest.Blames(t, err, []int{2}, append(c.texts, "the ranks do not agree: ranks 0, 1, 3: all_reduce of f32 [8], sum (spawn_test.go:")...)
		})
	}
}

// TestWorkersShareOneClock checks that two workers leave a barrier at the same simulated
// time.
func TestWorkersShareOneClock(t *testing.T) {
	var times [2]torch.Time
	_, err := hostedtest.Spawn(t, 2, func(r *torch.Rank) error {
		x := hostedtest.Full(r, 1, 8)
		if r.Rank() == 0 { // only this rank lets time pass
			for range 3 {
				if _, err := x.Numpy(); err != nil {
					return err
				}
			}
		}
		w, err := dist.BarrierAsync(r)
		if err != nil {
			return err
		}
		if err := w.Wait(); err != nil {
			return err
		}
		times[r.Rank()] = r.Now()
		return nil
	})
	if err != nil || times[0] != times[1] || times[0] == 0 {
		t.Errorf("error %v, after the barrier it is %v on rank 0 and %v on rank 1", err, times[0], times[1])
	}
}

// TestSpawnAgainAfterAFailure checks that a second Spawn works after a Spawn in which a
// worker failed.
func TestSpawnAgainAfterAFailure(t *testing.T) {
	l, err := hostedtest.Spawn(t, 2, func(r *torch.Rank) error {
		if r.Rank() == 0 {
			return errors.New("first")
		}
		return dist.AllReduce(r, hostedtest.Full(r, 1, 8), dist.SUM)
	})
	hostedtest.Blames(t, err, []int{0})
	err = l.Spawn(func(r *torch.Rank) error {
		if err := dist.InitProcessGroup(r, "ahbm"); err != nil {
			return err
		}
		x := hostedtest.Full(r, r.Rank()+1, 8)
		if err := dist.AllReduce(r, x, dist.SUM); err != nil {
			return err
		}
		return r.Check("sum", x, hostedtest.Fill(3, 8))
	}, 2)
	if err != nil || !l.Checks().OK() || len(l.Checks()) != 2 {
		t.Errorf("error %v, checks %+v", err, l.Checks())
	}
}

// TestAWorkerThatIsStoppedWhilePrinting checks that Spawn returns the error of the rank
// that failed, even if another worker is stopped while package fmt prints a tensor. fmt
// turns panics into text, so the stopped worker continues until its next operation.
func TestAWorkerThatIsStoppedWhilePrinting(t *testing.T) {
	texts := make([]string, 3)
	_, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
		if r.Rank() == 2 {
			return errors.New("no data")
		}
		x := hostedtest.Full(r, 1, 4)
		torch.OK(dist.AllReduce(r, x, dist.SUM))
		texts[r.Rank()] = fmt.Sprint(x)
		torch.Must(r.Full(1, torch.F32, torch.Shape{4}))
		return nil
	})
	hostedtest.Blames(t, err, []int{2}, "rank 2: no data")
	for _, text := range texts[:2] {
		if !strings.HasSuffix(text, ": this rank has been stopped)") {
			t.Errorf("a tensor of a stopped rank is %q", text)
		}
	}
}

// TestGridOfSIPs checks that an all-reduce over all SIPs with the algorithm torus uses the
// grid of the SIPs: it takes about the same time on a grid of 2x3 and on one of 3x2.
func TestGridOfSIPs(t *testing.T) {
	times := map[string]torch.Time{}
	for name, sets := range map[string][]string{"2x3": nil, "3x2": {"system.sips.w=3", "system.sips.h=2"}} {
		l := hostedtest.New(t, torch.Options{Topology: hostedtest.System(t, "torus2x3", sets...), NoData: true})
		torch.OK(l.Spawn(func(r *torch.Rank) error {
			torch.OK(dist.InitProcessGroup(r, "ahbm", dist.Algorithm("torus")))
			return dist.AllReduce(r, torch.Must(r.Zeros(torch.F16, torch.Shape{1 << 16})), dist.SUM)
		}, 6))
		times[name] = dist.Last(l.Context).Crit
	}
	if a, b := times["2x3"], times["3x2"]; a > b+b/5 || b > a+a/5 {
		t.Errorf("128 KiB take %v on a torus of 2x3 and %v on one of 3x2: want about the same", a, b)
	}
}

// TestChunksLargerThanAQueueAreRefused checks the error for chunk_bytes that exceed the
// size of a queue.
func TestChunksLargerThanAQueueAreRefused(t *testing.T) {
	l := hostedtest.New(t, torch.Options{})
	err := dist.InitProcessGroup(l.Rank, "ahbm", func(o *dist.GroupOptions) { o.ChunkBytes = 64 << 10 })
	hostedtest.Says(t, "error", err, "InitProcessGroup: chunks of 64KiB, and a queue has 4 slots of 4KiB: lower ccl's chunk_bytes to 16KiB")
}

// TestCheckAgainstAnArray checks that Check compares a tensor with an *Array.
func TestCheckAgainstAnArray(t *testing.T) {
	l := hostedtest.New(t, torch.Options{})
	x := l.Ints(lists.Count(0, 4), torch.I32, torch.On(0, 1))
	a := torch.Must(x.Numpy())
	torch.OK(l.Check("same", x, a))
	a.Bytes[4]++
	torch.OK(l.Check("other", x, a))
	if got, want := fmt.Sprint(l.Checks()), "[{same 4 } {other 4 element 1 is 1, want 2}]"; got != want {
		t.Errorf("checks %v, want %v", got, want)
	}
}

// worker is a function that Spawn runs on each rank.
type worker func(r *torch.Rank) error

// pause lets simulated time pass for rank r only. It reads a tensor the given number of
// times.
func pause(r *torch.Rank, times int) {
	x := torch.Must(r.Zeros(torch.F32, torch.Shape{1}))
	for range times {
		torch.Must(x.Numpy())
	}
	torch.OK(x.Free())
}
