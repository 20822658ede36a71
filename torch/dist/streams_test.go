package dist_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/internal/exec"
	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// multiplyAdd is a kernel that computes x = x·factor + addend for n elements, the given
// number of times.
func multiplyAdd(t *tl.PE, x tl.Ptr, n, times, factor, addend int) {
	for range times {
		t.Store(x, t.Load(x, tl.Shape{n}, tl.F32).Mul(factor).Add(addend))
	}
}

// TestAStreamKeepsItsOrder checks that the operations of a stream run in order although the
// host waits for none of them. In another order the values would be different.
func TestAStreamKeepsItsOrder(t *testing.T) {
	const n, ranks = 40, 3
	l, err := hostedtest.Spawn(t, ranks, func(r *torch.Rank) error {
		rank := r.Rank()
		x, y := hostedtest.Full(r, rank, n), hostedtest.Full(r, 0, n)
		launch := func(x *torch.Tensor, factor, addend int) error {
			_, err := r.Launch("steps", multiplyAdd, x, n, 1, factor, addend)
			return err
		}
		err := errors.Join(
			launch(x, 2, 1),                        // 2r+1: 1, 3, 5
			dist.AllReduce(r, x, dist.SUM),         // 9
			launch(x, 3, rank),                     // 27+r
			dist.Broadcast(r, x, 1),                // 28
			launch(x, 1, rank),                     // 28+r
			dist.Reduce(r, x, 2, dist.SUM),         // 28, 29, 87
			y.CopyFrom(hostedtest.Fill(rank+1, n)), // 1, 2, 3
			launch(y, 5, 0),                        // 5, 10, 15
			dist.AllReduce(r, y, dist.PRODUCT),     // 750
			launch(y, 1, rank),                     // 750+r
		)
		if err != nil {
			return err
		}
		z, err := r.Zeros(torch.F32, torch.Shape{n}, torch.On(r.PE(rank, 0, 5)))
		return errors.Join(err, z.CopyFrom(y), launch(y, 0, 0), launch(z, 1, 1),
			r.Check("x", x, hostedtest.Fill([]int{28, 29, 87}[rank], n)), r.Check("y", y, hostedtest.Fill(0, n)), r.Check("z", z, hostedtest.Fill(751+rank, n)))
	})
	if err != nil || !l.Checks().OK() || len(l.Checks()) != 3*ranks {
		t.Errorf("error %v, checks %+v", err, l.Checks())
	}
}

// TestACopyOutlivesItsSource checks that a copy from a slice uses the values that the slice
// has at the time of the call, even if the slice is changed later.
func TestACopyOutlivesItsSource(t *testing.T) {
	l := hostedtest.New(t, hostedtest.Far(t, 1))
	data := lists.Count(0, 5)
	x := l.Ints(data, torch.I32, torch.On(0, 1))
	y := l.MustZeros(torch.I32, torch.On(0), 5)
	if err := y.CopyFrom(data); err != nil {
		t.Fatal(err)
	}
	clear(data)
	l.Holds("x", x, lists.Count(0, 5))
	l.Holds("y", y, lists.Count(0, 5))
}

