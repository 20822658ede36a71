package dist_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// withTimeout calls run for n workers whose default group has the given timeout.
func withTimeout(t *testing.T, n int, timeout time.Duration, run worker) (*hostedtest.Lab, error) {
	return hostedtest.Spawn(t, n, func(r *torch.Rank) error {
		torch.OK(dist.DestroyProcessGroup(r))
		torch.OK(dist.InitProcessGroup(r, "ahbm", dist.Timeout(timeout)))
		return run(r)
	})
}

// TestTimeoutOfAGroup checks that the workers end when a collective or a message reaches
// its timeout. The error must name the ranks that have not called the operation.
func TestTimeoutOfAGroup(t *testing.T) {
	reduce := func(n int) worker {
		return func(r *torch.Rank) error {
			x := torch.Must(r.Zeros(torch.F32, torch.Shape{n}))
			if r.Rank()%3 == 1 {
				pause(r, 40)
			}
			return dist.AllReduce(r, x, dist.SUM)
		}
	}
	for _, c := range []struct {
		name    string
		n       int
		do      worker
		ranks   []int
		missing string
		want    string
	}{
		{"slow ranks", 5, reduce(5), []int{0, 2, 3}, "[1 4]",
			"ranks 0, 2, 3: all_reduce 1 of the default group: not ended within 5000ns: ranks 1, 4 have not called it"},
		{"a long collective", 3, func(r *torch.Rank) error {
			w := torch.Must(dist.AllReduceAsync(r, torch.Must(r.Zeros(torch.F32, torch.Shape{1 << 18})), dist.SUM))
			return w.Wait()
		}, []int{0, 1, 2}, "[]", "ranks 0-2: all_reduce 1 of the default group: not ended within 5000ns, though all its ranks have called it: raise the timeout"},
		{"a group of its own", 3, func(r *torch.Rank) error {
			g := torch.Must(dist.NewGroup(r, []int{2, 1}, dist.Timeout(5*time.Microsecond)))
			if r.Rank() == 2 {
				return dist.Barrier(r, g)
			}
			pause(r, 40)
			return nil
		}, []int{2}, "[1]", "rank 2: barrier 1 of group 1: not ended within 5000ns: rank 1 has not called it"},
		{"a message", 3, func(r *torch.Rank) error {
			if r.Rank() == 0 {
				return dist.Send(r, torch.Must(r.Zeros(torch.F32, torch.Shape{3})), 2, 7)
			}
			pause(r, 40)
			return nil
		}, []int{0}, "[2]", "rank 0: message from rank 0 to rank 2 with tag 7: not ended within 5000ns: rank 2 has not called it"},
		{"any source", 3, func(r *torch.Rank) error {
			if r.Rank() == 0 {
				return dist.Recv(r, torch.Must(r.Zeros(torch.F32, torch.Shape{3})), dist.AnySource, 0)
			}
			pause(r, 40)
			return nil
		}, []int{0}, "[1 2]", "rank 0: message from any rank to rank 0: not ended within 5000ns: ranks 1, 2 have not called it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var last torch.Time
			l, err := withTimeout(t, c.n, 5*time.Microsecond, func(r *torch.Rank) error {
				defer func() { last = max(last, r.Now()) }()
				return c.do(r)
			})
			hostedtest.Blames(t, err, c.ranks)
			hostedtest.Says(t, "error", err, c.want)
			var late *dist.TimeoutError
			if !errors.As(err, &late) || fmt.Sprint(late.Missing) != c.missing || late.After != 5*simtime.Microsecond {
				t.Errorf("the error is %+v", late)
			}
			if l.Err() != nil || last != 5*simtime.Microsecond {
				t.Errorf("the workers end at %v, and the machine with %v", last, l.Err())
			}
		})
	}
}

