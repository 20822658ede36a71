package procpe

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/kernbench/kernbench/tl"
)

// members are two workers with queues between them, east to west.
func members(s *Session) (a, b *Worker, g *Group) {
	a, b = s.Worker(), s.Worker()
	return a, b, s.Join("k", []*Worker{a, b}, []tl.Connection{{A: 0, APort: tl.East, B: 1, BPort: tl.West}})
}

// tile is n elements of 8 bytes, all of them a number.
func tile(t *tl.PE, n, value int) tl.Tile { return t.Full(tl.Shape{n}, tl.I64, float64(value)) }

// first is the first element of a tile.
func first(x tl.Tile) int { return int(x.Values()[0]) }

// TestQueuesHaveSlots has a kernel send ahead of the one that receives: four messages, or
// one that is larger than the queue when its receive has been asked for. Messages come in
// order, those of several receives in the order of these.
func TestQueuesHaveSlots(t *testing.T) {
	alone(t, setup{}, func(s *Session) {
		a, b, g := members(s)
		var log []string
		note := func(format string, args ...any) { log = append(log, fmt.Sprintf(format, args...)) }
		start(a, "a", func(t *tl.PE, _ tl.Ptr) {
			for i := range 6 {
				t.Send(tl.East, tile(t, 512, i)) // a slot
				note("sent %d", i)
			}
			t.Send(tl.East, tile(t, 5*512, 6))
			note("sent a large one")
			t.Send(tl.East, tile(t, 0, 7))
			note("sent nothing")
		})
		start(b, "b", func(t *tl.PE, x tl.Ptr) {
			for range 5 {
				note("received %d", first(t.Recv(tl.West, tl.Shape{512}, tl.I64)))
			}
			one, large := t.RecvAsync(tl.West, tl.Shape{512}, tl.I64), t.RecvAsync(tl.West, tl.Shape{5, 512}, tl.I64)
			note("received %d", first(large.Wait()))
			note("received %d", first(one.Wait()))
			large.Wait()
			t.RecvInto(tl.West, x, tl.Shape{0}, tl.I64)
		})
		if err := finish(s, a, b); err != nil {
			t.Fatal(err)
		}
		for _, w := range []*Worker{a, b} {
			if err := g.Leave(w); err != nil {
				t.Error(err)
			}
		}
		want := []string{
			"sent 0", "sent 1", "sent 2", "sent 3", // and waits with the fifth
			"received 0", "received 1", "received 2", "received 3", "received 4",
			"sent 4", "sent 5", "sent a large one", "sent nothing", "received 6", "received 5",
		}
		if !slices.Equal(log, want) {
			t.Errorf("got  %q\nwant %q", log, want)
		}
	})
}

// TestSelectOfPorts chooses the first of cases of ports and signals that is so, when several
// become so at once, and waits for all of them.
func TestSelectOfPorts(t *testing.T) {
	for _, c := range []struct {
		does func(t *tl.PE) // member 0, while member 1 waits
		want int
	}{
		{func(t *tl.PE) { t.Send(tl.East, tile(t, 1, 1)) }, 0},
		{func(t *tl.PE) { t.Notify(0, 3, tl.Set, 1) }, 1},
		{func(t *tl.PE) { t.Recv(tl.East, tl.Shape{3 * 512}, tl.I64) }, 2},
		{func(t *tl.PE) { t.Notify(0, 4, tl.Set, 1) }, 3},
		{func(t *tl.PE) {
			t.Notify(0, 4, tl.Set, 1)
			t.Recv(tl.East, tl.Shape{3 * 512}, tl.I64)
			t.Notify(0, 3, tl.Set, 1)
		}, 1},
		{func(t *tl.PE) { t.Notify(0, 3, tl.Set, 1); t.Send(tl.East, tile(t, 1, 1)) }, 0},
	} {
		alone(t, setup{Signals: 8}, func(s *Session) {
			a, b, _ := members(s)
			got := -1
			start(b, "b", func(t *tl.PE, _ tl.Ptr) {
				t.Send(tl.West, tile(t, 3*512, 1))
				got = t.Select(tl.CanRecv(tl.West), tl.CanSignal(3, tl.EQ, 1), tl.CanSend(tl.West, tl.Shape{2 * 512}, tl.I64), tl.CanSignal(4, tl.EQ, 1))
			})
			start(a, "a", func(t *tl.PE, _ tl.Ptr) {
				if got >= 0 {
					t.Assert(false, "Select has chosen %d before anything was so", got)
				}
				c.does(t)
			})
			if err := finish(s, a, b); err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("Select chose case %d, want %d", got, c.want)
			}
		})
	}
}

// TestReceiveKeepsItsTile has other tiles take all the room while a message is awaited, and
// then as many messages as there would be room for if none of them went.
func TestReceiveKeepsItsTile(t *testing.T) {
	alone(t, setup{TileBytes: 8 << 10}, func(s *Session) {
		a, b, _ := members(s)
		start(b, "b", func(t *tl.PE, x tl.Ptr) {
			r := t.RecvAsync(tl.West, tl.Shape{3}, tl.I64)
			for range 9 {
				tile(t, 256, 0)
			}
			t.Store(x, r.Wait())
			for range 9 {
				t.Recv(tl.West, tl.Shape{128}, tl.I64)
			}
		})
		start(a, "a", func(t *tl.PE, x tl.Ptr) {
			t.Send(tl.East, tile(t, 3, 41))
			for range 9 {
				t.Send(tl.East, tile(t, 128, 0))
			}
		})
		if err := finish(s, a, b); err != nil {
			t.Fatal(err)
		}
		if got := s.regions[0].bytes[16]; got != 41 {
			t.Errorf("the message is %d, want 41", got)
		}
	})
}

// TestGroupsFollowEachOther has the same workers in two groups. RecvAny begins with the first
// port in both, and a worker that has left a group has no queues.
func TestGroupsFollowEachOther(t *testing.T) {
	alone(t, setup{}, func(s *Session) {
		a, b := s.Worker(), s.Worker()
		for round := range 2 {
			g := s.Join("k", []*Worker{a, b}, []tl.Connection{{A: 0, APort: tl.East, B: 1, BPort: tl.West}, {A: 0, APort: tl.West, B: 1, BPort: tl.East}, {A: 0, APort: tl.North, B: 1, BPort: tl.North}})
			var got []tl.Port
			start(a, "a", func(t *tl.PE, _ tl.Ptr) {
				for _, port := range []tl.Port{tl.West, tl.North, tl.East} {
					t.Send(port, tile(t, 1, 0))
				}
			})
			start(b, "b", func(t *tl.PE, _ tl.Ptr) {
				for range 2 {
					_, port := t.RecvAny(tl.Shape{1}, tl.I64)
					got = append(got, port)
				}
				t.Recv(tl.West, tl.Shape{1}, tl.I64)
			})
			if err := errors.Join(finish(s, a, b), g.Leave(a), g.Leave(b)); err != nil {
				t.Fatal(err)
			}
			if want := []tl.Port{tl.North, tl.East}; !slices.Equal(got, want) {
				t.Errorf("round %d: messages from %v, want %v", round, got, want)
			}
			start(a, "later", func(t *tl.PE, _ tl.Ptr) { t.Send(tl.East, tile(t, 1, 0)) })
			if err := a.Err(); !errors.Is(err, errQueues) {
				t.Errorf("round %d: a Send after the group: %v, want %v", round, err, errQueues)
			}
		}
	})
}