// TestLaunchesFollowEachOther checks that a launch starts at the instant at which the
// previous launch ends, on the same PEs and on other PEs. The latency from the host to the
// device does not delay the launch, because the host sends launches before their turn. A
// launch that the host sends after all others have ended must be delayed.
func TestLaunchesFollowEachOther(t *testing.T) {
	l := hostedtest.New(t, hostedtest.Far(t, 1))
	var all []*torch.Launched
	x, y := l.MustZeros(torch.F32, torch.On(0), 8), l.MustZeros(torch.F32, torch.On(1, 9, 100), 24)
	for _, z := range []*torch.Tensor{x, x, y, x, y, y} {
		r, err := l.Launch("steps", multiplyAdd, z, 8, 3, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	for i, r := range all[1:] {
		if got, want := r.Start(), all[i].Start()+all[i].Crit(); got != want {
			t.Errorf("launch %d starts at %v, want %v, when launch %d ends", i+1, got, want, i)
		}
	}
	last := all[len(all)-1]
	if got, want := l.Now(), last.Start()+last.Crit(); got != want {
		t.Errorf("it is %v, want %v, the end of the last", got, want)
	}
	late, err := l.Launch("steps", multiplyAdd, x, 8, 3, 1, 1) // sent after the host has seen the end of all launches
	if err != nil {
		t.Fatal(err)
	}
	if got, least := late.Start(), last.Start()+last.Crit()+10*simtime.Microsecond; got < least {
		t.Errorf("a launch that was not sent ahead starts at %v, want %v or more", got, least)
	}
}

// TestCollectivesFollowLaunches checks that a collective starts at the end of the last
// earlier launch, and that the next launches start at the end of the collective.
func TestCollectivesFollowLaunches(t *testing.T) {
	var before, after [2]*torch.Launched
	var ended [2]torch.Time
	l := hostedtest.New(t, hostedtest.Far(t, 2))
	err := l.Spawn(func(r *torch.Rank) (err error) {
		rank := r.Rank()
		if err := dist.InitProcessGroup(r, "ahbm"); err != nil {
			return err
		}
		x := hostedtest.Full(r, rank, 8)
		if before[rank], err = r.Launch("before", multiplyAdd, x, 8, 1+9*rank, 1, 0); err != nil {
			return err
		}
		if err := dist.AllReduce(r, x, dist.SUM); err != nil {
			return err
		}
		if after[rank], err = r.Launch("after", multiplyAdd, x, 8, 1, 1, 1); err != nil {
			return err
		}
		err = r.Synchronize()
		ended[rank] = r.Now()
		return errors.Join(err, r.Check("x", x, hostedtest.Fill(2, 8)))
	}, 2)
	if err != nil || !l.Checks().OK() {
		t.Fatalf("error %v, checks %+v", err, l.Checks())
	}
	slow := before[1].Start() + before[1].Crit()
	if c := dist.Last(l.Context); c.Start != slow || c.Crit == 0 {
		t.Errorf("the all-reduce starts at %v, want %v, when the slower rank is there", c.Start, slow)
	}
	for rank, r := range after {
		if got, want := r.Start(), dist.Last(l.Context).Start+dist.Last(l.Context).Crit; got != want {
			t.Errorf("rank %d continues at %v, want %v", rank, got, want)
		}
		if got, want := ended[rank], r.Start()+r.Crit(); got != want {
			t.Errorf("Synchronize of rank %d returns at %v, want %v", rank, got, want)
		}
	}
}

// TestAReadDoesNotWaitForOtherWork checks that a read waits only for operations that write
// the tensor that it reads.
func TestAReadDoesNotWaitForOtherWork(t *testing.T) {
	l := hostedtest.New(t, torch.Options{})
	x, y := l.MustZeros(torch.F32, torch.On(0), 8), l.Ints(lists.Count(0, 8), torch.F32, torch.On(1))
	idle := l.MustZeros(torch.F32, torch.On(1), 8)
	l.Holds("y", y, lists.Count(0, 8))
	began := l.Now()
	l.Holds("idle", idle, hostedtest.Fill(0, 8))
	alone := l.Now() - began

	long, err := l.Launch("long", multiplyAdd, x, 8, 1000, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	after, err := l.Launch("after", multiplyAdd, y, 8, 1, 1, 5)
	if err != nil {
		t.Fatal(err)
	}
	began = l.Now()
	l.Holds("idle", idle, hostedtest.Fill(0, 8))
	if took := l.Now() - began; took != alone {
		t.Errorf("a read of another tensor takes %v, want %v as when nothing else is in flight", took, alone)
	}
	l.Holds("y", y, lists.Count(5, 8))
	if end := after.Start() + after.Crit(); l.Now() < end || after.Start() != long.Start()+long.Crit() {
		t.Errorf("y is read at %v, want after %v", l.Now(), end)
	}
	l.Holds("x", x, hostedtest.Fill(1000, 8))
}

// TestSynchronize checks that Synchronize waits for all operations of the rank, and takes
// no simulated time if there are none.
func TestSynchronize(t *testing.T) {
	l, err := hostedtest.Spawn(t, 2, func(r *torch.Rank) error {
		x := hostedtest.Full(r, r.Rank(), 8)
		w, err := dist.AllReduceAsync(r, x, dist.SUM)
		if err != nil {
			return err
		}
		if err := r.Synchronize(); err != nil || !w.IsCompleted() {
			return fmt.Errorf("after Synchronize: %v, completed: %v", err, w.IsCompleted())
		}
		began := r.Now()
		if err := errors.Join(r.Synchronize(), w.Wait(), r.Synchronize()); err != nil || r.Now() != began {
			return fmt.Errorf("there was nothing to wait for: %v after %v", err, r.Now()-began)
		}
		return r.Check("x", x, hostedtest.Fill(1, 8))
	})
	if err != nil || !l.Checks().OK() {
		t.Errorf("error %v, checks %+v", err, l.Checks())
	}
}

// TestRacesBetweenRanks checks that a race between kernels of two ranks is found, and that
// no race is found if a barrier orders the kernels.
func TestRacesBetweenRanks(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		o := trialOptions(t)(trial{})
		o.Race = true
		l := hostedtest.New(t, o)
		x := l.MustZeros(torch.F32, torch.On(0), 8)
		err := l.Spawn(func(r *torch.Rank) error {
			rank := r.Rank()
			err := dist.InitProcessGroup(r, "ahbm")
			if ordered && rank == 1 {
				err = errors.Join(err, dist.Barrier(r))
			}
			_, launched := r.Launch("write", func(t *tl.PE, x tl.Ptr) {
				t.Store(x, t.Full(tl.Shape{8}, tl.F32, float64(rank+1)))
			}, x, torch.PEs(r.PE(rank, 0, 1)))
			if ordered && rank == 0 {
				err = errors.Join(err, dist.Barrier(r))
			}
			return errors.Join(err, launched)
		}, 2)
		if err != nil {
			t.Fatal(err)
		}
		races, err := l.Races()
		switch {
		case err != nil:
			t.Fatal(err)
		case ordered && len(races) != 0:
			t.Errorf("races %q, want none", races)
		case !ordered && (len(races) != 1 || !strings.Contains(races[0], "kernel write on sip0.cube0.pe1") || !strings.Contains(races[0], "kernel write on sip1.cube0.pe1")):
			t.Errorf("races %q, want one between the kernels of ranks 0 and 1", races)
		}
		if ordered {
			l.Holds("x", x, hostedtest.Fill(2, 8))
		}
	}
}

// TestAReplayOfWorkersGivesTheSameBytes checks that a replay of the op log of workers and
// their collectives gives the bytes that the host read in the run, with any number of
// threads.
func TestAReplayOfWorkersGivesTheSameBytes(t *testing.T) {
	o := trialOptions(t)(trial{})
	o.KeepLog = true
	l := hostedtest.New(t, o)
	err := l.Spawn(func(r *torch.Rank) error {
		if err := dist.InitProcessGroup(r, "ahbm"); err != nil {
			return err
		}
		for i, algorithm := range []string{"ring", "direct", "tree", "mesh"} {
			g, err := dist.NewGroup(r, []int{2, 0, 1}, dist.KeepOrder(), dist.Algorithm(algorithm))
			if err != nil {
				return err
			}
			x := hostedtest.Full(r, r.Rank()+i, 50)
			_, err = r.Launch("steps", multiplyAdd, x, 50, 2, 2, r.Rank())
			if err := errors.Join(err, dist.AllReduce(r, x, dist.SUM, g), hostedtest.Second(x.Numpy())); err != nil {
				return err
			}
		}
		return nil
	}, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, threads := range []int{1, 2, 16} {
		r, err := exec.Replay(t.Context(), l.Log(), threads)
		if err != nil || r.Reads != 12 || r.Unknown != 0 || len(r.Mismatched) != 0 {
			t.Errorf("%d threads: %+v, %v, want 12 reads that all match", threads, r, err)
		}
	}
}

// TestReplayOfCollectivesCalledTogether checks that an op log replays to the same values
// and has no races. The log has coalesced collectives, collectives in place, messages of a
// rank to itself and messages from any source.
func TestReplayOfCollectivesCalledTogether(t *testing.T) {
	o := trialOptions(t)(trial{spawned: true, world: 3})
	o.KeepLog, o.Race = true, true
	l := hostedtest.New(t, o)
	err := l.Spawn(func(r *torch.Rank) error {
		rank := r.Rank()
		torch.OK(dist.InitProcessGroup(r, "ahbm"))
		x, y := hostedtest.Full(r, rank, 51), torch.Must(r.Full(float64(rank+1), torch.F32, torch.Shape{51}, torch.On(r.PE(rank, 1, 1))))
		for i := range 3 {
			for _, z := range []*torch.Tensor{x, y} {
				torch.Must(r.Launch("steps", multiplyAdd, z, 51, 2, 2, rank+i))
			}
			torch.OK(dist.AllReduceCoalesced(r, []*torch.Tensor{x, y}, dist.SUM))
			torch.OK(dist.AllToAllSingle(r, x, x, nil, nil))
			torch.Must(dist.BatchISendIRecv(r, []dist.P2POp{{Kind: dist.Sends, Tensor: x, Peer: rank}, {Kind: dist.Recvs, Tensor: y, Peer: rank}}))
			if rank > 0 {
				torch.OK(dist.Send(r, y, rank-1, 0))
			}
			if rank < 2 {
				torch.OK(dist.Recv(r, x, dist.AnySource, 0))
			}
			torch.Must(r.Launch("steps", multiplyAdd, x, 51, 2, 2, rank))
		}
		torch.OK(r.Synchronize())
		return errors.Join(hostedtest.Second(x.Numpy()), hostedtest.Second(y.Numpy()))
	}, 3)
	if err != nil {
		t.Fatal(err)
	}
	if races, err := l.Races(); err != nil || len(races) > 0 {
		t.Errorf("error %v, races %q", err, races)
	}
	for _, threads := range []int{1, 16} {
		r, err := exec.Replay(t.Context(), l.Log(), threads)
		if err != nil || r.Reads != 6 || r.Unknown != 0 || len(r.Mismatched) != 0 {
			t.Errorf("%d threads: %+v, %v, want 6 reads that all match", threads, r, err)
		}
	}
}
