package torch_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

func TestAThousandAllReducesInFlight(t *testing.T) {
	const ranks, works = 4, 1000
	l, err := spawn(t, ranks, func(rank int, ctx *torch.Context, dist *torch.Distributed) error {
		var tensors []*torch.Tensor
		var pending []*torch.Work
		for i := range works {
			x := full(ctx, rank+i%7, 5)
			w, err := dist.AllReduceAsync(x, torch.SUM)
			if err != nil {
				return err
			}
			tensors, pending = append(tensors, x), append(pending, w)
		}
		if pending[0].IsCompleted() {
			return fmt.Errorf("%v is complete before anybody waited", pending[0])
		}
		for i := works - 1; i >= 0; i-- { // in no particular order
			if err := pending[i].Wait(); err != nil {
				return err
			}
		}
		for i, x := range tensors {
			if err := ctx.Check(fmt.Sprintf("rank %d, work %d", rank, i), x, fill(6+4*(i%7), 5)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || !l.Checks().OK() || len(l.Checks()) != ranks*works {
		t.Errorf("error %v, %d checks, all right: %v", err, len(l.Checks()), l.Checks().OK())
	}
}

// Ranks that read their tensors in different orders, some before the others have even
// called what they wait for, all get on.
func TestReadsInAnyOrder(t *testing.T) {
	l, err := spawn(t, 2, func(rank int, ctx *torch.Context, dist *torch.Distributed) error {
		a, b, c := full(ctx, 1, 4), full(ctx, 2, 4), full(ctx, 3, 4)
		read := func(x *torch.Tensor, want int) error { return ctx.Check("read", x, fill(want, 4)) }
		if rank == 0 {
			// c is not in any collective: its read waits for nothing of rank 1's.
			if err := dist.AllReduce(a, torch.SUM); err != nil {
				return err
			}
			if err := read(c, 3); err != nil {
				return err
			}
			if err := read(a, 2); err != nil {
				return err
			}
			if err := dist.AllReduce(b, torch.SUM); err != nil {
				return err
			}
			return read(b, 4)
		}
		if err := read(b, 2); err != nil {
			return err
		}
		if err := dist.AllReduce(a, torch.SUM); err != nil {
			return err
		}
		if err := dist.AllReduce(b, torch.SUM); err != nil {
			return err
		}
		if err := read(b, 4); err != nil {
			return err
		}
		return read(a, 2)
	})
	if err != nil || !l.Checks().OK() {
		t.Errorf("error %v, checks %+v", err, l.Checks())
	}
}

func TestReadingWhatAnUnawaitedWorkWritesIsAnError(t *testing.T) {
	_, err := spawn(t, 2, func(rank int, ctx *torch.Context, dist *torch.Distributed) error {
		x, y := full(ctx, 1, 4), full(ctx, 1, 4)
		w, err := dist.AllReduceAsync(x, torch.SUM)
		if err != nil {
			return err
		}
		if _, err := y.Numpy(); err != nil {
			return fmt.Errorf("another tensor: %w", err)
		}
		_, err = x.Numpy()
		if err == nil || !strings.Contains(err.Error(), "all_reduce 1 of the default group, which writes it, has not been waited for") {
			return fmt.Errorf("read before Wait: %v", err)
		}
		for range 2 { // a second Wait does nothing
			if err := w.Wait(); err != nil {
				return err
			}
		}
		if !w.IsCompleted() {
			return fmt.Errorf("%v is not complete after Wait", w)
		}
		_, err = x.Numpy()
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// Messages do not wait for each other, unless they have a tensor in common.
func TestMessagesCross(t *testing.T) {
	l, err := spawn(t, 2, func(rank int, ctx *torch.Context, dist *torch.Distributed) error {
		x, y := full(ctx, rank+1, 3), full(ctx, 0, 3)
		if err := dist.Send(x, 1-rank, 0); err != nil {
			return err
		}
		if err := dist.Recv(y, 1-rank, 0); err != nil {
			return err
		}
		return ctx.Check("message", y, fill(2-rank, 3))
	})
	if err != nil || !l.Checks().OK() {
		t.Errorf("error %v, checks %+v", err, l.Checks())
	}
	_, err = spawn(t, 2, func(rank int, ctx *torch.Context, dist *torch.Distributed) error {
		x := full(ctx, rank, 3)
		if err := dist.Recv(x, 1-rank, 0); err != nil {
			return err
		}
		return dist.Send(x, 1-rank, 0)
	})
	blames(t, err, []int{0, 1}, "the ranks wait for each other")
}

func TestARelay(t *testing.T) {
	l, err := spawn(t, 4, func(rank int, ctx *torch.Context, dist *torch.Distributed) error {
		x := full(ctx, 7*(1-min(rank, 1)), 3)
		if rank > 0 {
			if err := dist.Recv(x, rank-1, 5); err != nil {
				return err
			}
		}
		if rank < 3 {
			if err := dist.Send(x, rank+1, 5); err != nil {
				return err
			}
		}
		return ctx.Check("relayed", x, fill(7, 3))
	})
	if err != nil || !l.Checks().OK() {
		t.Errorf("error %v, checks %+v", err, l.Checks())
	}
}

// The same bytes and the same times, whatever else the computer does.
func TestSpawnIsDeterministic(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var want string
	for procs := 1; procs <= 4; procs++ {
		runtime.GOMAXPROCS(procs)
		var got strings.Builder
		l, err := spawn(t, 3, func(rank int, ctx *torch.Context, dist *torch.Distributed) error {
			data := make([]float64, 1000)
			for i := range data {
				data[i] = 1 / float64(3*i+rank+1)
			}
			x, err := ctx.FromSlice(data, torch.F16, torch.Shape{1000}, torch.DPPolicy{PE: torch.RowWise, NumCubes: 1})
			if err != nil {
				return err
			}
			if err := dist.AllReduce(x, torch.AVG); err != nil {
				return err
			}
			a, err := x.Numpy()
			fmt.Fprintf(&got, "%d %x\n", rank, a.Bytes)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&got, "%v %v", l.Now(), l.Collective)
		if want == "" {
			want = got.String()
		}
		if got.String() != want {
			t.Errorf("GOMAXPROCS=%d: another result", procs)
		}
	}
}

// A program without Spawn has both ends of a message.
func TestMessagesOfPEs(t *testing.T) {
	l := newLab(t, torch.Options{})
	dist := l.Distributed()
	torch.OK(dist.InitProcessGroup("ahbm", func(o *torch.GroupOptions) { o.WorldSize = 4 }))
	x := l.tensor(count(0, 8), torch.I32, torch.On(dist.PEs()...))
	y := l.zeros(torch.I32, torch.On(dist.PEs()...), 8)
	var ops []torch.P2POp
	for rank := range 4 {
		ops = append(ops, torch.P2POp{Kind: torch.Sends, Tensor: x, Peer: (rank + 1) % 4, Rank: rank},
			torch.P2POp{Kind: torch.Recvs, Tensor: y, Peer: (rank + 3) % 4, Rank: rank})
	}
	for _, w := range torch.Must(dist.BatchISendIRecv(ops)) {
		torch.OK(w.Wait())
	}
	if want := "message from rank 0 to rank 1 and 3 more"; l.Collective.Name != want {
		t.Errorf("the last program was %q, want %q", l.Collective.Name, want)
	}
	l.holds("shifted", y, []int{6, 7, 0, 1, 2, 3, 4, 5})

	// Ends that do not fit are an error, and all else goes on.
	z := l.zeros(torch.I32, torch.On(dist.PEs()...), 4)
	torch.OK(dist.Send(x, 1, 0))
	_, err := dist.BatchISendIRecv([]torch.P2POp{{Kind: torch.Recvs, Tensor: z, Peer: 0, Rank: 1}})
	if err == nil || !strings.Contains(err.Error(), "message from rank 0 to rank 1: the ranks do not agree: rank 0: a message of i32 [2] (async_test.go:") {
		t.Errorf("error %v", err)
	}
	l.holds("x", x, count(0, 8))
	if err := l.Synchronize(); err != nil {
		t.Error(err)
	}
	torch.OK(dist.Send(x, 1, 7))
	err = l.Synchronize()
	if err == nil || !strings.Contains(err.Error(), "message from rank 0 to rank 1 with tag 7: nothing is left that could end it: a program without Spawn gives both ends of a message, with P2POp.Rank in BatchISendIRecv") {
		t.Errorf("error %v", err)
	}
}

// What comes after an asynchronous operation does not wait for it, unless they have a
// tensor in common: a message may be asked for long before its other end is.
func TestAsyncHoldsNothingUp(t *testing.T) {
	l, err := spawn(t, 2, func(rank int, ctx *torch.Context, dist *torch.Distributed) error {
		x, y := full(ctx, rank, 3), full(ctx, 0, 3)
		if rank == 0 { // asks for what rank 1 has only when it has got y
			w := torch.Must(dist.IRecv(x, 1, 0))
			sum := torch.Must(dist.AllReduceAsync(full(ctx, 1, 3), torch.SUM))
			torch.Must(ctx.Launch("five", func(t *tl.PE, y tl.Ptr) { t.Store(y, t.Full(tl.Shape{3}, tl.F32, 5)) }, y))
			torch.OK(dist.Send(y, 1, 0))
			torch.OK(w.Wait())
			torch.OK(sum.Wait())
			return ctx.Check("x", x, fill(6, 3))
		}
		torch.OK(dist.Recv(y, 0, 0))
		torch.Must(ctx.Launch("add", func(t *tl.PE, x, y tl.Ptr) {
			t.Store(x, t.Load(x, tl.Shape{3}, tl.F32).Add(t.Load(y, tl.Shape{3}, tl.F32)))
		}, x, y))
		torch.OK(dist.Send(x, 0, 0))
		return dist.AllReduce(x, torch.SUM)
	})
	if err != nil || !l.Checks().OK() || len(l.Checks()) != 1 {
		t.Errorf("error %v, checks %+v", err, l.Checks())
	}
}

// A loop until a Work is complete comes to an end.
func TestPollingAWork(t *testing.T) {
	_, err := spawn(t, 2, func(rank int, ctx *torch.Context, dist *torch.Distributed) error {
		w := torch.Must(dist.AllReduceAsync(full(ctx, 1, 3), torch.SUM))
		looks := 0
		for !w.IsCompleted() {
			looks++
		}
		if looks == 0 {
			return fmt.Errorf("it was complete at once")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
