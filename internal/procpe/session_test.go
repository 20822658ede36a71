package procpe

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/commtest"
	"github.com/kernbench/kernbench/comm/inproc"
	_ "github.com/kernbench/kernbench/comm/shm" // registers the backend
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/tl"
)

// runSessions opens ranks as goroutines, begins a session at each rank and runs f in it.
// The session has a tensor x of 8 integers in a window. runSessions returns the errors by
// rank and checks that no coroutine remains.
func runSessions(t *testing.T, backend string, ranks int, o setup, f func(c *comm.Comm, s *Session) error) []error {
	t.Helper()
	before := countCoroutines()
	errs := commtest.World(comm.Options{Backend: backend, Timeout: commtest.Patience}, ranks, func(c *comm.Comm) error {
		r, err := o.newRank(c)
		if err != nil {
			return err
		}
		w, err := c.AllocWindow(64, 0)
		if err != nil {
			return err
		}
		s, err := r.Begin("work", Tensor{Name: "x", DType: tl.I64, Shape: tl.Shape{8}, Window: w})
		if err != nil {
			return err
		}
		defer s.End()
		if err := f(c, s); err != nil {
			return err
		}
		s.End()
		return c.Barrier()
	})
	if after := countCoroutines(); after != before {
		t.Errorf("%d coroutines before, %d after", before, after)
	}
	return errs
}

// countCoroutines returns the number of coroutines that exist. It does not count other
// goroutines, such as those of ranks, because they may end a little later.
func countCoroutines() int {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return bytes.Count(stacks, []byte("created by iter.Pull"))
}

// runOnBackends runs f in a session of each of two ranks, once for each backend. The test
// fails if f returns an error at a rank.
func runOnBackends(t *testing.T, f func(t *testing.T, c *comm.Comm, s *Session) error) {
	for _, backend := range []string{inproc.Name, "shm"} {
		t.Run(backend, func(t *testing.T) {
			o := setup{Signals: 8, Delay: randomDelay()}
			commtest.Succeed(t, runSessions(t, backend, 2, o, func(c *comm.Comm, s *Session) error { return f(t, c, s) }))
		})
	}
}

// start starts a kernel on worker w. The kernel gets a pointer to x, the first tensor of
// the session.
func start(w *Worker, name string, kernel func(t *tl.PE, x tl.Ptr)) {
	w.Start(name, func(m tl.Machine) { kernel(tl.NewPE(m, name), w.session.Pointer(0)) })
}

// runToEnd resumes the workers until all their kernels have ended. It returns the first
// error of a kernel or of a wait.
func runToEnd(s *Session, workers ...*Worker) error {
	for {
		var waiting []*Worker
		for _, w := range workers {
			w.Resume()
			if w.Running() {
				waiting = append(waiting, w)
			} else if err := w.Err(); err != nil {
				return err
			}
		}
		if len(waiting) == 0 {
			return nil
		}
		if err := s.Wait(waiting); err != nil {
			return err
		}
	}
}

// errorText returns the text of err. For a nil error it returns "".
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestWorkers checks that, at each rank, one kernel can wait for an answer of the other
// rank while a second kernel requests that answer. A third kernel answers the request of
// the other rank.
func TestWorkers(t *testing.T) {
	runOnBackends(t, func(t *testing.T, c *comm.Comm, s *Session) error {
		const asked, answered = 0, 1
		me, peer := c.Rank(), 1-c.Rank()
		var order []string
		a, b, answer := s.NewWorker(), s.NewWorker(), s.NewWorker()
		start(a, "a", func(t *tl.PE, x tl.Ptr) {
			order = append(order, "a begins")
			t.WaitSignal(answered, tl.EQ, 1)
			order = append(order, "a has its answer")
			t.Store(x.At(1), t.Load(x, tl.Shape{1}, tl.I64).Add(1))
		})
		start(b, "b", func(t *tl.PE, _ tl.Ptr) {
			order = append(order, "b asks")
			t.Notify(peer, asked, tl.Set, 1)
		})
		if got, want := []bool{a.Running(), b.Running()}, []bool{true, false}; !slices.Equal(got, want) {
			t.Errorf("a and b running: %v, want %v", got, want)
		}
		start(answer, "answer", func(t *tl.PE, x tl.Ptr) {
			t.WaitSignal(asked, tl.EQ, 1)
			t.Put(peer, x, t.Full(tl.Shape{1}, tl.I64, float64(100*me)))
			t.Notify(peer, answered, tl.Set, 1)
		})
		if err := runToEnd(s, a, b, answer); err != nil {
			return err
		}
		if want := []string{"a begins", "b asks", "a has its answer"}; !slices.Equal(order, want) {
			t.Errorf("rank %d: %q, want %q", me, order, want)
		}
		if got, want := numeric.Get(tl.I64, s.regions[0].bytes, 1), float64(100*peer+1); got != want {
			t.Errorf("rank %d has %v, want %v", me, got, want)
		}
		return nil
	})
}

