package procpe

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/inproc"
	"github.com/kernbench/kernbench/tl"
)

// until asks for a signal until it is 1.
func until(t *tl.PE, signal int) {
	for !t.Test(signal, tl.EQ, 1) {
	}
}

// TestPolling has a kernel ask in a loop for what another one of the rank has the peer do,
// where it is a loop that answers.
func TestPolling(t *testing.T) {
	bothBackends(t, func(t *testing.T, c *comm.Comm, s *Session) error {
		const asked, answered = 0, 1
		peer := 1 - c.Rank()
		var order []string
		a, b, answer := s.Worker(), s.Worker(), s.Worker()
		start(a, "a", func(t *tl.PE, _ tl.Ptr) {
			order = append(order, "a begins")
			until(t, answered)
			order = append(order, "a has its answer")
		})
		if err := s.Wait([]*Worker{b, a}); err != nil || !a.Running() {
			t.Errorf("a running: %v, Wait: %v, want true and no error", a.Running(), err)
		}
		start(b, "b", func(t *tl.PE, _ tl.Ptr) {
			order = append(order, "b asks")
			t.Notify(peer, asked, tl.Set, 1)
			t.WaitSignal(answered, tl.EQ, 1)
		})
		start(answer, "answer", func(t *tl.PE, _ tl.Ptr) {
			until(t, asked)
			t.Notify(peer, answered, tl.Set, 1)
		})
		if err := finish(s, a, b, answer); err != nil {
			return err
		}
		if want := []string{"a begins", "b asks", "a has its answer"}; !slices.Equal(order, want) {
			t.Errorf("rank %d: %q, want %q", c.Rank(), order, want)
		}
		return nil
	})
}

// TestPollersTakeTurns has kernels of one rank ask in vain: each time the others go on.
func TestPollersTakeTurns(t *testing.T) {
	alone(t, setup{Signals: 8}, func(s *Session) {
		var turns []int
		var workers []*Worker
		for i := range 3 {
			w := s.Worker()
			workers = append(workers, w)
			start(w, "turns", func(t *tl.PE, _ tl.Ptr) {
				for range 3 {
					turns = append(turns, i)
					t.Test(0, tl.EQ, 1)
				}
				t.Assert(t.Test(0, tl.EQ, 0), "signal 0 is not 0") // which is no reason to let others go on
				turns = append(turns, i)
			})
		}
		if err := finish(s, workers...); err != nil {
			t.Error(err)
		}
		if want := []int{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}; !slices.Equal(turns, want) {
			t.Errorf("turns %v, want %v", turns, want)
		}
	})
}

// TestPollingIsNoDeadlock has all kernels of both ranks wait but one, which asks for
// something for a long while.
func TestPollingIsNoDeadlock(t *testing.T) {
	bothBackends(t, func(t *testing.T, c *comm.Comm, s *Session) error {
		waits, asks := s.Worker(), s.Worker()
		start(waits, "waits", func(t *tl.PE, _ tl.Ptr) { t.WaitSignal(0, tl.EQ, 1) })
		if c.Rank() == 0 {
			start(asks, "asks", func(t *tl.PE, _ tl.Ptr) {
				for range 100_000 {
					t.Test(1, tl.EQ, 1)
				}
				t.Notify(0, 0, tl.Set, 1)
				t.Notify(1, 0, tl.Set, 1)
			})
		}
		return finish(s, waits, asks)
	})
}

// TestAbortReachesPollers has a rank give up while the other one asks.
func TestAbortReachesPollers(t *testing.T) {
	errs := inSession(t, inproc.Name, 2, setup{}, func(c *comm.Comm, s *Session) error {
		if c.Rank() == 1 {
			err := errors.New("no more")
			c.Abort(err)
			return err
		}
		w := s.Worker()
		start(w, "a", func(t *tl.PE, _ tl.Ptr) { until(t, 0) })
		return finish(s, w)
	})
	if !errors.Is(errs[0], comm.ErrPeer) || !strings.Contains(text(errs[0]), "no more") {
		t.Errorf("error %v, want that the other rank has no more", errs[0])
	}
}
