package torch_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/torch"
)

// pes makes the default group of a program that drives some PEs.
func pes(t *testing.T, world int, opts ...torch.GroupOption) (*lab, *torch.Distributed) {
	t.Helper()
	l := newLab(t, machines(t)(trial{}))
	dist := l.Distributed()
	opts = append([]torch.GroupOption{func(s *ccl.Settings) { s.WorldSize = world }}, opts...)
	if err := dist.InitProcessGroup("ahbm", opts...); err != nil {
		t.Fatal(err)
	}
	return l, dist
}

// says checks the whole text of an error.
func says(t *testing.T, what string, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("%s:\ngot  %v\nwant %s", what, err, want)
	}
}

func TestRanksOfGroups(t *testing.T) {
	var got [4]string
	_, err := spawn(t, 4, func(rank int, ctx *torch.Context, dist *torch.Distributed) error {
		text := fmt.Sprintf("%d/%d %s %v", dist.GetRank(), dist.GetWorldSize(), dist.GetBackend(), dist.IsInitialized())
		for _, members := range [][]int{{3, 1}, {2}} {
			g, err := dist.NewGroup(members)
			if err != nil {
				return err
			}
			text += fmt.Sprintf(", %d/%d", dist.GetRank(g), dist.GetWorldSize(g))
		}
		if err := dist.DestroyProcessGroup(); err != nil {
			return err
		}
		got[rank] = fmt.Sprintf("%s, %v", text, dist.IsInitialized())
		return nil
	})
	want := [4]string{
		"0/4 ahbm true, -1/-1, -1/-1, false",
		"1/4 ahbm true, 1/2, -1/-1, false",
		"2/4 ahbm true, -1/-1, 0/1, false",
		"3/4 ahbm true, 0/2, -1/-1, false",
	}
	if err != nil || got != want {
		t.Errorf("error %v\ngot  %q\nwant %q", err, got, want)
	}

	_, dist := pes(t, 7)
	g, err := dist.NewGroup([]int{5, 2})
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprint(dist.GetRank(), dist.GetWorldSize(), dist.PEs(), dist.GetRank(g), dist.GetWorldSize(g), dist.PEs(g))
	if want := "0 7 [0 1 2 3 4 5 6] 0 2 [5 2]"; text != want {
		t.Errorf("without Spawn: got %s, want %s", text, want)
	}
}

// Without a world size, the ranks are all PEs.
func TestTheWorldIsAllPEs(t *testing.T) {
	l := newLab(t, machines(t)(trial{}))
	dist := l.Distributed()
	if err := dist.InitProcessGroup("ahbm"); err != nil {
		t.Fatal(err)
	}
	x := l.tensor(count(0, 48), torch.I32, torch.On(dist.PEs()...))
	if err := dist.AllReduce(x, torch.SUM); err != nil {
		t.Fatal(err)
	}
	var want []int
	for range 24 {
		want = append(want, 23*24, 24*24)
	}
	l.holds("x", x, want)
}