// TestPingPongOfWorkers lets worker i of each rank exchange a number with worker i of the
// other rank many times, in several kernels. It checks the final numbers.
func TestPingPongOfWorkers(t *testing.T) {
	const kernels, rounds = 10, 20
	runOnBackends(t, func(t *testing.T, c *comm.Comm, s *Session) error {
		me, peer := c.Rank(), 1-c.Rank()
		workers := []*Worker{s.NewWorker(), s.NewWorker()}
		for k := range kernels {
			for i, w := range workers {
				start(w, fmt.Sprintf("player %d", i), func(t *tl.PE, x tl.Ptr) {
					x = x.At(i)
					for round := k*rounds + 1; round <= (k+1)*rounds; round++ {
						if (me+i)%2 == 0 { // this player begins the round
							t.Put(peer, x, t.Load(x, tl.Shape{1}, tl.I64).Add(1))
							t.Notify(peer, i, tl.Add, 1)
						}
						t.WaitSignal(i, tl.EQ, round)
						if (me+i)%2 == 1 {
							t.Put(peer, x, t.Load(x, tl.Shape{1}, tl.I64).Add(10))
							t.Notify(peer, i, tl.Add, 1)
						}
					}
				})
			}
			if err := runToEnd(s, workers...); err != nil {
				return err
			}
		}
		for i := range workers {
			want := float64(kernels * rounds * 11)
			if (me+i)%2 == 1 { // the last addition of this player is only at the peer
				want -= 10
			}
			if got := numeric.Get(tl.I64, s.regions[0].bytes, i); got != want {
				t.Errorf("rank %d, player %d: %v, want %v", me, i, got, want)
			}
		}
		return nil
	})
}

// TestSelectInWorkers checks which cases Select returns in a kernel of a worker when two
// signals arrive one after the other.
func TestSelectInWorkers(t *testing.T) {
	runOnBackends(t, func(t *testing.T, c *comm.Comm, s *Session) error {
		var got []int
		taker, giver := s.NewWorker(), s.NewWorker()
		start(taker, "taker", func(t *tl.PE, _ tl.Ptr) {
			first, second := tl.CanSignal(2, tl.GE, 1), tl.CanSignal(3, tl.GE, 1)
			got = append(got, t.Select(first, second))
			t.Notify(1-c.Rank(), 4, tl.Set, 1)
			t.WaitSignal(2, tl.GE, 1)
			got = append(got, t.Select(first, second), t.Select(second, first), t.Select(second))
		})
		start(giver, "giver", func(t *tl.PE, _ tl.Ptr) {
			t.Notify(1-c.Rank(), 3, tl.Set, 1)
			t.WaitSignal(4, tl.EQ, 1)
			t.Notify(1-c.Rank(), 2, tl.Set, 1)
		})
		if err := runToEnd(s, taker, giver); err != nil {
			return err
		}
		if want := []int{1, 0, 0, 0}; !slices.Equal(got, want) {
			t.Errorf("rank %d selects %v, want %v", c.Rank(), got, want)
		}
		return nil
	})
}

// TestDeadlock lets all workers of both ranks wait for signals that no kernel changes. It
// checks that Session.Wait and the waits of the kernels fail, and that the error says what
// each kernel waits for.
func TestDeadlock(t *testing.T) {
	var line string
	const said = "a deadlock, every rank waits: rank 0: wait, any of 3 signals; rank 1: wait, signal 1 GE 5"
	errs := runSessions(t, inproc.Name, 2, setup{Signals: 8}, func(c *comm.Comm, s *Session) error {
		a, b := s.NewWorker(), s.NewWorker()
		start(a, "a", func(t *tl.PE, _ tl.Ptr) {
			if c.Rank() == 0 {
				line = here(1)
				t.WaitSignal(0, tl.NE, 0)
			} else {
				t.WaitSignal(1, tl.GE, 5)
			}
		})
		if c.Rank() == 0 {
			start(b, "b", func(t *tl.PE, _ tl.Ptr) { t.Select(tl.CanSignal(2, tl.LT, 0), tl.CanSignal(3, tl.EQ, 7)) })
		}
		err := s.Wait([]*Worker{a, b})
		waits := "a waits for signal 1 GE 5"
		if c.Rank() == 0 {
			waits = "a waits for signal 0 NE 0, b waits for signal 2 LT 0 or signal 3 EQ 7"
		}
		prefix := fmt.Sprintf("work on rank %d, where %s: rank %d: wait, ", c.Rank(), waits, c.Rank())
		if got := errorText(err); !strings.HasPrefix(got, prefix) || !strings.HasSuffix(got, said) {
			t.Errorf("rank %d: error %s\nwant %s... %s", c.Rank(), got, prefix, said)
		}
		// The wait of the kernel fails, too.
		a.Resume()
		var failed *tl.Error
		if !errors.As(a.Err(), &failed) || failed.Kernel != "a" || failed.Op != "WaitSignal" || !errors.Is(err, failed.Err) {
			t.Errorf("rank %d: kernel a ends with %v, want it to fail in WaitSignal with %v", c.Rank(), a.Err(), errors.Unwrap(err))
		}
		if c.Rank() == 0 && failed.Line != line {
			t.Errorf("kernel a fails at %s, want %s", failed.Line, line)
		}
		return err
	})
	if !errors.Is(errs[0], comm.ErrDeadlock) && !errors.Is(errs[1], comm.ErrDeadlock) {
		t.Errorf("errors %v, want a deadlock found", errs)
	}
}

// TestAbortOfAPeer checks that a rank whose workers wait gets the error of the other rank,
// which aborts.
func TestAbortOfAPeer(t *testing.T) {
	errs := runSessions(t, inproc.Name, 2, setup{}, func(c *comm.Comm, s *Session) error {
		if c.Rank() == 1 {
			err := errors.New("no more")
			c.Abort(err)
			return err
		}
		a, b := s.NewWorker(), s.NewWorker()
		start(a, "a", func(t *tl.PE, _ tl.Ptr) { t.WaitSignal(0, tl.EQ, 1) })
		start(b, "b", func(t *tl.PE, _ tl.Ptr) { t.WaitSignal(1, tl.EQ, 1) })
		return runToEnd(s, a, b)
	})
	if !errors.Is(errs[0], comm.ErrPeer) || !strings.Contains(errorText(errs[0]), "no more") {
		t.Errorf("error %v, want that the other rank has no more", errs[0])
	}
}
