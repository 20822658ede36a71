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

// pollUntil tests a signal in a loop until it is 1.
func pollUntil(t *tl.PE, signal int) {
	for !t.Test(signal, tl.EQ, 1) {
	}
}

// TestPolling checks that a kernel which polls lets other workers of its rank run. At each
// rank, kernel a polls for an answer of the peer, kernel b requests that answer, and a
// third kernel polls for the request of the peer and answers it.
func TestPolling(t *testing.T) {
	runOnBackends(t, func(t *testing.T, c *comm.Comm, s *Session) error {
		const asked, answered = 0, 1
		peer := 1 - c.Rank()
		var order []string
		a, b, answer := s.NewWorker(), s.NewWorker(), s.NewWorker()
		start(a, "a", func(t *tl.PE, _ tl.Ptr) {
			order = append(order, "a begins")
			pollUntil(t, answered)
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
			pollUntil(t, asked)
			t.Notify(peer, answered, tl.Set, 1)
		})
		if err := runToEnd(s, a, b, answer); err != nil {
			return err
		}
		if want := []string{"a begins", "b asks", "a has its answer"}; !slices.Equal(order, want) {
			t.Errorf("rank %d: %q, want %q", c.Rank(), order, want)
		}
		return nil
	})
}

// TestPollersTakeTurns checks that three kernels which poll take turns: after each test
// that returns false, the other workers run.
func TestPollersTakeTurns(t *testing.T) {
	runOneSession(t, setup{Signals: 8}, func(s *Session) {
		var turns []int
		var workers []*Worker
		for i := range 3 {
			w := s.NewWorker()
			workers = append(workers, w)
			start(w, "turns", func(t *tl.PE, _ tl.Ptr) {
				for range 3 {
					turns = append(turns, i)
					t.Test(0, tl.EQ, 1)
				}
				t.Assert(t.Test(0, tl.EQ, 0), "signal 0 is not 0") // true: the worker continues
				turns = append(turns, i)
			})
		}
		if err := runToEnd(s, workers...); err != nil {
			t.Error(err)
		}
		if want := []int{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}; !slices.Equal(turns, want) {
			t.Errorf("turns %v, want %v", turns, want)
		}
	})
}

// TestPollingIsNoDeadlock checks that no deadlock is reported while one kernel polls for a
// long time and all other kernels of both ranks wait.
func TestPollingIsNoDeadlock(t *testing.T) {
	runOnBackends(t, func(t *testing.T, c *comm.Comm, s *Session) error {
		waits, asks := s.NewWorker(), s.NewWorker()
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
		return runToEnd(s, waits, asks)
	})
}

// TestAbortReachesPollers checks that a rank whose kernel polls gets the error of the other
// rank, which aborts.
func TestAbortReachesPollers(t *testing.T) {
	errs := runSessions(t, inproc.Name, 2, setup{}, func(c *comm.Comm, s *Session) error {
		if c.Rank() == 1 {
			err := errors.New("no more")
			c.Abort(err)
			return err
		}
		w := s.NewWorker()
		start(w, "a", func(t *tl.PE, _ tl.Ptr) { pollUntil(t, 0) })
		return runToEnd(s, w)
	})
	if !errors.Is(errs[0], comm.ErrPeer) || !strings.Contains(errorText(errs[0]), "no more") {
		t.Errorf("error %v, want that the other rank has no more", errs[0])
	}
}