// Ranks are in several groups at once, whose collectives are under way side by side.
func TestOverlappingGroups(t *testing.T) {
	groups := [][]int{{0, 1, 2}, {2, 3}, {4, 3, 1}, {0, 4}, {1, 2, 3, 4, 0}}
	l, err := spawn(t, 5, func(rank int, ctx *torch.Context, dist *torch.Distributed) error {
		var works []*torch.Work
		var sums []*torch.Tensor
		var want []int
		for round := range 3 {
			for i, members := range groups {
				g, err := dist.NewGroup(members, torch.Algorithm([]string{"ring", "direct", "tree"}[(round+i)%3]))
				if err != nil {
					return err
				}
				if dist.GetRank(g) < 0 {
					continue
				}
				x := full(ctx, 10*i+rank+round, 6)
				w, err := dist.AllReduceAsync(x, torch.SUM, g)
				if err != nil {
					return err
				}
				sum := 0
				for _, r := range members {
					sum += 10*i + r + round
				}
				works, sums, want = append(works, w), append(sums, x), append(want, sum)
			}
		}
		for i, w := range slices.Backward(works) {
			if err := w.Wait(); err != nil {
				return err
			}
			if err := ctx.Check(w.String(), sums[i], fill(want[i], 6)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || !l.Report.OK() || len(l.Report.Checks) != 3*15 {
		t.Errorf("error %v, %d checks, want 45 right ones: %+v", err, len(l.Report.Checks), l.Report.Checks)
	}
}

// Groups that have no rank in common do not wait for each other.
func TestGroupsApartRunSideBySide(t *testing.T) {
	took := func(groups ...[]int) torch.Time {
		l, err := spawn(t, 4, func(rank int, ctx *torch.Context, dist *torch.Distributed) error {
			x, err := ctx.Zeros(torch.F32, torch.Shape{1000})
			if err != nil {
				return err
			}
			for _, members := range groups {
				g, err := dist.NewGroup(members, torch.Algorithm("direct"))
				if err != nil {
					return err
				}
				if dist.GetRank(g) >= 0 {
					if err := dist.AllReduce(x, torch.SUM, g); err != nil {
						return err
					}
				}
			}
			return ctx.Synchronize()
		})
		if err != nil {
			t.Fatal(err)
		}
		return l.Now()
	}
	alone, apart, common := took([]int{0, 1}), took([]int{0, 1}, []int{2, 3}), took([]int{0, 1}, []int{1, 2})
	if apart != alone || common <= alone {
		t.Errorf("one group takes %v, two apart %v, want the same; two with a common rank %v, want more", alone, apart, common)
	}
}

// Messages in a ring, to both sides at once and with tags that cross.
func TestBatchedMessages(t *testing.T) {
	const n = 5
	l, err := spawn(t, n, func(rank int, ctx *torch.Context, dist *torch.Distributed) error {
		g, err := dist.NewGroup([]int{4, 2, 0, 1, 3})
		if err != nil {
			return err
		}
		next, prev := (rank+1)%n, (rank+n-1)%n
		var got [4]*torch.Tensor
		for i := range got {
			got[i] = full(ctx, 0, 7)
		}
		works, err := dist.BatchISendIRecv([]torch.P2POp{
			{Kind: torch.Recvs, Tensor: got[0], Peer: prev, Tag: 2},
			{Kind: torch.Recvs, Tensor: got[1], Peer: prev, Tag: 1},
			{Kind: torch.Sends, Tensor: full(ctx, 10*rank+1, 7), Peer: next, Tag: 1},
			{Kind: torch.Sends, Tensor: full(ctx, 10*rank+2, 7), Peer: next, Tag: 2},
			{Kind: torch.Sends, Tensor: full(ctx, 10*rank+3, 7), Peer: prev, Group: g},
			{Kind: torch.Sends, Tensor: full(ctx, 10*rank+4, 7), Peer: prev},
			{Kind: torch.Recvs, Tensor: got[2], Peer: next},
			{Kind: torch.Recvs, Tensor: got[3], Peer: next, Group: g},
		})
		if err != nil {
			return err
		}
		for _, w := range works {
			if err := w.Wait(); err != nil {
				return err
			}
		}
		for i, want := range []int{10*prev + 2, 10*prev + 1, 10*next + 4, 10*next + 3} {
			if err := ctx.Check(fmt.Sprintf("message %d to rank %d", i, rank), got[i], fill(want, 7)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || !l.Report.OK() || len(l.Report.Checks) != 4*n {
		t.Errorf("error %v, checks %+v", err, l.Report.Checks)
	}
}

// Messages between two ranks with one tag arrive in the order in which they are sent.
func TestMessagesKeepTheirOrder(t *testing.T) {
	l, err := spawn(t, 2, func(rank int, ctx *torch.Context, dist *torch.Distributed) error {
		var all []*torch.Tensor
		for i := range 20 {
			x := full(ctx, (1-rank)*(i+1), 1+i%3)
			var err error
			if rank == 0 {
				err = dist.Send(x, 1, 0)
			} else {
				err = dist.Recv(x, 0, 0)
			}
			if err != nil {
				return err
			}
			all = append(all, x)
		}
		for i, x := range all {
			if err := ctx.Check(fmt.Sprint("message ", i), x, fill(i+1, 1+i%3)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || !l.Report.OK() || len(l.Report.Checks) != 40 {
		t.Errorf("error %v, checks %+v", err, l.Report.Checks)
	}
}

// Any number of messages may be waited for, in any order.
func TestManyMessagesInAnyOrder(t *testing.T) {
	const n = 100
	_, err := spawn(t, 2, func(rank int, ctx *torch.Context, dist *torch.Distributed) error {
		var works []*torch.Work
		for i := range n {
			var w *torch.Work
			var err error
			if x := full(ctx, i, 2); rank == 0 {
				w, err = dist.IRecv(x, 1, i)
			} else if w, err = dist.ISend(x, 0, n-1-i); err == nil {
				err = w.Wait()
			}
			if err != nil {
				return err
			}
			works = append(works, w)
		}
		for _, w := range works {
			if err := w.Wait(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A tensor may be given away as soon as it is in a collective, though that has not begun.
func TestFreeOfWhatIsInACollective(t *testing.T) {
	l, err := spawn(t, 3, func(rank int, ctx *torch.Context, dist *torch.Distributed) error {
		x, y := full(ctx, rank, 8), full(ctx, 0, 24)
		err := errors.Join(dist.AllGatherIntoTensor(y, x), x.Free())
		z := full(ctx, 99, 8)
		return errors.Join(err, ctx.Check("y", y, slices.Concat(fill(0, 8), fill(1, 8), fill(2, 8))), ctx.Check("z", z, fill(99, 8)))
	})
	if err != nil || !l.Report.OK() || len(l.Report.Checks) != 6 {
		t.Errorf("error %v, checks %+v", err, l.Report.Checks)
	}
}

// What a worker does wrong is told in full.
func TestMisuseOfGroupsByWorkers(t *testing.T) {
	zeros := func(ctx *torch.Context, shape ...int) *torch.Tensor {
		x, err := ctx.Zeros(torch.F32, shape)
		if err != nil {
			panic(err)
		}
		return x
	}
	for _, c := range []struct {
		name string
		do   func(ctx *torch.Context, dist *torch.Distributed) error // on rank 1 of 3
		want string
	}{
		{"a collective before InitProcessGroup", func(ctx *torch.Context, dist *torch.Distributed) error {
			return errors.Join(dist.DestroyProcessGroup(), dist.AllReduce(zeros(ctx, 4), torch.SUM))
		}, "torch: all_reduce: there is no process group: call InitProcessGroup first"},
		{"GetRank before it", func(ctx *torch.Context, dist *torch.Distributed) error {
			err := dist.DestroyProcessGroup()
			dist.GetRank()
			return err
		}, "torch: GetRank: there is no process group: call InitProcessGroup first"},
		{"InitProcessGroup twice", func(ctx *torch.Context, dist *torch.Distributed) error {
			return dist.InitProcessGroup("ahbm")
		}, "InitProcessGroup: called twice: DestroyProcessGroup comes first"},
		{"a wrong backend", func(ctx *torch.Context, dist *torch.Distributed) error {
			return errors.Join(dist.DestroyProcessGroup(), dist.InitProcessGroup("nccl"))
		}, `InitProcessGroup: no backend "nccl": there is "ahbm"`},
		{"another group than others", func(ctx *torch.Context, dist *torch.Distributed) error {
			_, err := dist.NewGroup([]int{1, 2})
			return err
		}, "NewGroup: rank 1 makes group 1 of ranks [1 2], rank 0 made it of [0 2]: all ranks make the same groups in the same order"},
		{"another order than others", func(ctx *torch.Context, dist *torch.Distributed) error {
			_, err := dist.NewGroup([]int{2, 0})
			return err
		}, "NewGroup: rank 1 makes group 1 of ranks [2 0], rank 0 made it of [0 2]: all ranks make the same groups in the same order"},
		{"a group of a rank twice", func(ctx *torch.Context, dist *torch.Distributed) error {
			_, err := dist.NewGroup([]int{1, 1})
			return err
		}, "torch: NewGroup: ranks [1 1]: each is one of 0 to 2, once"},
		{"a group of others", func(ctx *torch.Context, dist *torch.Distributed) error {
			_, err := dist.NewGroup([]int{1, 3})
			return err
		}, "torch: NewGroup: ranks [1 3]: each is one of 0 to 2, once"},
		{"a group of nobody", func(ctx *torch.Context, dist *torch.Distributed) error {
			_, err := dist.NewGroup(nil)
			return err
		}, "torch: NewGroup: a group of no ranks"},
		{"not a member", func(ctx *torch.Context, dist *torch.Distributed) error {
			g, err := dist.NewGroup([]int{0, 2})
			return errors.Join(err, dist.AllReduce(zeros(ctx, 4), torch.SUM, g))
		}, "all_reduce: rank 1 is not in group 1"},
		{"not a member of a barrier", func(ctx *torch.Context, dist *torch.Distributed) error {
			g, err := dist.NewGroup([]int{0, 2})
			return errors.Join(err, dist.Barrier(g))
		}, "barrier: rank 1 is not in group 1"},
		{"not a member, to send", func(ctx *torch.Context, dist *torch.Distributed) error {
			g, err := dist.NewGroup([]int{0, 2})
			return errors.Join(err, dist.Send(zeros(ctx, 4), 2, 0, g))
		}, "Send: rank 1 is not in group 1"},
		{"a root outside", func(ctx *torch.Context, dist *torch.Distributed) error {
			g, err := dist.NewGroup([]int{0, 2})
			return errors.Join(err, dist.Broadcast(zeros(ctx, 4), 1, g))
		}, "torch: broadcast: the root, rank 1, is not in group 1"},
		{"two groups", func(ctx *torch.Context, dist *torch.Distributed) error {
			return dist.AllReduce(zeros(ctx, 4), torch.SUM, nil, nil)
		}, "torch: all_reduce: 2 groups: give one"},
		{"a group of nowhere", func(ctx *torch.Context, dist *torch.Distributed) error {
			return dist.AllReduce(zeros(ctx, 4), torch.SUM, &torch.Group{})
		}, "torch: all_reduce: the group is not one that this rank has made"},
		{"a message to oneself", func(ctx *torch.Context, dist *torch.Distributed) error {
			return dist.Send(zeros(ctx, 4), 1, 0)
		}, "torch: Send: the peer, rank 1, is not another rank of the default group"},
		{"a message to nobody", func(ctx *torch.Context, dist *torch.Distributed) error {
			return dist.Recv(zeros(ctx, 4), 7, 0)
		}, "torch: Recv: the peer, rank 7, is not another rank of the default group"},
		{"no tensor", func(ctx *torch.Context, dist *torch.Distributed) error {
			return dist.AllReduce(nil, torch.SUM)
		}, "torch: all_reduce: a nil tensor"},
		{"a freed tensor", func(ctx *torch.Context, dist *torch.Distributed) error {
			x := zeros(ctx, 4)
			return errors.Join(x.Free(), dist.Broadcast(x, 0))
		}, "torch: broadcast: tensor 2 [4] f32 has been freed"},
		{"a freed tensor of a list", func(ctx *torch.Context, dist *torch.Distributed) error {
			x, y := zeros(ctx, 4), zeros(ctx, 4)
			return errors.Join(y.Free(), dist.AllGather([]*torch.Tensor{x, y, x}, x))
		}, "torch: all_gather: tensor 3 [4] f32 has been freed"},
		{"a reduction of integers", func(ctx *torch.Context, dist *torch.Distributed) error {
			return dist.Reduce(zeros(ctx, 4), 0, torch.BXOR)
		}, "torch: reduce: there is no bxor of f32: avg and premul_sum are for floats, band, bor and bxor for integers"},
		{"a reduction of floats", func(ctx *torch.Context, dist *torch.Distributed) error {
			x, err := ctx.Zeros(torch.I8, torch.Shape{4})
			return errors.Join(err, dist.AllReduce(x, torch.PREMUL_SUM(0.5)))
		}, "torch: all_reduce: there is no premul_sum(0.5) of i8: avg and premul_sum are for floats, band, bor and bxor for integers"},
		{"a short list", func(ctx *torch.Context, dist *torch.Distributed) error {
			x := zeros(ctx, 4)
			return dist.AllGather([]*torch.Tensor{x}, x)
		}, "torch: all_gather: 1 tensors to receive, want 3: one for each rank, and of gather and scatter a list at the root alone"},
		{"a list that only the root has", func(ctx *torch.Context, dist *torch.Distributed) error {
			x := zeros(ctx, 4)
			return dist.Scatter(x, []*torch.Tensor{x, x, x}, 0)
		}, "torch: scatter: 3 tensors to send, want 0: one for each rank, and of gather and scatter a list at the root alone"},
		{"two dtypes", func(ctx *torch.Context, dist *torch.Distributed) error {
			x := zeros(ctx, 4)
			y, err := ctx.Zeros(torch.F16, torch.Shape{4})
			return errors.Join(err, dist.AllToAll([]*torch.Tensor{x, x, x}, []*torch.Tensor{x, y, x}))
		}, "torch: all_to_all: tensors of f32 and of f16: all have one dtype"},
		{"a small result", func(ctx *torch.Context, dist *torch.Distributed) error {
			return dist.AllGatherIntoTensor(zeros(ctx, 11), zeros(ctx, 4))
		}, "torch: all_gather: f32 [11] and f32 [4]: one has to be 3 times the other, and of the same dtype"},
		{"rows that do not divide", func(ctx *torch.Context, dist *torch.Distributed) error {
			return dist.AllToAllSingle(zeros(ctx, 4, 3), zeros(ctx, 4, 3), nil, nil)
		}, "torch: all_to_all: 4 rows to send do not divide by 3 ranks: give splits"},
		{"splits of other rows", func(ctx *torch.Context, dist *torch.Distributed) error {
			return dist.AllToAllSingle(zeros(ctx, 4), zeros(ctx, 4), []int{4, 1, -1}, []int{2, 2, 0})
		}, "torch: all_to_all: splits [4 1 -1] to receive: there are 3 ranks and 4 rows"},
		{"PEs of workers", func(ctx *torch.Context, dist *torch.Distributed) error {
			dist.PEs()
			return nil
		}, "torch: PEs: a rank is a SIP under Spawn: lay tensors out with a DPPolicy"},
		{"Spawn by a worker", func(ctx *torch.Context, dist *torch.Distributed) error {
			return ctx.Spawn(func(int, *torch.Context) error { return nil }, 1)
		}, "torch: Spawn: called by a worker: only the program itself spawns workers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := spawn(t, 3, func(rank int, ctx *torch.Context, dist *torch.Distributed) error {
				if rank == 1 {
					return c.do(ctx, dist)
				}
				g, err := dist.NewGroup([]int{0, 2})
				return errors.Join(err, dist.AllReduce(full(ctx, 1, 4), torch.SUM, g))
			})
			blames(t, err, []int{1})
			says(t, "error", err, "rank 1: "+c.want)
		})
	}
}

// So is what a program that drives all PEs does wrong.
func TestMisuseOfGroupsOfPEs(t *testing.T) {
	l, dist := pes(t, 4)
	x := l.zeros(torch.F32, torch.On(0, 1, 2, 3), 8)
	order := l.zeros(torch.F32, torch.On(0, 1, 3, 2), 8)
	few := l.zeros(torch.F32, torch.On(0, 1), 8)
	ragged := l.zeros(torch.F32, torch.On(0, 1, 2, 3), 9)
	for want, f := range map[string]func(){
		"torch: Send: the peer, rank 0, is not another rank of the default group": func() { dist.Send(x, 0, 0) },
		"torch: Distributed: tensor 2 [8] f32 does not lie over the 4 PEs of the default group: make it with torch.On(dist.PEs()...)": func() {
			dist.AllReduce(order, torch.SUM)
		},
		"torch: Distributed: tensor 3 [8] f32 does not lie over the 4 PEs of the default group: make it with torch.On(dist.PEs()...)": func() {
			dist.Broadcast(few, 0)
		},
		"torch: Distributed: tensor 4 [9] f32 is cut into parts of 3 and of 0 elements: its rows have to be a multiple of the 4 ranks": func() {
			dist.AllReduce(ragged, torch.SUM)
		},
	} {
		says(t, "misuse", misuse(f), want)
	}
	l = newLab(t, machines(t)(trial{}))
	says(t, "too large", l.Distributed().InitProcessGroup("ahbm", func(s *ccl.Settings) { s.WorldSize = 25 }),
		"InitProcessGroup: a world of 25 ranks on a system of 24 PEs: lower world_size")
}

func TestSpawnOfTooManyWorkers(t *testing.T) {
	l := newLab(t, machines(t)(trial{}))
	for want, f := range map[string]func(){
		"torch: Spawn: 4 workers for a system of 3 SIPs: there is one for each rank, and a rank is a SIP": func() {
			l.Spawn(func(int, *torch.Context) error { return nil }, 4)
		},
		"torch: Spawn: 0 workers for a system of 3 SIPs: there is one for each rank, and a rank is a SIP": func() {
			l.Spawn(func(int, *torch.Context) error { return nil }, 0)
		},
		"torch: Spawn: the worker is nil": func() { l.Spawn(nil, 1) },
	} {
		says(t, "misuse", misuse(f), want)
	}
}

// A worker may clean up after itself however it ends: also the one that is running when
// its call is found not to agree with the others'.
func TestADeferredDestroyProcessGroup(t *testing.T) {
	l, err := spawn(t, 3, func(rank int, ctx *torch.Context, dist *torch.Distributed) error {
		defer dist.DestroyProcessGroup()
		return dist.AllReduce(full(ctx, 1, 4+rank/2), torch.SUM)
	})
	blames(t, err, []int{2}, "the ranks do not agree")
	if l.Err() != nil {
		t.Errorf("the machine has ended: %v", l.Err())
	}
}

// After DestroyProcessGroup on all ranks, everything is as before InitProcessGroup.
func TestGroupsMadeAnew(t *testing.T) {
	l, err := spawn(t, 3, func(rank int, ctx *torch.Context, dist *torch.Distributed) error {
		_, err := dist.NewGroup([]int{0, 1})
		err = errors.Join(err, dist.DestroyProcessGroup(), dist.InitProcessGroup("ahbm", torch.Algorithm("tree")))
		if err != nil {
			return err
		}
		g, err := dist.NewGroup([]int{2, 1})
		if err != nil || dist.GetRank(g) < 0 {
			return err
		}
		x := full(ctx, rank, 4)
		return errors.Join(dist.AllReduce(x, torch.SUM, g), ctx.Check("x", x, fill(3, 4)))
	})
	if err != nil || !l.Report.OK() || len(l.Report.Checks) != 2 {
		t.Errorf("error %v, checks %+v", err, l.Report.Checks)
	}
}

// The groups of a program are there again after a Spawn, which has its own.
func TestGroupsBesideThoseOfWorkers(t *testing.T) {
	l, dist := pes(t, 4)
	err := l.Spawn(func(rank int, ctx *torch.Context) error {
		dist := ctx.Distributed()
		err := dist.InitProcessGroup("ahbm")
		return errors.Join(err, dist.Barrier(), second(dist.NewGroup([]int{1})))
	}, 2)
	if err != nil {
		t.Fatal(err)
	}
	g, err := dist.NewGroup([]int{2, 1})
	if err != nil {
		t.Fatal(err)
	}
	x, y := l.tensor(count(0, 4), torch.I32, torch.On(0, 1, 2, 3)), l.tensor(count(1, 4), torch.I32, torch.On(2, 1))
	if err := errors.Join(dist.AllReduce(x, torch.SUM), dist.AllReduce(y, torch.SUM, g)); err != nil {
		t.Fatal(err)
	}
	l.holds("x", x, fill(6, 4))
	l.holds("y", y, []int{4, 6, 4, 6})
}

// A collective that cannot be done is an error, and all else goes on without it.
func TestAfterACollectiveThatCannotBeDone(t *testing.T) {
	l, dist := pes(t, 2)
	x, y := l.tensor(count(0, 4), torch.I32, torch.On(0, 1)), l.zeros(torch.I32, torch.On(0, 1), 4)
	says(t, "blocks of other sizes", dist.AllToAllSingle(y, x, []int{2, 0}, []int{1, 1}),
		"all_to_all 1 of the default group: rank 0 has room for 2 elements of rank 0's, and they are 1")
	l.holds("x", x, count(0, 4))
	l.launch("nothing", nothing, x)
	l.holds("x after a launch", x, count(0, 4))
}

func TestUnknownAlgorithm(t *testing.T) {
	l := newLab(t, torch.Options{})
	says(t, "error", l.Distributed().InitProcessGroup("ahbm", torch.Algorithm("rign")),
		`InitProcessGroup: no algorithm "rign": there are chain, direct, mesh, ring, tree`)
}

// Tensors of a collective are cut alike, or what is gathered would be another tensor.
func TestLayoutsThatDoNotFit(t *testing.T) {
	columns := torch.DPPolicy{PE: torch.ColumnWise, NumCubes: 1, NumPEs: 2}
	rows := torch.DPPolicy{PE: torch.RowWise, NumCubes: 1, NumPEs: 2}
	square := torch.Shape{4, 4}
	for _, c := range []struct {
		name string
		own  [2]torch.Placement // by rank
		do   func(ctx *torch.Context, dist *torch.Distributed, x *torch.Tensor) (*torch.Tensor, error)
		want []int // if it is not an error
	}{
		{"grids of another order", [2]torch.Placement{
			torch.DPPolicy{Cube: torch.RowWise, PE: torch.ColumnWise, NumCubes: 2, NumPEs: 2},
			torch.DPPolicy{Cube: torch.ColumnWise, PE: torch.RowWise, NumCubes: 2, NumPEs: 2},
		}, func(ctx *torch.Context, dist *torch.Distributed, x *torch.Tensor) (*torch.Tensor, error) {
			return x, dist.Broadcast(x, 0)
		}, count(0, 16)},
		{"copies of parts, parts of copies", [2]torch.Placement{
			torch.DPPolicy{Cube: torch.Replicate, PE: torch.RowWise, NumCubes: 2, NumPEs: 2},
			torch.DPPolicy{Cube: torch.RowWise, PE: torch.Replicate, NumCubes: 2, NumPEs: 2},
		}, func(ctx *torch.Context, dist *torch.Distributed, x *torch.Tensor) (*torch.Tensor, error) {
			return x, dist.Broadcast(x, 0)
		}, count(0, 16)},
		{"rows into columns, of lists", [2]torch.Placement{rows, rows}, func(ctx *torch.Context, dist *torch.Distributed, x *torch.Tensor) (*torch.Tensor, error) {
			a, err := ctx.Zeros(torch.I32, square, columns)
			b, berr := ctx.Zeros(torch.I32, square, columns)
			return a, errors.Join(err, berr, dist.AllGather([]*torch.Tensor{a, b}, x))
		}, count(0, 16)},
		{"rows into columns, of one tensor", [2]torch.Placement{rows, rows}, func(ctx *torch.Context, dist *torch.Distributed, x *torch.Tensor) (*torch.Tensor, error) {
			y, err := ctx.Zeros(torch.I32, torch.Shape{8, 4}, columns)
			return y, errors.Join(err, dist.AllGatherIntoTensor(y, x))
		}, append(count(0, 16), count(0, 16)...)},
		{"columns of another shape", [2]torch.Placement{columns, columns}, func(ctx *torch.Context, dist *torch.Distributed, x *torch.Tensor) (*torch.Tensor, error) {
			y, err := ctx.Zeros(torch.I32, torch.Shape{16, 2}, columns)
			return y, errors.Join(err, dist.AllGatherIntoTensor(y, x))
		}, append(count(0, 16), count(0, 16)...)},
	} {
		l, err := spawn(t, 2, func(rank int, ctx *torch.Context, dist *torch.Distributed) error {
			x, err := ctx.FromSlice(count(0, 16), torch.I32, square, c.own[rank])
			if err != nil {
				return err
			}
			y, err := c.do(ctx, dist, x)
			return errors.Join(err, ctx.Check(c.name, y, c.want))
		})
		if err == nil && !l.Report.OK() { // an error is as good
			t.Errorf("%s: checks %+v", c.name, l.Report.Checks)
		}
	}
}

// Tensors of a collective may lie on other PEs than each other.
func TestListsOnOtherPEs(t *testing.T) {
	l, err := spawn(t, 2, func(rank int, ctx *torch.Context, dist *torch.Distributed) error {
		x, err := ctx.FromSlice(count(10*rank, 3+rank), torch.I32, torch.Shape{3 + rank})
		if err != nil {
			return err
		}
		var list []*torch.Tensor
		for i := range 2 {
			y, err := ctx.Zeros(torch.I32, torch.Shape{3 + i}, torch.On(ctx.PE(rank, 0, 1+i)))
			if err != nil {
				return err
			}
			list = append(list, y)
		}
		return errors.Join(dist.AllGather(list, x), ctx.Check("of rank 0", list[0], count(0, 3)), ctx.Check("of rank 1", list[1], count(10, 4)))
	})
	if err != nil || !l.Report.OK() {
		t.Errorf("error %v, checks %+v", err, l.Report.Checks)
	}
}

// A rank is where its tensors are.
func TestRanksOnOtherDevices(t *testing.T) {
	l := newLab(t, torch.Options{Topology: system(t, "ring6")})
	for _, c := range []struct {
		devices [2]int
		want    string
	}{
		{[2]int{3, 5}, ""},
		{[2]int{1, 0}, ""},
		{[2]int{4, 4}, "all_reduce 1 of the default group: two ranks are on sip4.cube0.pe0: give each a device of its own with SetDevice"},
	} {
		err := l.Spawn(func(rank int, ctx *torch.Context) error {
			dist := ctx.Distributed()
			ctx.SetDevice(c.devices[rank])
			err := dist.InitProcessGroup("ahbm")
			x := full(ctx, rank+1, 3)
			if got := x.Shards()[0].SIP; got != c.devices[rank] {
				t.Errorf("rank %d is on SIP %d, want %d", rank, got, c.devices[rank])
			}
			return errors.Join(err, dist.AllReduce(x, torch.SUM), dist.Barrier(), ctx.Check("x", x, fill(3, 3)))
		}, 2)
		if c.want == "" && (err != nil || !l.Report.OK()) {
			t.Errorf("devices %v: error %v, checks %+v", c.devices, err, l.Report.Checks)
		} else if c.want != "" {
			says(t, fmt.Sprint("devices ", c.devices), err, fmt.Sprintf("rank 0: %s\nrank 1: %[1]s", c.want))
		}
	}
}
