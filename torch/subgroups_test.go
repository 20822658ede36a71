package torch_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/kernbench/kernbench/torch"
)

// Ranks of a group are sorted, unless their order is kept: that is the order of blocks.
func TestOrderOfAGroup(t *testing.T) {
	for _, c := range []struct {
		opts []torch.GroupOption
		want []int // ranks, in the order of the group
	}{
		{nil, []int{0, 2, 3, 4, 6}},
		{[]torch.GroupOption{torch.KeepOrder()}, []int{4, 0, 6, 3, 2}},
	} {
		ranks := []int{4, 0, 6, 3, 2}
		l, err := spawn(t, 7, func(rank int, ctx *torch.Context, dist *torch.Distributed) error {
			g, err := dist.NewGroup(ranks, c.opts...)
			if err != nil {
				return err
			}
			if got, want := fmt.Sprint(g.Ranks(), dist.GetRank(g)), fmt.Sprint(c.want, slices.Index(c.want, rank)); got != want {
				return fmt.Errorf("ranks and own rank %s, want %s", got, want)
			}
			if dist.GetRank(g) < 0 {
				return nil
			}
			y := full(ctx, 0, 15)
			err = dist.AllGatherIntoTensor(y, full(ctx, rank, 3), g)
			var want []int
			for _, r := range c.want {
				want = append(want, r, r, r)
			}
			return errors.Join(err, ctx.Check("y", y, want))
		})
		if err != nil || !l.Report.OK() || len(l.Report.Checks) != 5 {
			t.Errorf("error %v, checks %+v", err, l.Report.Checks)
		}
		if ranks[0] != 4 {
			t.Errorf("NewGroup has changed its argument to %v", ranks)
		}
	}
}

// A group made of a group whose order is kept is sorted all the same.
func TestKeepOrderIsNotInherited(t *testing.T) {
	_, err := spawn(t, 3, func(rank int, ctx *torch.Context, dist *torch.Distributed) error {
		torch.OK(dist.DestroyProcessGroup())
		torch.OK(dist.InitProcessGroup("ahbm", torch.KeepOrder()))
		g, err := dist.NewGroup([]int{2, 0})
		if err == nil && !slices.Equal(g.Ranks(), []int{0, 2}) {
			err = fmt.Errorf("ranks %v", g.Ranks())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
