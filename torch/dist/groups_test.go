package dist_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// TestRanksOfGroups checks the rank and the size that members and other ranks get for a
// group.
func TestRanksOfGroups(t *testing.T) {
	var got [4]string
	_, err := hostedtest.Spawn(t, 4, func(r *torch.Rank) error {
		text := fmt.Sprintf("%d/%d %s %v", dist.GetRank(r), dist.GetWorldSize(r), dist.GetBackend(r), dist.IsInitialized(r))
		for _, members := range [][]int{{3, 1}, {2}} {
			g, err := dist.NewGroup(r, members, dist.KeepOrder())
			if err != nil {
				return err
			}
			text += fmt.Sprintf(", %d/%d", dist.GetRank(r, g), dist.GetWorldSize(r, g))
		}
		if err := dist.DestroyProcessGroup(r); err != nil {
			return err
		}
		got[r.Rank()] = fmt.Sprintf("%s, %v", text, dist.IsInitialized(r))
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

	l := hostedtest.PEs(t, 7)
	g, err := dist.NewGroup(l.Rank, []int{5, 2})
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprint(dist.GetRank(l.Rank), dist.GetWorldSize(l.Rank), dist.PEs(l.Rank), dist.GetRank(l.Rank, g), dist.GetWorldSize(l.Rank, g), dist.PEs(l.Rank, g))
	if want := "0 7 [0 1 2 3 4 5 6] 0 2 [2 5]"; text != want {
		t.Errorf("without Spawn: got %s, want %s", text, want)
	}
}

// TestTheWorldIsAllPEs checks that in a program without Spawn and without world_size all
// PEs are ranks.
func TestTheWorldIsAllPEs(t *testing.T) {
	l := hostedtest.New(t, trialOptions(t)(trial{}))
	if err := dist.InitProcessGroup(l.Rank, "ahbm"); err != nil {
		t.Fatal(err)
	}
	x := l.Ints(lists.Count(0, 48), torch.I32, torch.On(dist.PEs(l.Rank)...))
	if err := dist.AllReduce(l.Rank, x, dist.SUM); err != nil {
		t.Fatal(err)
	}
	var want []int
	for range 24 {
		want = append(want, 23*24, 24*24)
	}
	l.Holds("x", x, want)
}

// TestOverlappingGroups checks the values of collectives of several groups that have ranks
// in common and are in flight at the same time.
func TestOverlappingGroups(t *testing.T) {
	groups := [][]int{{0, 1, 2}, {2, 3}, {4, 3, 1}, {0, 4}, {1, 2, 3, 4, 0}}
	l, err := hostedtest.Spawn(t, 5, func(self *torch.Rank) error {
		var works []*dist.Work
		var sums []*torch.Tensor
		var want []int
		for round := range 3 {
			for i, members := range groups {
				g, err := dist.NewGroup(self, members, dist.KeepOrder(), dist.Algorithm([]string{"ring", "direct", "tree"}[(round+i)%3]))
				if err != nil {
					return err
				}
				if dist.GetRank(self, g) < 0 {
					continue
				}
				x := hostedtest.Full(self, 10*i+self.Rank()+round, 6)
				w, err := dist.AllReduceAsync(self, x, dist.SUM, g)
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
			if err := self.Check(w.String(), sums[i], hostedtest.Fill(want[i], 6)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || !l.Checks().OK() || len(l.Checks()) != 3*15 {
		t.Errorf("error %v, %d checks, want 45 right ones: %+v", err, len(l.Checks()), l.Checks())
	}
}

// TestDisjointGroupsRunConcurrently checks that groups without common ranks do not wait for
// each other.
func TestDisjointGroupsRunConcurrently(t *testing.T) {
	measure := func(groups ...[]int) torch.Time {
		l, err := hostedtest.Spawn(t, 4, func(r *torch.Rank) error {
			x, err := r.Zeros(torch.F32, torch.Shape{1000})
			if err != nil {
				return err
			}
			for _, members := range groups {
				g, err := dist.NewGroup(r, members, dist.KeepOrder(), dist.Algorithm("direct"))
				if err != nil {
					return err
				}
				if dist.GetRank(r, g) >= 0 {
					if err := dist.AllReduce(r, x, dist.SUM, g); err != nil {
						return err
					}
				}
			}
			return r.Synchronize()
		})
		if err != nil {
			t.Fatal(err)
		}
		return l.Now()
	}
	single, disjoint, common := measure([]int{0, 1}), measure([]int{0, 1}, []int{2, 3}), measure([]int{0, 1}, []int{1, 2})
	if disjoint != single || common <= single {
		t.Errorf("one group takes %v, two disjoint groups %v, want the same; two with a common rank %v, want more", single, disjoint, common)
	}
}

// TestFreeTensorOfPendingCollective checks that a rank may free a tensor as soon as a
// collective that uses it is enqueued.
func TestFreeTensorOfPendingCollective(t *testing.T) {
	l, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
		x, y := hostedtest.Full(r, r.Rank(), 8), hostedtest.Full(r, 0, 24)
		err := errors.Join(dist.AllGatherIntoTensor(r, y, x), x.Free())
		z := hostedtest.Full(r, 99, 8)
		return errors.Join(err, r.Check("y", y, slices.Concat(hostedtest.Fill(0, 8), hostedtest.Fill(1, 8), hostedtest.Fill(2, 8))), r.Check("z", z, hostedtest.Fill(99, 8)))
	})
	if err != nil || !l.Checks().OK() || len(l.Checks()) != 6 {
		t.Errorf("error %v, checks %+v", err, l.Checks())
	}
}

// TestADeferredDestroyProcessGroup checks that a worker may call DestroyProcessGroup in a
// deferred function, even if the worker is stopped because its call of a collective differs
// from the calls of the other ranks.
func TestADeferredDestroyProcessGroup(t *testing.T) {
	l, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
		defer dist.DestroyProcessGroup(r)
		return dist.AllReduce(r, hostedtest.Full(r, 1, 4+r.Rank()/2), dist.SUM)
	})
	hostedtest.Blames(t, err, []int{2}, "the ranks do not agree")
	if l.Err() != nil {
		t.Errorf("the machine has ended: %v", l.Err())
	}
}

// TestGroupsAfterReinitialization checks that ranks can call InitProcessGroup again and
// make other groups after DestroyProcessGroup.
func TestGroupsAfterReinitialization(t *testing.T) {
	l, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
		_, err := dist.NewGroup(r, []int{0, 1})
		err = errors.Join(err, dist.DestroyProcessGroup(r), dist.InitProcessGroup(r, "ahbm", dist.Algorithm("tree")))
		if err != nil {
			return err
		}
		g, err := dist.NewGroup(r, []int{2, 1}, dist.KeepOrder())
		if err != nil || dist.GetRank(r, g) < 0 {
			return err
		}
		x := hostedtest.Full(r, r.Rank(), 4)
		return errors.Join(dist.AllReduce(r, x, dist.SUM, g), r.Check("x", x, hostedtest.Fill(3, 4)))
	})
	if err != nil || !l.Checks().OK() || len(l.Checks()) != 2 {
		t.Errorf("error %v, checks %+v", err, l.Checks())
	}
}

// TestProgramGroupsAfterSpawn checks that the groups of a program can still be used after a
// Spawn whose workers made other groups.
func TestProgramGroupsAfterSpawn(t *testing.T) {
	l := hostedtest.PEs(t, 4)
	err := l.Spawn(func(r *torch.Rank) error {
		err := dist.InitProcessGroup(r, "ahbm")
		return errors.Join(err, dist.Barrier(r), hostedtest.Second(dist.NewGroup(r, []int{1})))
	}, 2)
	if err != nil {
		t.Fatal(err)
	}
	g, err := dist.NewGroup(l.Rank, []int{2, 1}, dist.KeepOrder())
	if err != nil {
		t.Fatal(err)
	}
	x, y := l.Ints(lists.Count(0, 4), torch.I32, torch.On(0, 1, 2, 3)), l.Ints(lists.Count(1, 4), torch.I32, torch.On(2, 1))
	if err := errors.Join(dist.AllReduce(l.Rank, x, dist.SUM), dist.AllReduce(l.Rank, y, dist.SUM, g)); err != nil {
		t.Fatal(err)
	}
	l.Holds("x", x, hostedtest.Fill(6, 4))
	l.Holds("y", y, []int{4, 6, 4, 6})
}

// TestAfterACollectiveThatCannotBeDone checks that a program can continue after a call of a
// collective has returned an error.
func TestAfterACollectiveThatCannotBeDone(t *testing.T) {
	l := hostedtest.PEs(t, 2)
	x, y := l.Ints(lists.Count(0, 4), torch.I32, torch.On(0, 1)), l.MustZeros(torch.I32, torch.On(0, 1), 4)
	hostedtest.Says(t, "blocks of other sizes", dist.AllToAllSingle(l.Rank, y, x, []int{2, 0}, []int{1, 1}),
		"all_to_all 1 of the default group: rank 0 has room for 2 elements of rank 0's, and they are 1")
	l.Holds("x", x, lists.Count(0, 4))
	l.MustLaunch("nothing", hostedtest.Nothing, x)
	l.Holds("x after a launch", x, lists.Count(0, 4))
}

// TestUnknownAlgorithm checks the error for the name of an algorithm that does not exist.
func TestUnknownAlgorithm(t *testing.T) {
	l := hostedtest.New(t, torch.Options{})
	hostedtest.Says(t, "error", dist.InitProcessGroup(l.Rank, "ahbm", dist.Algorithm("rign")),
		`InitProcessGroup: no algorithm "rign": there are `+strings.Join(ccl.Names(), ", ")+", auto")
}

// TestRootCubeOutOfRange checks that InitProcessGroup refuses the number of a root cube
// that the SIPs do not have.
func TestRootCubeOutOfRange(t *testing.T) {
	l := hostedtest.New(t, torch.Options{})
	s, err := l.CCL().Named("center_root_all_reduce")
	if err != nil {
		t.Fatal(err)
	}
	s.RootCube = 17
	hostedtest.Says(t, "error", dist.InitProcessGroup(l.Rank, "ahbm", dist.Settings(s)),
		`InitProcessGroup: root_cube 16: the last cube of a SIP is 15`)
}
