package dist_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// TestAThousandAllReducesInFlight checks the sums of 1000 all-reduces. Each rank starts all
// of them before it waits for any of them.
func TestAThousandAllReducesInFlight(t *testing.T) {
	const ranks, works = 4, 1000
	l, err := hostedtest.Spawn(t, ranks, func(r *torch.Rank) error {
		var tensors []*torch.Tensor
		var pending []*dist.Work
		for i := range works {
			x := hostedtest.Full(r, r.Rank()+i%7, 5)
			w, err := dist.AllReduceAsync(r, x, dist.SUM)
			if err != nil {
				return err
			}
			tensors, pending = append(tensors, x), append(pending, w)
		}
		if pending[0].IsCompleted() {
			return fmt.Errorf("%v is complete before the rank waited", pending[0])
		}
		for i := works - 1; i >= 0; i-- { // not in the order of the calls
			if err := pending[i].Wait(); err != nil {
				return err
			}
		}
		for i, x := range tensors {
			if err := r.Check(fmt.Sprintf("rank %d, work %d", r.Rank(), i), x, hostedtest.Fill(6+4*(i%7), 5)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || !l.Checks().OK() || len(l.Checks()) != ranks*works {
		t.Errorf("error %v, %d checks, all right: %v", err, len(l.Checks()), l.Checks().OK())
	}
}

// TestReadsInAnyOrder checks that ranks can read tensors in different orders, and before
// the other ranks have called the collectives that write the tensors.
func TestReadsInAnyOrder(t *testing.T) {
	l, err := hostedtest.Spawn(t, 2, func(r *torch.Rank) error {
		a, b, c := hostedtest.Full(r, 1, 4), hostedtest.Full(r, 2, 4), hostedtest.Full(r, 3, 4)
		read := func(x *torch.Tensor, want int) error { return r.Check("read", x, hostedtest.Fill(want, 4)) }
		if r.Rank() == 0 {
			// c is not in any collective, so its read does not wait for rank 1.
			if err := dist.AllReduce(r, a, dist.SUM); err != nil {
				return err
			}
			if err := read(c, 3); err != nil {
				return err
			}
			if err := read(a, 2); err != nil {
				return err
			}
			if err := dist.AllReduce(r, b, dist.SUM); err != nil {
				return err
			}
			return read(b, 4)
		}
		if err := read(b, 2); err != nil {
			return err
		}
		if err := dist.AllReduce(r, a, dist.SUM); err != nil {
			return err
		}
		if err := dist.AllReduce(r, b, dist.SUM); err != nil {
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

// TestReadingWhatAnUnawaitedWorkWritesIsAnError checks reads of a tensor that an
// asynchronous collective writes. A read before Wait is an error, and a read after Wait
// works.
func TestReadingWhatAnUnawaitedWorkWritesIsAnError(t *testing.T) {
	_, err := hostedtest.Spawn(t, 2, func(r *torch.Rank) error {
		x, y := hostedtest.Full(r, 1, 4), hostedtest.Full(r, 1, 4)
		w, err := dist.AllReduceAsync(r, x, dist.SUM)
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

// TestMessagesCross checks that messages in opposite directions between two ranks do not
// wait for each other, unless they have a tensor in common.
func TestMessagesCross(t *testing.T) {
	l, err := hostedtest.Spawn(t, 2, func(r *torch.Rank) error {
		rank := r.Rank()
		x, y := hostedtest.Full(r, rank+1, 3), hostedtest.Full(r, 0, 3)
		if err := dist.Send(r, x, 1-rank, 0); err != nil {
			return err
		}
		if err := dist.Recv(r, y, 1-rank, 0); err != nil {
			return err
		}
		return r.Check("message", y, hostedtest.Fill(2-rank, 3))
	})
	if err != nil || !l.Checks().OK() {
		t.Errorf("error %v, checks %+v", err, l.Checks())
	}
	_, err = hostedtest.Spawn(t, 2, func(r *torch.Rank) error {
		rank := r.Rank()
		x := hostedtest.Full(r, rank, 3)
		if err := dist.Recv(r, x, 1-rank, 0); err != nil {
			return err
		}
		return dist.Send(r, x, 1-rank, 0)
	})
	hostedtest.Blames(t, err, []int{0, 1}, "the ranks wait for each other")
}

// TestRelayOfMessages checks that a message passes through all ranks. Each rank receives
// into a tensor and then sends the same tensor to the next rank.
func TestRelayOfMessages(t *testing.T) {
	l, err := hostedtest.Spawn(t, 4, func(r *torch.Rank) error {
		rank := r.Rank()
		x := hostedtest.Full(r, 7*(1-min(rank, 1)), 3)
		if rank > 0 {
			if err := dist.Recv(r, x, rank-1, 5); err != nil {
				return err
			}
		}
		if rank < 3 {
			if err := dist.Send(r, x, rank+1, 5); err != nil {
				return err
			}
		}
		return r.Check("relayed", x, hostedtest.Fill(7, 3))
	})
	if err != nil || !l.Checks().OK() {
		t.Errorf("error %v, checks %+v", err, l.Checks())
	}
}

// TestSpawnIsDeterministic checks that bytes and times do not depend on GOMAXPROCS.
func TestSpawnIsDeterministic(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var want string
	for procs := 1; procs <= 4; procs++ {
		runtime.GOMAXPROCS(procs)
		var got strings.Builder
		l, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
			data := make([]float64, 1000)
			for i := range data {
				data[i] = 1 / float64(3*i+r.Rank()+1)
			}
			x, err := r.FromSlice(data, torch.F16, torch.Shape{1000}, torch.DPPolicy{PE: torch.RowWise, NumCubes: 1})
			if err != nil {
				return err
			}
			if err := dist.AllReduce(r, x, dist.AVG); err != nil {
				return err
			}
			a, err := x.Numpy()
			fmt.Fprintf(&got, "%d %x\n", r.Rank(), a.Bytes)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&got, "%v %v", l.Now(), dist.Last(l.Context))
		if want == "" {
			want = got.String()
		}
		if got.String() != want {
			t.Errorf("GOMAXPROCS=%d: another result", procs)
		}
	}
}

// TestMessagesOfPEs checks messages of a program without Spawn, which enqueues both ends of
// each message. It also checks the errors for ends that do not match and for a missing end.
func TestMessagesOfPEs(t *testing.T) {
	l := hostedtest.New(t, torch.Options{})
	torch.OK(dist.InitProcessGroup(l.Rank, "ahbm", func(o *dist.GroupOptions) { o.WorldSize = 4 }))
	x := l.Ints(lists.Count(0, 8), torch.I32, torch.On(dist.PEs(l.Rank)...))
	y := l.MustZeros(torch.I32, torch.On(dist.PEs(l.Rank)...), 8)
	var ops []dist.P2POp
	for rank := range 4 {
		ops = append(ops, dist.P2POp{Kind: dist.Sends, Tensor: x, Peer: (rank + 1) % 4, Rank: rank},
			dist.P2POp{Kind: dist.Recvs, Tensor: y, Peer: (rank + 3) % 4, Rank: rank})
	}
	for _, w := range torch.Must(dist.BatchISendIRecv(l.Rank, ops)) {
		torch.OK(w.Wait())
	}
	if want := "message from rank 0 to rank 1 and 3 more"; dist.Last(l.Context).Name != want {
		t.Errorf("the last program was %q, want %q", dist.Last(l.Context).Name, want)
	}
	l.Holds("shifted", y, []int{6, 7, 0, 1, 2, 3, 4, 5})

	// Ends that do not fit are an error, and the program continues.
	z := l.MustZeros(torch.I32, torch.On(dist.PEs(l.Rank)...), 4)
	torch.OK(dist.Send(l.Rank, x, 1, 0))
	_, err := dist.BatchISendIRecv(l.Rank, []dist.P2POp{{Kind: dist.Recvs, Tensor: z, Peer: 0, Rank: 1}})
	if err == nil || !strings.Contains(err.Error(), "message from rank 0 to rank 1: the ranks do not agree: rank 0: a message of i32 [2] (async_test.go:") {
		t.Errorf("error %v", err)
	}
	l.Holds("x", x, lists.Count(0, 8))
	if err := l.Synchronize(); err != nil {
		t.Error(err)
	}
	torch.OK(dist.Send(l.Rank, x, 1, 7))
	err = l.Synchronize()
	if err == nil || !strings.Contains(err.Error(), "message from rank 0 to rank 1 with tag 7: nothing is left that could end it: a program without Spawn gives both ends of a message, with P2POp.Rank in BatchISendIRecv") {
		t.Errorf("error %v", err)
	}
}

// TestAsyncDoesNotBlockLaterOperations checks that operations do not wait for an earlier
// asynchronous operation unless both use the same tensor. A rank may enqueue one end of a
// message long before the other end is enqueued.
func TestAsyncDoesNotBlockLaterOperations(t *testing.T) {
	l, err := hostedtest.Spawn(t, 2, func(r *torch.Rank) error {
		x, y := hostedtest.Full(r, r.Rank(), 3), hostedtest.Full(r, 0, 3)
		if r.Rank() == 0 { // receives x, which rank 1 sends only after it has received y
			w := torch.Must(dist.IRecv(r, x, 1, 0))
			sum := torch.Must(dist.AllReduceAsync(r, hostedtest.Full(r, 1, 3), dist.SUM))
			torch.Must(r.Launch("five", func(t *tl.PE, y tl.Ptr) { t.Store(y, t.Full(tl.Shape{3}, tl.F32, 5)) }, y))
			torch.OK(dist.Send(r, y, 1, 0))
			torch.OK(w.Wait())
			torch.OK(sum.Wait())
			return r.Check("x", x, hostedtest.Fill(6, 3))
		}
		torch.OK(dist.Recv(r, y, 0, 0))
		torch.Must(r.Launch("add", func(t *tl.PE, x, y tl.Ptr) {
			t.Store(x, t.Load(x, tl.Shape{3}, tl.F32).Add(t.Load(y, tl.Shape{3}, tl.F32)))
		}, x, y))
		torch.OK(dist.Send(r, x, 0, 0))
		return dist.AllReduce(r, x, dist.SUM)
	})
	if err != nil || !l.Checks().OK() || len(l.Checks()) != 1 {
		t.Errorf("error %v, checks %+v", err, l.Checks())
	}
}

// TestPollingAWork checks that a loop that calls IsCompleted until the result is true comes
// to an end.
func TestPollingAWork(t *testing.T) {
	_, err := hostedtest.Spawn(t, 2, func(r *torch.Rank) error {
		w := torch.Must(dist.AllReduceAsync(r, hostedtest.Full(r, 1, 3), dist.SUM))
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
