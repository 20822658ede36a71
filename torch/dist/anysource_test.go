package dist_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// TestReceiveFromAnySource checks that a receive from any source accepts the earliest
// message. If several are sent at the same instant, it must accept the message of the
// lowest rank. The receive may be enqueued before or after the messages.
func TestReceiveFromAnySource(t *testing.T) {
	for _, late := range []bool{false, true} {
		var got []int
		l, err := hostedtest.Spawn(t, 7, func(r *torch.Rank) error {
			rank := r.Rank()
			g := torch.Must(dist.NewGroup(r, []int{6, 2, 3, 5, 4, 0, 1}, dist.KeepOrder()))
			if rank != 3 {
				pause(r, []int{2, 1, 0, 0, 1, 2, 0}[rank])
				return dist.Send(r, hostedtest.Full(r, rank, 5), 3, 4, g)
			}
			if late {
				pause(r, 9)
			}
			x := hostedtest.Full(r, 99, 5)
			for range 6 {
				source, err := dist.RecvAny(r, x, 4, g)
				if err != nil {
					return err
				}
				got = append(got, source)
				torch.OK(r.Check("x", x, hostedtest.Fill(source, 5)))
			}
			return nil
		})
		if want := []int{2, 6, 1, 4, 0, 5}; err != nil || !slices.Equal(got, want) || !l.Checks().OK() || len(l.Checks()) != 6 {
			t.Errorf("late %v: error %v, from %v, want %v, checks %+v", late, err, got, want, l.Checks())
		}
	}
}

// TestAnySourceAmongOtherReceives checks that receives accept messages in the order in
// which the receives are enqueued: a receive from any source goes before a later receive
// from one source. A receive accepts only messages with its group and tag.
func TestAnySourceAmongOtherReceives(t *testing.T) {
	var got [4]int
	l, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
		rank := r.Rank()
		g := torch.Must(dist.NewGroup(r, []int{0, 1, 2}))
		if rank > 0 {
			pause(r, 3-rank) // rank 2 sends first
			works := torch.Must(dist.BatchISendIRecv(r, []dist.P2POp{
				{Kind: dist.Sends, Tensor: hostedtest.Full(r, 10*rank, 3), Peer: 0},
				{Kind: dist.Sends, Tensor: hostedtest.Full(r, 10*rank+1, 3), Peer: 0},
				{Kind: dist.Sends, Tensor: hostedtest.Full(r, 10*rank+2, 3), Peer: 0, Tag: 1},
				{Kind: dist.Sends, Tensor: hostedtest.Full(r, 10*rank+3, 3), Peer: 0, Group: g},
			}))
			for _, w := range works {
				torch.OK(w.Wait())
			}
			return nil
		}
		var x [8]*torch.Tensor
		for i := range x {
			x[i] = hostedtest.Full(r, 99, 3)
		}
		works := torch.Must(dist.BatchISendIRecv(r, []dist.P2POp{
			{Kind: dist.Recvs, Tensor: x[0], Peer: 2},
			{Kind: dist.Recvs, Tensor: x[1], Peer: dist.AnySource},
			{Kind: dist.Recvs, Tensor: x[2], Peer: 1},
			{Kind: dist.Recvs, Tensor: x[3], Peer: dist.AnySource},
			{Kind: dist.Recvs, Tensor: x[4], Peer: dist.AnySource, Group: g},
			{Kind: dist.Recvs, Tensor: x[5], Peer: dist.AnySource, Tag: 1},
			{Kind: dist.Recvs, Tensor: x[6], Peer: 1, Tag: 1},
			{Kind: dist.Recvs, Tensor: x[7], Peer: 1, Group: g},
		}))
		for i, want := range []int{20, 21, 10, 11, 23, 22, 12, 13} {
			torch.OK(works[i].Wait())
			torch.OK(r.Check(fmt.Sprint("x", i), x[i], hostedtest.Fill(want, 3)))
		}
		got = [4]int{works[1].Source(), works[2].Source(), works[4].Source(), works[5].Source()}
		return nil
	})
	if want := [4]int{2, 1, 2, 2}; err != nil || got != want || !l.Checks().OK() || len(l.Checks()) != 8 {
		t.Errorf("error %v, sources %v, want %v, checks %+v", err, got, want, l.Checks())
	}
}

