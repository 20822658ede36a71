package dist_test

import (
	"fmt"
	"testing"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// TestBatchedMessages checks messages in a ring, in both directions at once. The receives
// are in another order than the sends, so that tags and groups decide which messages they
// get.
func TestBatchedMessages(t *testing.T) {
	const n = 5
	l, err := hostedtest.Spawn(t, n, func(r *torch.Rank) error {
		rank := r.Rank()
		g, err := dist.NewGroup(r, []int{4, 2, 0, 1, 3}, dist.KeepOrder())
		if err != nil {
			return err
		}
		next, prev := (rank+1)%n, (rank+n-1)%n
		var got [4]*torch.Tensor
		for i := range got {
			got[i] = hostedtest.Full(r, 0, 7)
		}
		works, err := dist.BatchISendIRecv(r, []dist.P2POp{
			{Kind: dist.Recvs, Tensor: got[0], Peer: prev, Tag: 2},
			{Kind: dist.Recvs, Tensor: got[1], Peer: prev, Tag: 1},
			{Kind: dist.Sends, Tensor: hostedtest.Full(r, 10*rank+1, 7), Peer: next, Tag: 1},
			{Kind: dist.Sends, Tensor: hostedtest.Full(r, 10*rank+2, 7), Peer: next, Tag: 2},
			{Kind: dist.Sends, Tensor: hostedtest.Full(r, 10*rank+3, 7), Peer: prev, Group: g},
			{Kind: dist.Sends, Tensor: hostedtest.Full(r, 10*rank+4, 7), Peer: prev},
			{Kind: dist.Recvs, Tensor: got[2], Peer: next},
			{Kind: dist.Recvs, Tensor: got[3], Peer: next, Group: g},
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
			if err := r.Check(fmt.Sprintf("message %d to rank %d", i, rank), got[i], hostedtest.Fill(want, 7)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || !l.Checks().OK() || len(l.Checks()) != 4*n {
		t.Errorf("error %v, checks %+v", err, l.Checks())
	}
}

// TestMessagesKeepTheirOrder checks that messages with the same tag between two ranks
// arrive in the order in which they are sent.
func TestMessagesKeepTheirOrder(t *testing.T) {
	l, err := hostedtest.Spawn(t, 2, func(r *torch.Rank) error {
		var all []*torch.Tensor
		for i := range 20 {
			x := hostedtest.Full(r, (1-r.Rank())*(i+1), 1+i%3)
			var err error
			if r.Rank() == 0 {
				err = dist.Send(r, x, 1, 0)
			} else {
				err = dist.Recv(r, x, 0, 0)
			}
			if err != nil {
				return err
			}
			all = append(all, x)
		}
		for i, x := range all {
			if err := r.Check(fmt.Sprint("message ", i), x, hostedtest.Fill(i+1, 1+i%3)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || !l.Checks().OK() || len(l.Checks()) != 40 {
		t.Errorf("error %v, checks %+v", err, l.Checks())
	}
}

// TestManyMessagesInAnyOrder checks that a rank can enqueue many receives, and wait for the
// messages in another order than that in which they are sent.
func TestManyMessagesInAnyOrder(t *testing.T) {
	const n = 100
	_, err := hostedtest.Spawn(t, 2, func(r *torch.Rank) error {
		var works []*dist.Work
		for i := range n {
			var w *dist.Work
			var err error
			if x := hostedtest.Full(r, i, 2); r.Rank() == 0 {
				w, err = dist.IRecv(r, x, 1, i)
			} else if w, err = dist.ISend(r, x, 0, n-1-i); err == nil {
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

// TestMessagesToOneself checks batches in which ranks send messages to themselves: with odd
// sizes and layouts, together with messages to other ranks, and with receives in another
// order than the sends.
func TestMessagesToOneself(t *testing.T) {
	const n = 5
	l, err := hostedtest.Spawn(t, n, func(r *torch.Rank) error {
		rank := r.Rank()
		next, prev := (rank+1)%n, (rank+n-1)%n
		rows := torch.DPPolicy{PE: torch.RowWise, NumCubes: 1, NumPEs: 3}
		tensor := func(v int, on ...torch.TensorOption) *torch.Tensor {
			return torch.Must(r.Full(float64(v), torch.F32, torch.Shape{1029}, on...))
		}
		got := []*torch.Tensor{tensor(0), tensor(0), tensor(0, rows), tensor(0)}
		works, err := dist.BatchISendIRecv(r, []dist.P2POp{
			{Kind: dist.Recvs, Tensor: got[0], Peer: rank, Tag: 2},
			{Kind: dist.Sends, Tensor: tensor(10*rank + 1), Peer: rank, Tag: 1},
			{Kind: dist.Sends, Tensor: tensor(10*rank + 2), Peer: rank, Tag: 2},
			{Kind: dist.Recvs, Tensor: got[1], Peer: rank, Tag: 1},
			{Kind: dist.Sends, Tensor: tensor(10*rank+3, rows), Peer: rank},
			{Kind: dist.Recvs, Tensor: got[2], Peer: rank},
			{Kind: dist.Sends, Tensor: tensor(10*rank + 4), Peer: next},
			{Kind: dist.Recvs, Tensor: got[3], Peer: prev},
		})
		torch.OK(err)
		for _, w := range works {
			torch.OK(w.Wait())
		}
		for i, want := range []int{10*rank + 2, 10*rank + 1, 10*rank + 3, 10*prev + 4} {
			torch.OK(r.Check(fmt.Sprintf("message %d to rank %d", i, rank), got[i], hostedtest.Fill(want, 1029)))
		}
		return nil
	})
	if err != nil || !l.Checks().OK() || len(l.Checks()) != 4*n {
		t.Errorf("error %v, checks %+v", err, l.Checks())
	}
	// Without Spawn, only PEs 1 and 2 send to themselves.
	l = hostedtest.PEs(t, 3)
	x, y := l.Ints(lists.Count(0, 9), torch.I32, torch.On(dist.PEs(l.Rank)...)), l.MustZeros(torch.I32, torch.On(dist.PEs(l.Rank)...), 9)
	for rank := 1; rank < 3; rank++ {
		torch.Must(dist.BatchISendIRecv(l.Rank, []dist.P2POp{{Kind: dist.Sends, Tensor: x, Peer: rank, Rank: rank}, {Kind: dist.Recvs, Tensor: y, Peer: rank, Rank: rank}}))
	}
	torch.OK(l.Synchronize())
	l.Holds("y", y, []int{0, 0, 0, 3, 4, 5, 6, 7, 8})
}

// TestTheTimeOfAMessageToOneself checks that a message of 4 KiB in one chunk that a rank
// sends to itself takes as long as a kernel that copies the data.
func TestTheTimeOfAMessageToOneself(t *testing.T) {
	measure := func(do func(r *torch.Rank, x, y *torch.Tensor) error) (time torch.Time) {
		_, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
			x, y := torch.Must(r.Zeros(torch.F32, torch.Shape{1024})), torch.Must(r.Zeros(torch.F32, torch.Shape{1024}))
			time = elapsed(r, func() error { return do(r, x, y) })
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return time
	}
	self := measure(func(r *torch.Rank, x, y *torch.Tensor) error {
		rank := dist.GetRank(r)
		return hostedtest.Second(dist.BatchISendIRecv(r, []dist.P2POp{{Kind: dist.Sends, Tensor: x, Peer: rank}, {Kind: dist.Recvs, Tensor: y, Peer: rank}}))
	})
	copied := measure(func(r *torch.Rank, x, y *torch.Tensor) error {
		return hostedtest.Second(r.Launch("copy", func(t *tl.PE, x, y tl.Ptr) { t.Store(y, t.Load(x, tl.Shape{1024}, tl.F32)) }, x, y))
	})
	if self != copied || self == 0 {
		t.Errorf("a message to oneself takes %v, a kernel that copies it %v: want the same", self, copied)
	}
}
