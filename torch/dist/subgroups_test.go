package dist_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// TestOrderOfAGroup checks that the ranks of a group are sorted unless KeepOrder is given,
// and that the blocks of a collective are in the order of the ranks in the group. NewGroup
// must not change the list of ranks that it is given.
func TestOrderOfAGroup(t *testing.T) {
	for _, c := range []struct {
		opts []dist.GroupOption
		want []int // ranks, in the order of the group
	}{
		{nil, []int{0, 2, 3, 4, 6}},
		{[]dist.GroupOption{dist.KeepOrder()}, []int{4, 0, 6, 3, 2}},
	} {
		ranks := []int{4, 0, 6, 3, 2}
		l, err := hostedtest.Spawn(t, 7, func(self *torch.Rank) error {
			g, err := dist.NewGroup(self, ranks, c.opts...)
			if err != nil {
				return err
			}
			if got, want := fmt.Sprint(g.Ranks(), dist.GetRank(self, g)), fmt.Sprint(c.want, slices.Index(c.want, self.Rank())); got != want {
				return fmt.Errorf("ranks and own rank %s, want %s", got, want)
			}
			if dist.GetRank(self, g) < 0 {
				return nil
			}
			y := hostedtest.Full(self, 0, 15)
			err = dist.AllGatherIntoTensor(self, y, hostedtest.Full(self, self.Rank(), 3), g)
			var want []int
			for _, r := range c.want {
				want = append(want, r, r, r)
			}
			return errors.Join(err, self.Check("y", y, want))
		})
		if err != nil || !l.Checks().OK() || len(l.Checks()) != 5 {
			t.Errorf("error %v, checks %+v", err, l.Checks())
		}
		if ranks[0] != 4 {
			t.Errorf("NewGroup has changed its argument to %v", ranks)
		}
	}
}

// TestKeepOrderIsNotInherited checks that a new group is sorted even if the default group
// was made with KeepOrder.
func TestKeepOrderIsNotInherited(t *testing.T) {
	_, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
		torch.OK(dist.DestroyProcessGroup(r))
		torch.OK(dist.InitProcessGroup(r, "ahbm", dist.KeepOrder()))
		g, err := dist.NewGroup(r, []int{2, 0})
		if err == nil && !slices.Equal(g.Ranks(), []int{0, 2}) {
			err = fmt.Errorf("ranks %v", g.Ranks())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestNewSubgroups checks the groups of NewSubgroups and a collective in each of them.
func TestNewSubgroups(t *testing.T) {
	l, err := hostedtest.Spawn(t, 6, func(r *torch.Rank) error {
		rank := r.Rank()
		own, all, err := dist.NewSubgroups(r, 3)
		if err != nil {
			return err
		}
		if got, want := fmt.Sprint(all, own == all[rank/3], dist.GetRank(r, own)), fmt.Sprint("[group 1 of ranks [0 1 2] group 2 of ranks [3 4 5]] true ", rank%3); got != want {
			return fmt.Errorf("got %s, want %s", got, want)
		}
		x := hostedtest.Full(r, rank, 5)
		err = dist.AllReduce(r, x, dist.SUM, own)
		return errors.Join(err, r.Check("x", x, hostedtest.Fill(3+rank/3*9, 5)))
	})
	if err != nil || !l.Checks().OK() || len(l.Checks()) != 6 {
		t.Errorf("error %v, checks %+v", err, l.Checks())
	}
}

// TestNewSubgroupsByEnumeration checks that a rank in a list gets the group of this list,
// and that a rank in no list gets no group.
func TestNewSubgroupsByEnumeration(t *testing.T) {
	var got [5]string
	_, err := hostedtest.Spawn(t, 5, func(r *torch.Rank) error {
		own, all, err := dist.NewSubgroupsByEnumeration(r, [][]int{{4, 1}, {2}})
		got[r.Rank()] = fmt.Sprint(own != nil, len(all))
		if own != nil {
			got[r.Rank()] += fmt.Sprint(" ", own, dist.GetRank(r, own))
		}
		return err
	})
	want := [5]string{"false 2", "true 2 group 1 of ranks [1 4] 0", "true 2 group 2 of ranks [2] 0", "false 2", "true 2 group 1 of ranks [1 4] 1"}
	if err != nil || got != want {
		t.Errorf("error %v\ngot  %q\nwant %q", err, got, want)
	}
}

// TestSplitGroup checks that only the members of a group need to split it, and that the
// lists contain ranks in this group, not ranks of the world.
func TestSplitGroup(t *testing.T) {
	var got [7]string
	l, err := hostedtest.Spawn(t, 7, func(r *torch.Rank) error {
		rank := r.Rank()
		parent, err := dist.NewGroup(r, []int{6, 1, 5, 3, 2}, dist.Algorithm("tree"))
		if err != nil || dist.GetRank(r, parent) < 0 {
			return err
		}
		for range 2 {
			g, err := dist.SplitGroup(r, parent, [][]int{{4, 0}, {1, 3}})
			if err != nil {
				return err
			}
			if got[rank] = fmt.Sprint(g); g == nil { // rank 3 is in no list
				continue
			}
			x := hostedtest.Full(r, rank, 5)
			err = errors.Join(dist.AllReduce(r, x, dist.SUM, g), r.Check("x", x, hostedtest.Fill(7, 5)))
			if err != nil || dist.Last(r.Context).Algorithm != "tree" {
				return fmt.Errorf("%w, by %s", err, dist.Last(r.Context).Algorithm)
			}
		}
		after, err := dist.SplitGroup(r, nil, [][]int{{0, 1, 2, 3, 4, 5, 6}})
		if err != nil {
			return err
		}
		got[rank] += fmt.Sprint(", ", after)
		return nil
	})
	const all = ", group 2 of ranks [0 1 2 3 4 5 6]"
	want := [7]string{"", "group 1.3 of ranks [1 6]" + all, "group 1.4 of ranks [2 5]" + all, "<nil>" + all, "", "group 1.4 of ranks [2 5]" + all, "group 1.3 of ranks [1 6]" + all}
	if err != nil || got != want || !l.Checks().OK() || len(l.Checks()) != 8 {
		t.Errorf("error %v, checks %+v\ngot  %q\nwant %q", err, l.Checks(), got, want)
	}
}

// TestRanksOfAGroupAndOfTheWorld checks that GetGroupRank and GetGlobalRank convert between
// ranks of a group and ranks of the world.
func TestRanksOfAGroupAndOfTheWorld(t *testing.T) {
	_, err := hostedtest.Spawn(t, 5, func(self *torch.Rank) error {
		g := torch.Must(dist.NewGroup(self, []int{4, 0, 3}, dist.KeepOrder()))
		text := fmt.Sprint(dist.GetProcessGroupRanks(self), dist.GetProcessGroupRanks(self, g), dist.GetGroupRank(self, nil, 3), dist.GetGlobalRank(self, nil, 3))
		for i, r := range []int{4, 0, 3} {
			text += fmt.Sprint(" ", dist.GetGroupRank(self, g, r) == i && dist.GetGlobalRank(self, g, i) == r)
		}
		if want := "[0 1 2 3 4] [4 0 3] 3 3 true true true"; text != want {
			return fmt.Errorf("got %s, want %s", text, want)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