// TestUnexpiredTimeoutsChangeNothing checks that timeouts that do not expire change neither
// values nor times.
func TestUnexpiredTimeoutsChangeNothing(t *testing.T) {
	run := func(timeout time.Duration) (torch.Time, dist.Stats) {
		l, err := withTimeout(t, 3, timeout, func(r *torch.Rank) error {
			x := hostedtest.Full(r, r.Rank(), 1029)
			torch.OK(dist.AllReduce(r, x, dist.SUM))
			w := torch.Must(dist.BroadcastAsync(r, x, 1))
			torch.OK(w.WaitTimeout(timeout))
			torch.OK(dist.MonitoredBarrier(r, timeout, true))
			return r.Check("x", x, hostedtest.Fill(3, 1029))
		})
		if err != nil || !l.Checks().OK() || len(l.Checks()) != 3 {
			t.Errorf("timeout %v: error %v, checks %+v", timeout, err, l.Checks())
		}
		return l.Now(), dist.Last(l.Context)
	}
	never, last := run(0)
	for _, timeout := range []time.Duration{20 * time.Microsecond, time.Hour} {
		if now, collective := run(timeout); now != never || !reflect.DeepEqual(collective, last) {
			t.Errorf("with a timeout of %v it ends at %v with %+v, without at %v with %+v", timeout, now, collective, never, last)
		}
	}
}

// TestTimeoutsOfRanksThatNeverCome checks the error if a rank can never call a collective,
// because it has returned or because two ranks wait for each other. The error must be the
// same with and without a timeout.
func TestTimeoutsOfRanksThatNeverCome(t *testing.T) {
	for want, do := range map[string]worker{
		"rank 3: returned without all_reduce 1 of the default group, for which ranks 0-2 wait": func(r *torch.Rank) error {
			if r.Rank() == 3 {
				return nil
			}
			return dist.AllReduce(r, torch.Must(r.Zeros(torch.F32, torch.Shape{3})), dist.SUM)
		},
		"rank 0: waits for barrier 1 of the default group, which rank 1 has not called; the ranks wait for each other: call collectives in the same order on all of them\n" +
			"rank 1: waits for barrier 1 of group 1, which rank 0 has not called; the ranks wait for each other: call collectives in the same order on all of them": func(r *torch.Rank) error {
			g := torch.Must(dist.NewGroup(r, []int{0, 1}))
			if r.Rank() > 1 {
				return dist.Barrier(r)
			}
			if r.Rank() == 1 {
				return torch.Must(dist.BarrierAsync(r, g)).Wait()
			}
			return torch.Must(dist.BarrierAsync(r)).Wait()
		},
	} {
		for _, timeout := range []time.Duration{0, time.Microsecond, time.Hour} { // the last is later than the limit of the run
			_, err := withTimeout(t, 4, timeout, do)
			hostedtest.Says(t, fmt.Sprint("timeout ", timeout), err, want)
		}
	}
}

// TestTimeoutsOfKernelsThatNeverEnd checks that a kernel that waits forever is reported as
// a deadlock, with and without a timeout. The error must not blame the collective that
// follows the kernel.
func TestTimeoutsOfKernelsThatNeverEnd(t *testing.T) {
	stuck := func(t *tl.PE, x tl.Ptr) {
		if t.Rank() == 0 {
			t.Recv(tl.East, tl.Shape{3}, tl.F32)
		}
	}
	for _, timeout := range []time.Duration{0, 9 * time.Microsecond, time.Hour} {
		at := "deadlock at 9000ns: "
		if timeout != 9*time.Microsecond {
			at = "deadlock at 209.184489ns: "
		}
		_, err := withTimeout(t, 3, timeout, func(r *torch.Rank) error {
			x := torch.Must(r.Zeros(torch.F32, torch.Shape{3}))
			if pe := r.PE(r.Rank(), 0, 0); r.Rank() == 1 {
				torch.Must(r.Launch("stuck", stuck, x, torch.PEs(pe, pe+1), torch.Neighbors(torch.Line(pe, pe+1))))
			}
			return errors.Join(dist.AllReduce(r, x, dist.SUM), dist.AllReduce(r, x, dist.SUM), r.Synchronize())
		})
		hostedtest.Blames(t, err, []int{1}, "rank 1: launch stuck: "+at, "stuck@sip1.cube0.pe0 waits for a message [3] f32")
		l := hostedtest.PEs(t, 3, dist.Timeout(timeout))
		x := l.MustZeros(torch.F32, torch.On(dist.PEs(l.Rank)...), 9)
		torch.Must(l.Launch("stuck", stuck, x, torch.Neighbors(torch.Line(0, 1))))
		torch.OK(dist.AllReduce(l.Rank, x, dist.SUM))
		if err := l.Synchronize(); err == nil || !strings.HasPrefix(err.Error(), "launch stuck: deadlock at ") {
			t.Errorf("timeout %v without Spawn: %v", timeout, err)
		}
	}
}

