package dist_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// sineTensors returns tensors of odd sizes for a rank. Their values are sines, so that sums
// are rounded and depend on the order of the additions.
func sineTensors(r *torch.Rank, rank int, on ...torch.TensorOption) (list []*torch.Tensor) {
	for i, n := range []int{1029, 7, 301} {
		list = append(list, torch.Must(r.FromFunc(func(k int) float64 { return math.Sin(float64(k + 31*i + 7*rank)) }, torch.F16, torch.Shape{n}, on...)))
	}
	return list
}

// TestCoalescedAllReduce checks that a coalesced all-reduce of 3 tensors on 5 ranks gives
// the same bits as 3 single all-reduces and takes less time.
func TestCoalescedAllReduce(t *testing.T) {
	run := func(how func(r *torch.Rank, list []*torch.Tensor) error) (values string, time torch.Time, name string) {
		l, err := hostedtest.Spawn(t, 5, func(r *torch.Rank) error {
			list := sineTensors(r, r.Rank())
			torch.OK(r.Synchronize())
			torch.OK(torch.Must(dist.BarrierAsync(r)).Wait())
			time = elapsed(r, func() error { return how(r, list) })
			for _, x := range list {
				values += fmt.Sprint(torch.Must(x.Numpy()).Bytes)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return values, time, dist.Last(l.Context).Name
	}
	single, each, _ := run(func(r *torch.Rank, list []*torch.Tensor) (err error) {
		for _, x := range list {
			err = errors.Join(err, dist.AllReduce(r, x, dist.AVG))
		}
		return err
	})
	coalesced, together, name := run(func(r *torch.Rank, list []*torch.Tensor) error {
		return dist.AllReduceCoalesced(r, list, dist.AVG)
	})
	if single != coalesced || len(single) < 5*3 {
		t.Error("the values are not those of single collectives")
	}
	if each.String() != "5457.867837ns" || together.String() != "5430.648908ns" || name != "all_reduce_coalesced 2 of the default group" {
		t.Errorf("%s takes %v, want 5430.648908ns; one after the other %v, want 5457.867837ns", name, together, each)
	}
}

// TestCoalescingTakesNoLonger checks for all algorithms that coalesced all-reduces take no
// longer than single all-reduces one after another, with tensors on the same PEs and on
// different PEs.
func TestCoalescingTakesNoLonger(t *testing.T) {
	for _, algorithm := range append(algorithms("all_reduce"), "auto") {
		for _, n := range []int{3, 5} {
			var each, together torch.Time
			_, err := hostedtest.Spawn(t, n, func(r *torch.Rank) error {
				rank := r.Rank()
				g := torch.Must(dist.NewGroup(r, lists.Count(0, n), dist.Algorithm(algorithm)))
				list := append(sineTensors(r, rank), sineTensors(r, rank, torch.On(r.PE(rank, 0, 1)))...)
				torch.OK(r.Synchronize())
				torch.OK(torch.Must(dist.BarrierAsync(r)).Wait())
				each = elapsed(r, func() (err error) {
					for _, x := range list {
						err = errors.Join(err, dist.AllReduce(r, x, dist.SUM, g))
					}
					return err
				})
				torch.OK(torch.Must(dist.BarrierAsync(r)).Wait())
				together = elapsed(r, func() error { return dist.AllReduceCoalesced(r, list, dist.SUM, g) })
				return nil
			})
			if err != nil || together > each || together == 0 {
				t.Errorf("%s on %d ranks: error %v, %v together, %v one after the other", algorithm, n, err, together, each)
			}
		}
	}
}

// TestCoalescedOnOtherPEs checks that two coalesced collectives on different PEs run at the
// same time: together they take as long as the longer one by itself.
func TestCoalescedOnOtherPEs(t *testing.T) {
	run := func(numbers ...int) (time torch.Time) {
		_, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
			var list []*torch.Tensor
			for _, i := range numbers {
				list = append(list, torch.Must(r.Zeros(torch.F32, torch.Shape{1000 >> (6 * i)}, torch.On(r.PE(r.Rank(), i, 0)))))
			}
			time = elapsed(r, func() error { return dist.AllReduceCoalesced(r, list, dist.SUM) })
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return time
	}
	if a, b, both := run(0), run(1), run(0, 1); both != a || b >= a {
		t.Errorf("one takes %v, the other %v, both %v: want the time of the first", a, b, both)
	}
}

// TestCoalescing checks the results of different collectives of a group that are coalesced.
// The collectives have different roots and reductions.
func TestCoalescing(t *testing.T) {
	l, err := hostedtest.Spawn(t, 5, func(r *torch.Rank) error {
		rank := r.Rank()
		g := torch.Must(dist.NewGroup(r, []int{4, 2, 0}))
		if dist.GetRank(r, g) < 0 {
			return nil
		}
		a, b, c, d := hostedtest.Full(r, rank, 7), hostedtest.Full(r, rank, 5), hostedtest.Full(r, rank, 3), hostedtest.Full(r, rank, 3)
		all, turned := hostedtest.Full(r, 99, 9), torch.Must(r.FromSlice(lists.Count(10*rank, 3), torch.I32, torch.Shape{3}))
		w, err := dist.CoalescingAsync(r, func() error {
			return errors.Join(
				dist.AllReduce(r, a, dist.SUM, g), dist.Broadcast(r, b, 2, g), dist.Reduce(r, c, 4, dist.MAX, g),
				dist.AllGatherIntoTensor(r, all, d, g), dist.Barrier(r, g), dist.AllToAllSingle(r, turned, turned, nil, nil, g))
		})
		if err != nil || w.String() != "coalesced 1 of group 1" {
			return fmt.Errorf("%v: %w", w, err)
		}
		if _, err := a.Numpy(); err == nil {
			return errors.New("a tensor can be read before Wait")
		}
		torch.OK(w.Wait())
		i := dist.GetRank(r, g)
		return errors.Join(
			r.Check("a", a, hostedtest.Fill(6, 7)), r.Check("b", b, hostedtest.Fill(2, 5)), r.Check("c", c, hostedtest.Fill(rank, 3)),
			r.Check("all", all, slices.Concat(hostedtest.Fill(0, 3), hostedtest.Fill(2, 3), hostedtest.Fill(4, 3))), r.Check("turned", turned, []int{i, 20 + i, 40 + i}))
	})
	if err != nil || !l.Checks().OK() || len(l.Checks()) != 15 {
		t.Errorf("error %v, checks %+v", err, l.Checks())
	}
}

// TestCoalescingOfNothing checks that Coalescing does nothing if its function calls no
// collective or returns an error.
func TestCoalescingOfNothing(t *testing.T) {
	boom := errors.New("boom")
	_, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
		x := hostedtest.Full(r, 1, 4)
		torch.OK(dist.Coalescing(r, func() error { return nil }))
		err := dist.Coalescing(r, func() error { return errors.Join(dist.AllReduce(r, x, dist.SUM), boom) })
		if !errors.Is(err, boom) {
			return fmt.Errorf("error %v", err)
		}
		w := torch.Must(dist.AllReduceAsync(r, x, dist.SUM))
		if err := w.Wait(); err != nil || w.String() != "all_reduce 1 of the default group" {
			return fmt.Errorf("%v: %w", w, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestMisuseOfCoalescing checks the errors for wrong uses of Coalescing and of calls inside
// it.
func TestMisuseOfCoalescing(t *testing.T) {
	_, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
		rank := r.Rank()
		x, y := hostedtest.Full(r, 1, 4), hostedtest.Full(r, 1, 12)
		g := torch.Must(dist.NewGroup(r, []int{0, 1, 2}))
		for want, do := range map[string]func(){
			"torch: all_reduce: a list of no tensors: give at least one":              func() { dist.AllReduceCoalesced(r, nil, dist.SUM) },
			"torch: all_gather: 1 tensors to send and 0 to receive: give as many":     func() { dist.AllGatherIntoTensorCoalesced(r, nil, []*torch.Tensor{x}) },
			"torch: reduce_scatter: 1 tensors to send and 2 to receive: give as many": func() { dist.ReduceScatterTensorCoalesced(r, []*torch.Tensor{x, x}, []*torch.Tensor{y}, dist.SUM) },
			"torch: all_gather: 1 tensors to send and 2 to receive: give as many":     func() { dist.AllGatherCoalesced(r, [][]*torch.Tensor{nil, nil}, []*torch.Tensor{x}) },
			fmt.Sprintf("torch: all_reduce: tensor %d [4] f32 is used by an earlier collective of the same Coalescing, and these have no order", 1+2*rank): func() {
				dist.AllReduceCoalesced(r, []*torch.Tensor{x, x}, dist.SUM)
			},
			"torch: barrier: of group 1 among collectives of the default group that are coalesced: one Coalescing has one group": func() {
				dist.Coalescing(r, func() error { return errors.Join(dist.AllReduce(r, x, dist.SUM), dist.Barrier(r, g)) })
			},
			"torch: Send: a message is not coalesced with collectives: use BatchISendIRecv": func() {
				dist.Coalescing(r, func() error { return dist.Send(r, x, 0, 0) })
			},
			"torch: Coalescing: launch nothing is not a collective: do it before or after": func() {
				dist.Coalescing(r, func() error { return hostedtest.Second(r.Launch("nothing", hostedtest.Nothing, x)) })
			},
			"torch: Wait: the Work is nil: a call within Coalescing returns none, and neither does a Coalescing without calls: use the Work of CoalescingAsync": func() {
				dist.Coalescing(r, func() error { return torch.Must(dist.AllReduceAsync(r, x, dist.SUM)).Wait() })
			},
			"torch: IsCompleted: the Work is nil: a call within Coalescing returns none, and neither does a Coalescing without calls: use the Work of CoalescingAsync": func() {
				torch.Must(dist.CoalescingAsync(r, func() error { return nil })).IsCompleted()
			},
			"torch: DestroyProcessGroup: called within Coalescing, whose collectives need their group: do it after": func() {
				dist.Coalescing(r, func() error { return errors.Join(dist.AllReduce(r, x, dist.SUM), dist.DestroyProcessGroup(r)) })
			},
			"torch: Coalescing: called within another": func() {
				dist.Coalescing(r, func() error { return dist.AllReduceCoalesced(r, []*torch.Tensor{x}, dist.SUM) })
			},
		} {
			if err := hostedtest.Misuse(do); fmt.Sprint(err) != want {
				return fmt.Errorf("got %v, want %s", err, want)
			}
		}
		want := fmt.Sprintf("tensor(shape=[4], dtype=f32, device=sip%d: torch: Coalescing: read of tensor %d [4] f32 is not a collective: do it before or after)", rank, 1+2*rank)
		dist.Coalescing(r, func() error {
			if got := fmt.Sprint(x); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			return nil
		})
		return dist.Barrier(r)
	})
	if err != nil {
		t.Error(err)
	}
	_, err = hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
		list := []*torch.Tensor{hostedtest.Full(r, 1, 4), hostedtest.Full(r, 1, 5), hostedtest.Full(r, 1, 6)}
		return dist.AllReduceCoalesced(r, list[:2+r.Rank()/2], dist.SUM)
	})
	hostedtest.Blames(t, err, []int{2}, "all_reduce_coalesced 1 of the default group: the ranks do not agree: ranks 0, 1: all_reduce_coalesced: all_reduce of f32 [4], sum; all_reduce of f32 [5], sum (coalesced_test.go:",
		"rank 2: all_reduce_coalesced: all_reduce of f32 [4], sum; all_reduce of f32 [5], sum; all_reduce of f32 [6], sum")
}

// TestALaunchBehindCoalescedCollectives checks that a launch after coalesced collectives
// starts only when the collectives on the PEs of the launch have ended. The host sends the
// launch earlier, while the collectives still run.
func TestALaunchBehindCoalescedCollectives(t *testing.T) {
	l, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
		x := torch.Must(r.Full(1, torch.F32, torch.Shape{5}, torch.On(r.PE(r.Rank(), 0, 0))))
		y := torch.Must(r.Full(2, torch.F32, torch.Shape{5}, torch.On(r.PE(r.Rank(), 0, 1))))
		for range 3 {
			torch.OK(dist.AllReduceCoalesced(r, []*torch.Tensor{x, y}, dist.SUM))
			for _, z := range []*torch.Tensor{y, x} {
				torch.Must(r.Launch("one less", func(t *tl.PE, x tl.Ptr) {
					t.Store(x, t.Load(x, tl.Shape{5}, tl.F32).Sub(1))
				}, z))
			}
		}
		return errors.Join(r.Check("x", x, hostedtest.Fill(14, 5)), r.Check("y", y, hostedtest.Fill(41, 5)))
	})
	if err != nil || !l.Checks().OK() || len(l.Checks()) != 6 {
		t.Errorf("error %v, checks %+v", err, l.Checks())
	}
}