// TestAnySourceWithoutSpawn checks receives from any source in a program without Spawn.
func TestAnySourceWithoutSpawn(t *testing.T) {
	l := hostedtest.PEs(t, 5)
	x, y := l.Ints(lists.Count(0, 10), torch.I32, torch.On(dist.PEs(l.Rank)...)), l.MustZeros(torch.I32, torch.On(dist.PEs(l.Rank)...), 10)
	works := torch.Must(dist.BatchISendIRecv(l.Rank, []dist.P2POp{
		{Kind: dist.Recvs, Tensor: y, Peer: dist.AnySource, Rank: 1},
		{Kind: dist.Sends, Tensor: x, Peer: 1, Rank: 3},
		{Kind: dist.Recvs, Tensor: y, Peer: dist.AnySource, Rank: 4},
		{Kind: dist.Sends, Tensor: x, Peer: 4, Rank: 2},
	}))
	torch.OK(l.Synchronize())
	l.Holds("y", y, []int{0, 0, 6, 7, 0, 0, 0, 0, 4, 5})
	if a, b := works[0].Source(), works[2].Source(); a != 3 || b != 2 {
		t.Errorf("sources %d and %d, want 3 and 2", a, b)
	}
}

// TestAnySourceKeepsTheOrderOfTensors checks that an operation waits for an earlier receive
// from any source into the same tensor.
func TestAnySourceKeepsTheOrderOfTensors(t *testing.T) {
	l, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
		rank := r.Rank()
		x := hostedtest.Full(r, rank, 5)
		switch rank {
		case 0: // receives from rank 1 and forwards to rank 2
			torch.OK(dist.Recv(r, x, dist.AnySource, 0))
			torch.OK(dist.Send(r, x, 2, 0))
		case 1:
			pause(r, 3)
			torch.OK(dist.Send(r, x, 0, 0))
			torch.OK(dist.Recv(r, x, dist.AnySource, 0))
		case 2:
			torch.OK(dist.Recv(r, x, dist.AnySource, 0))
			torch.OK(dist.AllReduce(r, torch.Must(r.Zeros(torch.F32, torch.Shape{1})), dist.SUM, torch.Must(dist.SplitGroup(r, nil, [][]int{{2}}))))
			torch.OK(dist.Send(r, x, 1, 0))
		}
		if rank < 2 {
			torch.Must(dist.SplitGroup(r, nil, [][]int{{2}}))
		}
		torch.OK(r.Synchronize())
		return r.Check("x", x, hostedtest.Fill(1, 5))
	})
	if err != nil || !l.Checks().OK() || len(l.Checks()) != 3 {
		t.Errorf("error %v, checks %+v", err, l.Checks())
	}
}

// TestALaunchBehindAnySource checks a launch that follows a receive from any source while
// the sender is busy. The launch must not be sent to the device before the message, because
// it would occupy the PE that the message needs.
func TestALaunchBehindAnySource(t *testing.T) {
	l, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
		rank := r.Rank()
		x := torch.Must(r.Zeros(torch.F32, torch.Shape{3000}))
		add := func(t *tl.PE, x tl.Ptr, n int) {
			for range n {
				t.Store(x, t.Load(x, tl.Shape{3000}, tl.F32).Add(1))
			}
		}
		if rank == 1 {
			torch.Must(r.Launch("long", add, x, 9))
			torch.OK(dist.Send(r, x, 2, 0))
		}
		if rank == 2 {
			torch.OK(dist.Recv(r, x, dist.AnySource, 0))
			pause(r, 1) // by then the message is matched
			torch.Must(r.Launch("behind", add, x, 1))
		}
		torch.OK(r.Synchronize())
		return r.Check("x", x, hostedtest.Fill([]int{0, 9, 10}[rank], 3000))
	})
	if err != nil || !l.Checks().OK() || len(l.Checks()) != 3 {
		t.Errorf("error %v, checks %+v", err, l.Checks())
	}
}

// TestAnySourceThatNeverComes checks the errors of receives with AnySource in three cases.
// In the first case no message is sent, and the error names the ranks that could have sent
// one. In the second case two ranks wait for each other. In the third case the message has
// another size than the receive.
func TestAnySourceThatNeverComes(t *testing.T) {
	_, err := hostedtest.Spawn(t, 5, func(r *torch.Rank) error {
		if r.Rank() == 2 {
			return hostedtest.Second(dist.RecvAny(r, hostedtest.Full(r, 0, 3), 7))
		}
		return nil
	})
	hostedtest.Blames(t, err, []int{0, 1, 3, 4}, "ranks 0, 1, 3, 4: returned without message from any rank to rank 2 with tag 7, for which rank 2 waits")

	_, err = hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
		if r.Rank() == 0 {
			return nil
		}
		return hostedtest.Second(dist.RecvAny(r, hostedtest.Full(r, 0, 3), 0)) // both ranks wait for a message of the other or of rank 0
	})
	hostedtest.Blames(t, err, []int{1, 2}, "rank 1: waits for message from any rank to rank 1, which ranks 0, 2 have not called; the ranks wait for each other")

	_, err = hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
		rank := r.Rank()
		if rank == 1 {
			return hostedtest.Second(dist.RecvAny(r, hostedtest.Full(r, 0, 4), 0))
		}
		if rank == 2 {
			pause(r, 1)
		}
		return dist.Send(r, hostedtest.Full(r, 0, 3+rank), 1, 0)
	})
	hostedtest.Blames(t, err, []int{0, 1}, "message from rank 0 to rank 1: the ranks do not agree: rank 0: a message of f32 [3]", "rank 1: a message of f32 [4]")
}