// TestTimeoutOfHalfAMessage checks that a program without Spawn can enqueue the other end
// of a message after WaitTimeout has failed.
func TestTimeoutOfHalfAMessage(t *testing.T) {
	l := hostedtest.PEs(t, 3)
	x, y := l.Ints(lists.Count(0, 9), torch.I32, torch.On(dist.PEs(l.Rank)...)), l.MustZeros(torch.I32, torch.On(dist.PEs(l.Rank)...), 9)
	for i, source := range []int{1, dist.AnySource} {
		w := torch.Must(dist.BatchISendIRecv(l.Rank, []dist.P2POp{{Kind: dist.Recvs, Tensor: y, Peer: source, Rank: 2 * i}}))[0]
		from := []string{"rank 1", "any rank"}[i]
		hostedtest.Says(t, "half a message", w.WaitTimeout(time.Microsecond), fmt.Sprintf("message from %s to rank %d: not ended within 1000ns: its other end has not been asked for", from, 2*i))
		torch.Must(dist.BatchISendIRecv(l.Rank, []dist.P2POp{{Kind: dist.Sends, Tensor: x, Peer: 2 * i, Rank: 1}}))
		if err := w.WaitTimeout(time.Millisecond); err != nil || w.Source() != 1 {
			t.Errorf("the message from rank %d ends with %v", w.Source(), err)
		}
	}
	l.Holds("y", y, []int{3, 4, 5, 0, 0, 0, 3, 4, 5})
}

// TestTimeoutsAreInherited checks that groups inherit the timeout of the default group
// unless an option sets another one. It also checks that all ranks must give the same
// timeout, and that a negative timeout is refused.
func TestTimeoutsAreInherited(t *testing.T) {
	_, err := withTimeout(t, 3, time.Microsecond, func(r *torch.Rank) error {
		g := torch.Must(dist.NewGroup(r, []int{0, 1}, dist.Timeout(0)))
		h := torch.Must(dist.NewGroup(r, []int{0, 1}))
		if r.Rank() == 0 {
			torch.OK(torch.Must(dist.BarrierAsync(r, g)).Wait())
			torch.OK(torch.Must(dist.BarrierAsync(r, h)).Wait())
		}
		if r.Rank() == 1 {
			pause(r, 9)
			torch.OK(torch.Must(dist.BarrierAsync(r, g)).Wait())
			pause(r, 9)
		}
		return nil
	})
	hostedtest.Says(t, "error", err, "rank 0: barrier 1 of group 2: not ended within 1000ns: rank 1 has not called it")
	_, err = withTimeout(t, 3, 0, func(r *torch.Rank) error {
		return hostedtest.Second(dist.NewGroup(r, []int{0, 1}, dist.Timeout(time.Duration(r.Rank()/2))))
	})
	hostedtest.Says(t, "error", err, "rank 2: NewGroup: rank 2 makes group 1 with other settings than ranks 0, 1: all ranks make the same groups in the same order")
	hostedtest.Says(t, "misuse", hostedtest.Misuse(func() { dist.Timeout(-1)(&dist.GroupOptions{}) }), "torch: Timeout: a timeout of -1ns: give one from 0 to an hour of simulated time")
}

// TestWaitTimeout checks that WaitTimeout returns a TimeoutError when the time has passed.
// The collective must continue, so that a second WaitTimeout succeeds.
func TestWaitTimeout(t *testing.T) {
	var took torch.Time
	l, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
		rank := r.Rank()
		x := hostedtest.Full(r, rank, 7)
		torch.OK(r.Synchronize())
		if rank == 2 {
			pause(r, 9)
		}
		w := torch.Must(dist.AllReduceAsync(r, x, dist.SUM))
		if rank == 0 {
			start := r.Now()
			err := w.WaitTimeout(123 * time.Nanosecond)
			took = r.Now() - start
			var late *dist.TimeoutError
			if want := "all_reduce 1 of the default group: not ended within 123ns: rank 2 has not called it"; !errors.As(err, &late) || err.Error() != want {
				return fmt.Errorf("got %v, want %s", err, want)
			}
			if _, err := x.Numpy(); err == nil || !strings.Contains(err.Error(), "has not been waited for") {
				return fmt.Errorf("read: %v", err)
			}
		}
		torch.OK(w.WaitTimeout(time.Second))
		torch.OK(w.WaitTimeout(time.Nanosecond)) // has ended
		return r.Check("x", x, hostedtest.Fill(3, 7))
	})
	if err != nil || took != 123*simtime.Nanosecond || !l.Checks().OK() || len(l.Checks()) != 3 {
		t.Errorf("error %v after %v, checks %+v", err, took, l.Checks())
	}
}

