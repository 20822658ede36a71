package torch_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// waves makes a rank's tensors of numbers whose sums are rounded, of odd sizes.
func waves(ctx *torch.Context, rank int, on ...torch.TensorOption) (list []*torch.Tensor) {
	for i, n := range []int{1029, 7, 301} {
		list = append(list, torch.Must(ctx.FromFunc(func(k int) float64 { return math.Sin(float64(k + 31*i + 7*rank)) }, torch.F16, torch.Shape{n}, on...)))
	}
	return list
}

// Collectives that are coalesced have the bits of single ones, and take less time: 3 tensors
// on 5 ranks.
func TestCoalescedAllReduce(t *testing.T) {
	run := func(how func(dist *torch.Distributed, list []*torch.Tensor) error) (values string, time torch.Time, name string) {
		l, err := spawn(t, 5, func(rank int, ctx *torch.Context, dist *torch.Distributed) error {
			list := waves(ctx, rank)
			torch.OK(ctx.Synchronize())
			torch.OK(torch.Must(dist.BarrierAsync()).Wait())
			time = elapsed(ctx, func() error { return how(dist, list) })
			for _, x := range list {
				values += fmt.Sprint(torch.Must(x.Numpy()).Bytes)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return values, time, l.Collective.Name
	}
	single, each, _ := run(func(dist *torch.Distributed, list []*torch.Tensor) (err error) {
		for _, x := range list {
			err = errors.Join(err, dist.AllReduce(x, torch.AVG))
		}
		return err
	})
	coalesced, together, name := run(func(dist *torch.Distributed, list []*torch.Tensor) error {
		return dist.AllReduceCoalesced(list, torch.AVG)
	})
	if single != coalesced || len(single) < 5*3 {
		t.Error("the values are not those of single collectives")
	}
	if each.String() != "5457.867837ns" || together.String() != "5420.861588ns" || name != "all_reduce_coalesced 2 of the default group" {
		t.Errorf("%s takes %v, want 5420.861588ns; one after the other %v, want 5457.867837ns", name, together, each)
	}
}

// Whatever the algorithm and the ranks, collectives take no longer together than one after
// the other, on the same PEs and on others.
func TestCoalescingTakesNoLonger(t *testing.T) {
	for _, algorithm := range append(algorithms("all_reduce"), "auto") {
		for _, n := range []int{3, 5} {
			var each, together torch.Time
			_, err := spawn(t, n, func(rank int, ctx *torch.Context, dist *torch.Distributed) error {
				g := torch.Must(dist.NewGroup(count(0, n), torch.Algorithm(algorithm)))
				list := append(waves(ctx, rank), waves(ctx, rank, torch.On(ctx.PE(rank, 0, 1)))...)
				torch.OK(ctx.Synchronize())
				torch.OK(torch.Must(dist.BarrierAsync()).Wait())
				each = elapsed(ctx, func() (err error) {
					for _, x := range list {
						err = errors.Join(err, dist.AllReduce(x, torch.SUM, g))
					}
					return err
				})
				torch.OK(torch.Must(dist.BarrierAsync()).Wait())
				together = elapsed(ctx, func() error { return dist.AllReduceCoalesced(list, torch.SUM, g) })
				return nil
			})
			if err != nil || together > each || together == 0 {
				t.Errorf("%s on %d ranks: error %v, %v together, %v one after the other", algorithm, n, err, together, each)
			}
		}
	}
}

// Where tensors are on different PEs, their collectives go on side by side: the longer one
// takes no more time than alone.
func TestCoalescedOnOtherPEs(t *testing.T) {
	run := func(numbers ...int) (time torch.Time) {
		_, err := spawn(t, 3, func(rank int, ctx *torch.Context, dist *torch.Distributed) error {
			var list []*torch.Tensor
			for _, i := range numbers {
				list = append(list, torch.Must(ctx.Zeros(torch.F32, torch.Shape{1000 >> (6 * i)}, torch.On(ctx.PE(rank, i, 0)))))
			}
			time = elapsed(ctx, func() error { return dist.AllReduceCoalesced(list, torch.SUM) })
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

// Any collectives of a group are coalesced, each with its own root and reduction.
func TestCoalescing(t *testing.T) {
	l, err := spawn(t, 5, func(rank int, ctx *torch.Context, dist *torch.Distributed) error {
		g := torch.Must(dist.NewGroup([]int{4, 2, 0}))
		if dist.GetRank(g) < 0 {
			return nil
		}
		a, b, c, d := full(ctx, rank, 7), full(ctx, rank, 5), full(ctx, rank, 3), full(ctx, rank, 3)
		all, turned := full(ctx, 99, 9), torch.Must(ctx.FromSlice(count(10*rank, 3), torch.I32, torch.Shape{3}))
		w, err := dist.CoalescingAsync(func() error {
			return errors.Join(
				dist.AllReduce(a, torch.SUM, g), dist.Broadcast(b, 2, g), dist.Reduce(c, 4, torch.MAX, g),
				dist.AllGatherIntoTensor(all, d, g), dist.Barrier(g), dist.AllToAllSingle(turned, turned, nil, nil, g))
		})
		if err != nil || w.String() != "coalesced 1 of group 1" {
			return fmt.Errorf("%v: %w", w, err)
		}
		if _, err := a.Numpy(); err == nil {
			return errors.New("a tensor can be read before Wait")
		}
		torch.OK(w.Wait())
		i := dist.GetRank(g)
		return errors.Join(
			ctx.Check("a", a, fill(6, 7)), ctx.Check("b", b, fill(2, 5)), ctx.Check("c", c, fill(rank, 3)),
			ctx.Check("all", all, slices.Concat(fill(0, 3), fill(2, 3), fill(4, 3))), ctx.Check("turned", turned, []int{i, 20 + i, 40 + i}))
	})
	if err != nil || !l.Checks().OK() || len(l.Checks()) != 15 {
		t.Errorf("error %v, checks %+v", err, l.Checks())
	}
}

// A block without collectives is nothing, and one that fails calls nothing.
func TestCoalescingOfNothing(t *testing.T) {
	boom := errors.New("boom")
	_, err := spawn(t, 3, func(rank int, ctx *torch.Context, dist *torch.Distributed) error {
		x := full(ctx, 1, 4)
		torch.OK(dist.Coalescing(func() error { return nil }))
		err := dist.Coalescing(func() error { return errors.Join(dist.AllReduce(x, torch.SUM), boom) })
		if !errors.Is(err, boom) {
			return fmt.Errorf("error %v", err)
		}
		w := torch.Must(dist.AllReduceAsync(x, torch.SUM))
		if err := w.Wait(); err != nil || w.String() != "all_reduce 1 of the default group" {
			return fmt.Errorf("%v: %w", w, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestMisuseOfCoalescing(t *testing.T) {
	_, err := spawn(t, 3, func(rank int, ctx *torch.Context, dist *torch.Distributed) error {
		x, y := full(ctx, 1, 4), full(ctx, 1, 12)
		g := torch.Must(dist.NewGroup([]int{0, 1, 2}))
		for want, do := range map[string]func(){
			"torch: all_reduce: a list of no tensors: give at least one":              func() { dist.AllReduceCoalesced(nil, torch.SUM) },
			"torch: all_gather: 1 tensors to send and 0 to receive: give as many":     func() { dist.AllGatherIntoTensorCoalesced(nil, []*torch.Tensor{x}) },
			"torch: reduce_scatter: 1 tensors to send and 2 to receive: give as many": func() { dist.ReduceScatterTensorCoalesced([]*torch.Tensor{x, x}, []*torch.Tensor{y}, torch.SUM) },
			"torch: all_gather: 1 tensors to send and 2 to receive: give as many":     func() { dist.AllGatherCoalesced([][]*torch.Tensor{nil, nil}, []*torch.Tensor{x}) },
			fmt.Sprintf("torch: all_reduce: tensor %d [4] f32 is used by an earlier collective of the same Coalescing, and these have no order", 1+2*rank): func() {
				dist.AllReduceCoalesced([]*torch.Tensor{x, x}, torch.SUM)
			},
			"torch: barrier: of group 1 among collectives of the default group that are coalesced: one Coalescing has one group": func() {
				dist.Coalescing(func() error { return errors.Join(dist.AllReduce(x, torch.SUM), dist.Barrier(g)) })
			},
			"torch: Send: a message is not coalesced with collectives: use BatchISendIRecv": func() {
				dist.Coalescing(func() error { return dist.Send(x, 0, 0) })
			},
			"torch: Coalescing: launch nothing is not a collective: do it before or after": func() {
				dist.Coalescing(func() error { return second(ctx.Launch("nothing", nothing, x)) })
			},
			"torch: Wait: the Work is nil: a call within Coalescing returns none, and neither does a Coalescing without calls: use the Work of CoalescingAsync": func() {
				dist.Coalescing(func() error { return torch.Must(dist.AllReduceAsync(x, torch.SUM)).Wait() })
			},
			"torch: IsCompleted: the Work is nil: a call within Coalescing returns none, and neither does a Coalescing without calls: use the Work of CoalescingAsync": func() {
				torch.Must(dist.CoalescingAsync(func() error { return nil })).IsCompleted()
			},
			"torch: DestroyProcessGroup: called within Coalescing, whose collectives need their group: do it after": func() {
				dist.Coalescing(func() error { return errors.Join(dist.AllReduce(x, torch.SUM), dist.DestroyProcessGroup()) })
			},
			"torch: Coalescing: called within another": func() {
				dist.Coalescing(func() error { return dist.AllReduceCoalesced([]*torch.Tensor{x}, torch.SUM) })
			},
		} {
			if err := misuse(do); fmt.Sprint(err) != want {
				return fmt.Errorf("got %v, want %s", err, want)
			}
		}
		want := fmt.Sprintf("tensor(shape=[4], dtype=f32, device=sip%d: torch: Coalescing: read of tensor %d [4] f32 is not a collective: do it before or after)", rank, 1+2*rank)
		dist.Coalescing(func() error {
			if got := fmt.Sprint(x); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			return nil
		})
		return dist.Barrier()
	})
	if err != nil {
		t.Error(err)
	}
	_, err = spawn(t, 3, func(rank int, ctx *torch.Context, dist *torch.Distributed) error {
		list := []*torch.Tensor{full(ctx, 1, 4), full(ctx, 1, 5), full(ctx, 1, 6)}
		return dist.AllReduceCoalesced(list[:2+rank/2], torch.SUM)
	})
	blames(t, err, []int{2}, "all_reduce_coalesced 1 of the default group: the ranks do not agree: ranks 0, 1: all_reduce_coalesced: all_reduce of f32 [4], sum; all_reduce of f32 [5], sum (coalesced_test.go:",
		"rank 2: all_reduce_coalesced: all_reduce of f32 [4], sum; all_reduce of f32 [5], sum; all_reduce of f32 [6], sum")
}

// What comes after coalesced collectives of several launches is sent ahead, and waits for
// them on its PEs.
func TestALaunchBehindCoalescedCollectives(t *testing.T) {
	l, err := spawn(t, 3, func(rank int, ctx *torch.Context, dist *torch.Distributed) error {
		x := torch.Must(ctx.Full(1, torch.F32, torch.Shape{5}, torch.On(ctx.PE(rank, 0, 0))))
		y := torch.Must(ctx.Full(2, torch.F32, torch.Shape{5}, torch.On(ctx.PE(rank, 0, 1))))
		for range 3 {
			torch.OK(dist.AllReduceCoalesced([]*torch.Tensor{x, y}, torch.SUM))
			for _, z := range []*torch.Tensor{y, x} {
				torch.Must(ctx.Launch("one less", func(t *tl.PE, x tl.Ptr) {
					t.Store(x, t.Load(x, tl.Shape{5}, tl.F32).Sub(1))
				}, z))
			}
		}
		return errors.Join(ctx.Check("x", x, fill(14, 5)), ctx.Check("y", y, fill(41, 5)))
	})
	if err != nil || !l.Checks().OK() || len(l.Checks()) != 6 {
		t.Errorf("error %v, checks %+v", err, l.Checks())
	}
}

// A partial tensor keeps its addends if the function that was to reduce it fails.
func TestCoalescingThatFailsReducesNothing(t *testing.T) {
	_, err := spawn(t, 3, func(rank int, ctx *torch.Context, dist *torch.Distributed) error {
		x := torch.Must(ctx.FromSlice(count(1, 5), torch.F32, torch.Shape{5}, torch.DPPolicy{PE: torch.Partial, NumCubes: 1, NumPEs: 3}))
		torch.Must(ctx.Launch("own", func(t *tl.PE, x tl.Ptr) {
			t.Store(x, t.Load(x, tl.Shape{5}, tl.F32).Add(float64(t.Rank())))
		}, x))
		half := func(fail error) error {
			return dist.Coalescing(func() error { return errors.Join(dist.AllReduce(x, torch.SUM), fail) })
		}
		reason := errors.New("a reason")
		if err := half(reason); !errors.Is(err, reason) {
			return fmt.Errorf("Coalescing returns %v", err)
		}
		torch.OK(ctx.Check("addends", x, count(4, 5)))
		torch.OK(half(nil))
		torch.OK(ctx.Check("copies", x, []int{12, 15, 18, 21, 24}))
		if checks := ctx.Checks(); !ctx.Checks().OK() || checks[len(checks)-1].Elems != 3*5 {
			return fmt.Errorf("checks %+v", checks)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// What is made beside a collective is not coalesced with others: it would not be made.
func TestMakingIsNotCoalesced(t *testing.T) {
	_, err := spawn(t, 3, func(rank int, ctx *torch.Context, dist *torch.Distributed) error {
		x := full(ctx, rank, 7)
		m := torch.Making{Name: "a product", Make: func(*tl.PE, int, int) func() bool { return func() bool { return false } }}
		return dist.Coalescing(func() error { return dist.AllReduceMaking(m, []*torch.Tensor{x}, torch.SUM) })
	})
	blames(t, err, []int{0, 1, 2}, "torch: Making: a product runs beside a collective of its own: do it before or after Coalescing")
}
