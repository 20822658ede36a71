package torch_test

import (
	"fmt"
	"testing"

	"github.com/kernbench/kernbench/torch"
)

// Messages in a ring, to both sides at once and with tags that cross.
func TestBatchedMessages(t *testing.T) {
	const n = 5
	l, err := spawn(t, n, func(rank int, ctx *torch.Context, dist *torch.Distributed) error {
		g, err := dist.NewGroup([]int{4, 2, 0, 1, 3}, torch.KeepOrder())
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