// TestTimeoutsWithoutSpawn checks the timeouts of collectives and messages in a program
// without Spawn.
func TestTimeoutsWithoutSpawn(t *testing.T) {
	l := hostedtest.PEs(t, 5)
	x := l.MustZeros(torch.F32, torch.On(dist.PEs(l.Rank)...), 5*300)
	w := torch.Must(dist.AllReduceAsync(l.Rank, x, dist.SUM))
	hostedtest.Says(t, "WaitTimeout", w.WaitTimeout(300*time.Nanosecond), "all_reduce 1 of the default group: not ended within 300ns, though all its ranks have called it: raise the timeout")
	if l.Now() != 300*simtime.Nanosecond {
		t.Errorf("it is %v", l.Now())
	}
	torch.OK(w.Wait())
	torch.OK(dist.MonitoredBarrier(l.Rank, time.Microsecond, false))
	l = hostedtest.PEs(t, 5, dist.Timeout(300*time.Nanosecond))
	x = l.MustZeros(torch.F32, torch.On(dist.PEs(l.Rank)...), 5*300)
	torch.OK(dist.AllReduce(l.Rank, x, dist.SUM))
	hostedtest.Says(t, "Synchronize", l.Synchronize(), "all_reduce 1 of the default group: not ended within 300ns, though all its ranks have called it: raise the timeout")
}

// TestMonitoredBarrier checks that the error of rank 0 names the lowest rank that has not
// arrived, or all such ranks. It also checks that the barrier then fails on all ranks, and
// that later operations do not wait for the barrier. If rank 0 itself does not arrive in
// time, another rank must report it.
func TestMonitoredBarrier(t *testing.T) {
	for _, c := range []struct {
		all  bool
		late []int // ranks that arrive late
		want string
	}{
		{false, []int{3, 1}, "monitored_barrier 1 of group 1: rank 1 has not arrived within 1000ns"},
		{true, []int{3, 1}, "monitored_barrier 1 of group 1: ranks 1, 3 have not arrived within 1000ns"},
		{true, []int{4}, "monitored_barrier 1 of group 1: rank 4 has not arrived within 1000ns"},
		{true, nil, ""},
	} {
		var got [5]string
		l, err := hostedtest.Spawn(t, 5, func(r *torch.Rank) error {
			rank := r.Rank()
			g := torch.Must(dist.NewGroup(r, []int{4, 3, 1, 0}, dist.Timeout(time.Hour)))
			if rank == 2 {
				return nil
			}
			if slices.Contains(c.late, rank) {
				pause(r, 40)
			}
			if err := dist.MonitoredBarrier(r, time.Microsecond, c.all, g); err != nil {
				got[rank] = err.Error()
			}
			x := hostedtest.Full(r, rank, 3)
			torch.OK(dist.AllReduce(r, x, dist.SUM, g))
			torch.OK(dist.MonitoredBarrier(r, 0, c.all, g)) // with the timeout of the group
			return r.Check("x", x, hostedtest.Fill(8, 3))
		})
		want := [5]string{c.want, "rank 0 gave up: " + c.want, "", "rank 0 gave up: " + c.want, "rank 0 gave up: " + c.want}
		if c.want == "" {
			want = [5]string{}
		}
		if err != nil || got != want || !l.Checks().OK() || len(l.Checks()) != 4 {
			t.Errorf("error %v, checks %+v\ngot  %q\nwant %q", err, l.Checks(), got, want)
		}
	}
	_, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
		if r.Rank() == 0 {
			pause(r, 40)
			return nil
		}
		return dist.MonitoredBarrier(r, time.Microsecond, true)
	})
	hostedtest.Blames(t, err, []int{1, 2}, "rank 1: monitored_barrier 1 of the default group: rank 0 has not arrived within 1000ns",
		"rank 2: rank 1 gave up: monitored_barrier 1 of the default group: rank 0 has not arrived within 1000ns")
	_, err = hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
		if r.Rank() == 1 {
			return nil
		}
		return dist.MonitoredBarrier(r, 0, true)
	})
	hostedtest.Says(t, "without a timeout", err, "rank 1: returned without monitored_barrier 1 of the default group, for which ranks 0, 2 wait")
}
