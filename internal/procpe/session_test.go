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
	"github.com/kernbench/kernbench/comm/shm"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/tl"
)

// inSession runs f in a session of each rank, with x, of 8 numbers in a window, on ranks
// that are goroutines, and wants no coroutine to be left.
func inSession(t *testing.T, backend string, ranks int, o setup, f func(c *comm.Comm, s *Session) error) []error {
	t.Helper()
	before := coroutines()
	errs := commtest.World(comm.Options{Backend: backend, Timeout: commtest.Patience}, ranks, func(c *comm.Comm) error {
		r, err := o.rank(c)
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
	if after := coroutines(); after != before {
		t.Errorf("%d coroutines before, %d after", before, after)
	}
	return errs
}

// coroutines is how many there are. Other goroutines, such as the ranks', may take a
// moment to end; a coroutine has ended when it says so.
func coroutines() int {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return bytes.Count(stacks, []byte("created by iter.Pull"))
}

// bothBackends runs f in sessions of two ranks on either backend. None may fail.
func bothBackends(t *testing.T, f func(t *testing.T, c *comm.Comm, s *Session) error) {
	for _, backend := range []string{inproc.Name, shm.Name} {
		t.Run(backend, func(t *testing.T) {
			o := setup{Signals: 8, Delay: shake()}
			commtest.Succeed(t, inSession(t, backend, 2, o, func(c *comm.Comm, s *Session) error { return f(t, c, s) }))
		})
	}
}

// start starts a kernel that uses x.
func start(w *Worker, name string, kernel func(t *tl.PE, x tl.Ptr)) {
	w.Start(name, func(m tl.Machine) { kernel(tl.NewPE(m, name), w.session.Pointer(0)) })
}

// finish has workers go on until all have ended.
func finish(s *Session, workers ...*Worker) error {
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

// text is that of an error, "" of none.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestWorkers has a kernel of rank 0 wait for what another one there has rank 1 do, and
// the same the other way round.
func TestWorkers(t *testing.T) {
	bothBackends(t, func(t *testing.T, c *comm.Comm, s *Session) error {
		const asked, answered = 0, 1
		me, peer := c.Rank(), 1-c.Rank()
		var order []string
		a, b, answer := s.Worker(), s.Worker(), s.Worker()
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
		if err := finish(s, a, b, answer); err != nil {
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

// TestPingPongOfWorkers has two workers of each rank play with those of the other, kernel
// after kernel.
func TestPingPongOfWorkers(t *testing.T) {
	const kernels, rounds = 10, 20
	bothBackends(t, func(t *testing.T, c *comm.Comm, s *Session) error {
		me, peer := c.Rank(), 1-c.Rank()
		workers := []*Worker{s.Worker(), s.Worker()}
		for k := range kernels {
			for i, w := range workers {
				start(w, fmt.Sprintf("player %d", i), func(t *tl.PE, x tl.Ptr) {
					x = x.At(i)
					for round := k*rounds + 1; round <= (k+1)*rounds; round++ {
						if (me+i)%2 == 0 { // this one serves
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
			if err := finish(s, workers...); err != nil {
				return err
			}
		}
		for i := range workers {
			want := float64(kernels * rounds * 11)
			if (me+i)%2 == 1 { // has not got its last one back
				want -= 10
			}
			if got := numeric.Get(tl.I64, s.regions[0].bytes, i); got != want {
				t.Errorf("rank %d, player %d: %v, want %v", me, i, got, want)
			}
		}
		return nil
	})
}

// TestSelectInWorkers has a kernel take two signals as they come.
func TestSelectInWorkers(t *testing.T) {
	bothBackends(t, func(t *testing.T, c *comm.Comm, s *Session) error {
		var got []int
		taker, giver := s.Worker(), s.Worker()
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
		if err := finish(s, taker, giver); err != nil {
			return err
		}
		if want := []int{1, 0, 0, 0}; !slices.Equal(got, want) {
			t.Errorf("rank %d selects %v, want %v", c.Rank(), got, want)
		}
		return nil
	})
}

// TestStandstill has all workers of both ranks wait for what nobody does.
func TestStandstill(t *testing.T) {
	var line string
	const said = "a deadlock, every rank waits: rank 0: wait, any of 3 signals; rank 1: wait, signal 1 GE 5"
	errs := inSession(t, inproc.Name, 2, setup{Signals: 8}, func(c *comm.Comm, s *Session) error {
		a, b := s.Worker(), s.Worker()
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
		if got := text(err); !strings.HasPrefix(got, prefix) || !strings.HasSuffix(got, said) {
			t.Errorf("rank %d: error %s\nwant %s... %s", c.Rank(), got, prefix, said)
		}
		// The kernels hear of it where they wait.
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

// TestAbortOfAPeer has a rank give up while workers of the other wait.
func TestAbortOfAPeer(t *testing.T) {
	errs := inSession(t, inproc.Name, 2, setup{}, func(c *comm.Comm, s *Session) error {
		if c.Rank() == 1 {
			err := errors.New("no more")
			c.Abort(err)
			return err
		}
		a, b := s.Worker(), s.Worker()
		start(a, "a", func(t *tl.PE, _ tl.Ptr) { t.WaitSignal(0, tl.EQ, 1) })
		start(b, "b", func(t *tl.PE, _ tl.Ptr) { t.WaitSignal(1, tl.EQ, 1) })
		return finish(s, a, b)
	})
	if !errors.Is(errs[0], comm.ErrPeer) || !strings.Contains(text(errs[0]), "no more") {
		t.Errorf("error %v, want that the other rank has no more", errs[0])
	}
}