// TestMisuseOfSources checks the errors for wrong uses of Source and of receives from any
// source.
func TestMisuseOfSources(t *testing.T) {
	_, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
		rank := r.Rank()
		x := hostedtest.Full(r, rank, 1)
		alone := torch.Must(dist.SplitGroup(r, nil, [][]int{{0}, {1}, {2}}))
		for _, c := range []struct {
			do   func()
			want string
		}{
			{func() { torch.Must(dist.BarrierAsync(r)).Source() }, "torch: Source: barrier 1 of the default group is not a message"},
			{func() { torch.Must(dist.IRecv(r, x, dist.AnySource, 0)).Source() }, fmt.Sprintf("torch: Source: message from any rank to rank %d has not been waited for: call Wait first", rank)},
			{func() { dist.RecvAny(r, x, 0, alone) }, fmt.Sprintf("torch: Recv: group %d has no other rank to receive from", rank+1)},
			{func() { dist.Send(r, x, dist.AnySource, 0) }, "torch: Send: the peer, rank -1, is not in the default group, which has ranks 0-2: give a rank of the world, such as GetGlobalRank returns"},
		} {
			if err := hostedtest.Misuse(c.do); fmt.Sprint(err) != c.want {
				return fmt.Errorf("got %v, want %s", err, c.want)
			}
		}
		return dist.Send(r, hostedtest.Full(r, rank, 1), (rank+1)%3, 0)
	})
	if err != nil {
		t.Error(err)
	}
}

// TestAnyMessagesFromAnySource runs random sends and receives. It checks that each rank's
// messages arrive once and in order, that a receive from one source gets a message of that
// source, and that a second run gives the same result.
func TestAnyMessagesFromAnySource(t *testing.T) {
	options := trialOptions(t)
	rapid.Check(t, func(t *rapid.T) {
		world := rapid.IntRange(2, 5).Draw(t, "world")
		type send struct{ from, pause int }
		sends := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) send {
			return send{rapid.IntRange(1, world-1).Draw(t, "from"), rapid.IntRange(0, 2).Draw(t, "pause")}
		}), 1, 8).Draw(t, "sends")
		// Some messages get a receive from their source. These receives come first, so that
		// receives from any source do not take their messages.
		var sources []int
		for _, s := range sends {
			if rapid.Bool().Draw(t, "named") {
				sources = append(sources, s.from)
			}
		}
		sources = append(sources, slices.Repeat([]int{dist.AnySource}, len(sends)-len(sources))...)
		wait := rapid.IntRange(0, 3).Draw(t, "wait")
		o := options(trial{spawned: true, world: world})
		run := func() (got []string) {
			r := torch.Must(torch.New(t.Context(), o)).Main()
			defer r.Close()
			err := r.Spawn(func(r *torch.Rank) error {
				torch.OK(dist.InitProcessGroup(r, "ahbm"))
				if r.Rank() > 0 {
					for i, s := range sends {
						if s.from == r.Rank() {
							pause(r, s.pause)
							torch.OK(dist.Send(r, hostedtest.Full(r, i, 1), 0, 0))
						}
					}
					return nil
				}
				pause(r, wait)
				last := make([]int, world)
				var works []*dist.Work
				var x []*torch.Tensor
				for _, source := range sources {
					x = append(x, hostedtest.Full(r, -1, 1))
					works = append(works, torch.Must(dist.IRecv(r, x[len(x)-1], source, 0)))
				}
				for i, w := range works {
					torch.OK(w.Wait())
					number := int(torch.Must(x[i].At(0)))
					from := w.Source()
					if sends[number].from != from || sources[i] != dist.AnySource && sources[i] != from {
						return fmt.Errorf("receive %d from %d has message %d of rank %d", i, sources[i], number, from)
					}
					if number < last[from] {
						return fmt.Errorf("message %d of rank %d comes after %d", number, from, last[from]-1)
					}
					last[from] = number + 1
					got = append(got, fmt.Sprint(number, from))
				}
				return nil
			}, world)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		if a, b := run(), run(); !slices.Equal(a, b) || len(a) != len(sends) {
			t.Fatalf("the first run receives %v, the second %v, want %d messages", a, b, len(sends))
		}
	})
}
