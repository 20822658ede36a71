package dist_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// spawnAlphaBeta calls run for n workers on the topology alpha_beta, where only links take
// time: 150 ns plus 10 ns per KB for each link of a path. The default group uses the given
// algorithm.
func spawnAlphaBeta(t *testing.T, n int, algorithm string, run worker) *hostedtest.Lab {
	t.Helper()
	l := hostedtest.New(t, torch.Options{Topology: hostedtest.System(t, "alpha_beta", fmt.Sprintf("system.sips.count=%d", n)), NoData: true, PerRank: true})
	err := l.Spawn(func(r *torch.Rank) error {
		if err := dist.InitProcessGroup(r, "ahbm", func(o *dist.GroupOptions) { o.Algorithm = algorithm }); err != nil {
			return err
		}
		return run(r)
	}, n)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestRanksOfARingTakeTheSameTime checks that each rank of an all-reduce in a ring takes
// 2(n-1) steps of 160 ns. A step is 150 ns of latency and 10 ns for 1000 B.
func TestRanksOfARingTakeTheSameTime(t *testing.T) {
	for _, n := range []int{2, 3, 5, 7} {
		l := spawnAlphaBeta(t, n, "ring", func(r *torch.Rank) error {
			return dist.AllReduce(r, hostedtest.Full(r, r.Rank(), n*250), dist.SUM)
		})
		want := slices.Repeat([]torch.Time{torch.Time(2*(n-1)) * 160 * simtime.Nanosecond}, n)
		if got := dist.Last(l.Context); !slices.Equal(got.Ranks, lists.Count(0, n)) || !slices.Equal(got.Exec, want) || got.Crit != want[0] {
			t.Errorf("%d ranks: %v take %v, the longest %v; want each %v", n, got.Ranks, got.Exec, got.Crit, want[0])
		}
	}
}

// TestRanksOfABroadcastEndOneAfterAnother checks the time of each rank in a broadcast from
// rank 3 of 7. Rank 3 sends direct messages of 100 B to ranks 4, 5, 6, 0, 1 and 2, in this
// order. A message takes 151 ns per link, and 1 ns for each earlier message over the same
// links. A rank ends when its message arrives. The root ends when the last message has left,
// after 1 ns for each of the three messages over a link.
func TestRanksOfABroadcastEndOneAfterAnother(t *testing.T) {
	l := spawnAlphaBeta(t, 7, "direct", func(r *torch.Rank) error {
		return dist.Broadcast(r, hostedtest.Full(r, r.Rank(), 25), 3)
	})
	var want []torch.Time
	for _, ns := range []torch.Time{3 * 151, 2*151 + 1, 151 + 2, 3, 151, 2*151 + 1, 3*151 + 2} {
		want = append(want, ns*simtime.Nanosecond)
	}
	if got := dist.Last(l.Context); !slices.Equal(got.Exec, want) || got.Crit != want[6] {
		t.Errorf("ranks take %v, the longest %v; want %v", got.Exec, got.Crit, want)
	}
}

// TestRankTimesOfASubgroup checks a group whose members were not given in ascending order.
// Stats.Ranks must list the members as ranks of the world, in ascending order.
func TestRankTimesOfASubgroup(t *testing.T) {
	l := spawnAlphaBeta(t, 5, "ring", func(r *torch.Rank) error {
		rank := r.Rank()
		g, err := dist.NewGroup(r, []int{4, 1, 3})
		if err != nil || rank%2 == 0 && rank != 4 {
			return err
		}
		return dist.AllReduce(r, hostedtest.Full(r, rank, 300), dist.SUM, g)
	})
	if got := dist.Last(l.Context); !slices.Equal(got.Ranks, []int{1, 3, 4}) || len(got.Exec) != 3 || slices.Max(got.Exec) != got.Crit {
		t.Errorf("ranks %v take %v, the longest %v; want 1, 3 and 4", got.Ranks, got.Exec, got.Crit)
	}
}

// TestRankTimesOfLanes checks that a rank with a tensor on several PEs has one time in
// Stats.Exec, and that the maximum of these times is Crit.
func TestRankTimesOfLanes(t *testing.T) {
	l, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
		rank := r.Rank()
		x, err := r.Zeros(torch.F32, torch.Shape{3000}, torch.On(rank*128, rank*128+1, rank*128+9))
		if err == nil {
			err = dist.AllReduce(r, x, dist.SUM)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	got := dist.Last(l.Context)
	if got.Lanes != 3 || !slices.Equal(got.Ranks, lists.Count(0, 3)) || len(got.Exec) != 3 || slices.Max(got.Exec) != got.Crit {
		t.Errorf("%d lanes of ranks %v take %v, the longest %v; want 3 lanes of 3 ranks", got.Lanes, got.Ranks, got.Exec, got.Crit)
	}
}

// TestRankTimesOfMessages checks that the statistics of a message have the times of the
// sender and of the receiver.
func TestRankTimesOfMessages(t *testing.T) {
	l := spawnAlphaBeta(t, 5, "direct", func(r *torch.Rank) error {
		switch r.Rank() {
		case 1:
			return dist.Send(r, hostedtest.Full(r, 1, 250), 4, 0)
		case 4:
			return dist.Recv(r, hostedtest.Full(r, 0, 250), 1, 0)
		}
		return nil
	})
	// 1000 B over two links: a flit of 256 B on the first link, all bytes on the second.
	const want = 2*150*simtime.Nanosecond + 2560*simtime.Picosecond + 10*simtime.Nanosecond
	if got := dist.Last(l.Context); !slices.Equal(got.Ranks, []int{1, 4}) || got.Exec[1] != want || slices.Max(got.Exec) != got.Crit {
		t.Errorf("ranks %v take %v, the longest %v; want rank 4 to take %v", got.Ranks, got.Exec, got.Crit, torch.Time(want))
	}
}

// TestReportOfRankTimes checks that with Options.PerRank the report has the times of each
// rank of a launch, and that without PerRank it has no launches.
func TestReportOfRankTimes(t *testing.T) {
	for _, wanted := range []bool{false, true} {
		l := hostedtest.New(t, torch.Options{NoData: true, PerRank: wanted})
		pes := []int{9, 2, 4} // rank 0 is on PE 9
		x := l.MustZeros(torch.F32, torch.On(pes...), 192)
		k := l.MustLaunch("uneven", func(t *tl.PE, x tl.Ptr) {
			for range t.Rank() + 1 {
				t.Store(x, t.Load(x, tl.Shape{64}, tl.F32))
			}
		}, x)
		if !wanted {
			if got := l.Launches(); got != nil {
				t.Errorf("the report has %v without PerRank", got)
			}
			continue
		}
		if len(l.Launches()) != 1 {
			t.Fatalf("the report has %d launches, want 1", len(l.Launches()))
		}
		got, exec := l.Launches()[0], k.Exec()
		if got.Name != "uneven" || got.Start != k.Start() || got.Crit != k.Crit() || !slices.Equal(got.Ranks, lists.Count(0, 3)) || !slices.Equal(got.Exec, exec) {
			t.Errorf("the report has %+v, want %v from %v on", got, exec, k.Start())
		}
		if !slices.IsSorted(exec) || exec[0] == exec[2] {
			t.Errorf("ranks take %v, want more from rank to rank", exec)
		}
	}
}

// TestRankTimesWithHelperPEs checks that PEs that only compute for a producer, and hold no
// shard, count as PEs of their rank.
func TestRankTimesWithHelperPEs(t *testing.T) {
	l, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
		m := dist.Making{Name: "two", Make: func(*tl.PE, int, int) func() bool { return func() bool { return false } },
			Together: func(pe int) []int { return []int{pe / 2 * 2, pe/2*2 + 1} }}
		return dist.AllReduceMaking(r, m, []*torch.Tensor{hostedtest.Full(r, r.Rank(), 64)}, dist.SUM)
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := dist.Last(l.Context); !slices.Equal(got.Ranks, lists.Count(0, 3)) || len(got.Exec) != 3 || slices.Max(got.Exec) != got.Crit {
		t.Errorf("ranks %v take %v, the longest %v", got.Ranks, got.Exec, got.Crit)
	}
}