// TestCoalescingThatFailsReducesNothing checks that a partial tensor keeps its addends if
// the function that was passed to Coalescing returns an error.
func TestCoalescingThatFailsReducesNothing(t *testing.T) {
	_, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
		x := torch.Must(r.FromSlice(lists.Count(1, 5), torch.F32, torch.Shape{5}, torch.DPPolicy{PE: torch.Partial, NumCubes: 1, NumPEs: 3}))
		torch.Must(r.Launch("own", func(t *tl.PE, x tl.Ptr) {
			t.Store(x, t.Load(x, tl.Shape{5}, tl.F32).Add(float64(t.Rank())))
		}, x))
		half := func(fail error) error {
			return dist.Coalescing(r, func() error { return errors.Join(dist.AllReduce(r, x, dist.SUM), fail) })
		}
		reason := errors.New("a reason")
		if err := half(reason); !errors.Is(err, reason) {
			return fmt.Errorf("Coalescing returns %v", err)
		}
		torch.OK(r.Check("addends", x, lists.Count(4, 5)))
		torch.OK(half(nil))
		torch.OK(r.Check("copies", x, []int{12, 15, 18, 21, 24}))
		if checks := r.Checks(); !r.Checks().OK() || checks[len(checks)-1].Elems != 3*5 {
			return fmt.Errorf("checks %+v", checks)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestMakingIsNotCoalesced checks that a collective with a producer is refused inside
// Coalescing, because Coalescing would not run the producer.
func TestMakingIsNotCoalesced(t *testing.T) {
	_, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
		x := hostedtest.Full(r, r.Rank(), 7)
		m := dist.Making{Name: "a product", Make: func(*tl.PE, int, int) func() bool { return func() bool { return false } }}
		return dist.Coalescing(r, func() error { return dist.AllReduceMaking(r, m, []*torch.Tensor{x}, dist.SUM) })
	})
	hostedtest.Blames(t, err, []int{0, 1, 2}, "torch: Making: a product overlaps with its own collective: do it before or after Coalescing")
}

// elapsed calls `do`, waits for the operations that `do` has enqueued on rank r, and
// returns the simulated time from the call to the end of the operations.
func elapsed(r *torch.Rank, do func() error) torch.Time {
	torch.OK(r.Synchronize())
	start := r.Now()
	torch.OK(do())
	torch.OK(r.Synchronize())
	return r.Now() - start
}
