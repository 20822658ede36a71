package procpe

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/kernbench/kernbench/tl"
)

// joinTwo creates a group of two workers, a and b. The east port of a is connected with the
// west port of b.
func joinTwo(s *Session) (a, b *Worker, g *Group) {
	a, b = s.NewWorker(), s.NewWorker()
	return a, b, s.Join("k", []*Worker{a, b}, []tl.Connection{{A: 0, APort: tl.East, B: 1, BPort: tl.West}})
}

// tile creates a tile of n elements of 8 bytes that all have the given value.
func tile(t *tl.PE, n, value int) tl.Tile { return t.Full(tl.Shape{n}, tl.I64, float64(value)) }

// firstElement returns the first element of a tile.
func firstElement(x tl.Tile) int { return int(x.Values()[0]) }

// TestQueuesHaveSlots checks when Send waits. A sender can send four messages of one slot
// before the receiver takes one, and can send a message larger than the queue only if the
// receive for that message is posted. The test also checks that messages arrive in order,
// and that receives get the messages in the order in which the receives were posted.
func TestQueuesHaveSlots(t *testing.T) {
	runOneSession(t, setup{}, func(s *Session) {
		a, b, g := joinTwo(s)
		var log []string
		note := func(format string, args ...any) { log = append(log, fmt.Sprintf(format, args...)) }
		start(a, "a", func(t *tl.PE, _ tl.Ptr) {
			for i := range 6 {
				t.Send(tl.East, tile(t, 512, i)) // takes one slot
				note("sent %d", i)
			}
			t.Send(tl.East, tile(t, 5*512, 6))
			note("sent a large one")
			t.Send(tl.East, tile(t, 0, 7))
			note("sent nothing")
		})
		start(b, "b", func(t *tl.PE, x tl.Ptr) {
			for range 5 {
				note("received %d", firstElement(t.Recv(tl.West, tl.Shape{512}, tl.I64)))
			}
			one, large := t.RecvAsync(tl.West, tl.Shape{512}, tl.I64), t.RecvAsync(tl.West, tl.Shape{5, 512}, tl.I64)
			note("received %d", firstElement(large.Wait()))
			note("received %d", firstElement(one.Wait()))
			large.Wait()
			t.RecvInto(tl.West, x, tl.Shape{0}, tl.I64)
		})
		if err := runToEnd(s, a, b); err != nil {
			t.Fatal(err)
		}
		for _, w := range []*Worker{a, b} {
			if err := g.Leave(w); err != nil {
				t.Error(err)
			}
		}
		want := []string{
			"sent 0", "sent 1", "sent 2", "sent 3", // the fifth Send waits
			"received 0", "received 1", "received 2", "received 3", "received 4",
			"sent 4", "sent 5", "sent a large one", "sent nothing", "received 6", "received 5",
		}
		if !slices.Equal(log, want) {
			t.Errorf("got  %q\nwant %q", log, want)
		}
	})
}

// TestSelectOfPorts checks that Select can wait for ports and signals at the same time. If
// several cases become true at once, it must return the first of them in the list.
func TestSelectOfPorts(t *testing.T) {
	for _, c := range []struct {
		does func(t *tl.PE) // kernel of member 0, while member 1 waits
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
		runOneSession(t, setup{Signals: 8}, func(s *Session) {
			a, b, _ := joinTwo(s)
			got := -1
			start(b, "b", func(t *tl.PE, _ tl.Ptr) {
				t.Send(tl.West, tile(t, 3*512, 1))
				got = t.Select(tl.CanRecv(tl.West), tl.CanSignal(3, tl.EQ, 1), tl.CanSend(tl.West, tl.Shape{2 * 512}, tl.I64), tl.CanSignal(4, tl.EQ, 1))
			})
			start(a, "a", func(t *tl.PE, _ tl.Ptr) {
				if got >= 0 {
					t.Assert(false, "Select has chosen %d before any case was true", got)
				}
				c.does(t)
			})
			if err := runToEnd(s, a, b); err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("Select chose case %d, want %d", got, c.want)
			}
		})
	}
}

// TestReceiveKeepsItsTile checks that the tile of a posted receive is not evicted before
// the message arrives, although other tiles need the space. After that, the tile can be
// evicted.
func TestReceiveKeepsItsTile(t *testing.T) {
	runOneSession(t, setup{TileBytes: 8 << 10}, func(s *Session) {
		a, b, _ := joinTwo(s)
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
		if err := runToEnd(s, a, b); err != nil {
			t.Fatal(err)
		}
		if got := s.regions[0].bytes[16]; got != 41 {
			t.Errorf("the message is %d, want 41", got)
		}
	})
}

// TestGroupsFollowEachOther creates two groups of the same workers, one after the other. It
// checks that RecvAny begins with the first port in both groups, and that a worker which
// has left a group has no queues.
func TestGroupsFollowEachOther(t *testing.T) {
	runOneSession(t, setup{}, func(s *Session) {
		a, b := s.NewWorker(), s.NewWorker()
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
			if err := errors.Join(runToEnd(s, a, b), g.Leave(a), g.Leave(b)); err != nil {
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
