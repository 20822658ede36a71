package procpe

import (
	"errors"
	"slices"
	"testing"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/commtest"
	"github.com/kernbench/kernbench/comm/inproc"
	"github.com/kernbench/kernbench/tl"
)

// runOneSession runs f in a session of one rank. The test fails if the session fails.
func runOneSession(t *testing.T, o setup, f func(s *Session)) {
	t.Helper()
	commtest.Succeed(t, runSessions(t, inproc.Name, 1, o, func(_ *comm.Comm, s *Session) error { f(s); return nil }))
}

// TestErrorsInWorkers checks the errors of kernels that fail on one worker while another
// worker waits. Both workers must remain usable.
func TestErrorsInWorkers(t *testing.T) {
	for _, c := range []struct {
		kernel func(t *tl.PE, x tl.Ptr)
		want   string
	}{
		{func(t *tl.PE, x tl.Ptr) { t.Load(x.At(8), tl.Shape{1}, tl.I64) },
			"Load([1] i64) at " + here(-1) + ": bytes 64 to 72 are not all in x [8] i64, which has 64: move the pointer, or mask what lies beyond"},
		{func(t *tl.PE, x tl.Ptr) { x.At(1, 2) },
			"At(pointer to i64) at " + here(-1) + ": 2 indices are too many: what it points into has 1 axes"},
		{func(t *tl.PE, x tl.Ptr) { panic("no way") }, "panic at " + here(0) + ": no way"},
		{func(t *tl.PE, x tl.Ptr) { t.WaitSignal(8, tl.EQ, 0) },
			"WaitSignal(signal 8) at " + here(-1) + ": no signal 8: this kernel has 0 to 7; a scenario says how many with signals: 9"},
		{func(t *tl.PE, x tl.Ptr) { t.Select(tl.CanSignal(0, tl.EQ, 0), tl.CanRecv(tl.West)) },
			"Select(CanSignal(0, EQ, 0), CanRecv(west)) at " + here(-1) + ": " + errQueues.Error()},
		{func(t *tl.PE, x tl.Ptr) { t.Put(0, t.Scratch(tl.Shape{1}, tl.I64), t.Zeros(tl.Shape{1}, tl.I64)) },
			"Put(rank 0, [1] i64) at " + here(-1) + ": the pointer is into no window: only tensor arguments of the launch are windows"},
	} {
		runOneSession(t, setup{Signals: 8}, func(s *Session) {
			patient, wrong := s.NewWorker(), s.NewWorker()
			start(patient, "patient", func(t *tl.PE, _ tl.Ptr) { t.WaitSignal(0, tl.EQ, 1) })
			start(wrong, "wrong", c.kernel)
			var misuse *tl.Error
			if err, want := wrong.Err(), "kernel wrong on rank 0: "+c.want; !errors.As(err, &misuse) || err.Error() != want {
				t.Errorf("error %v\nwant  %s", err, want)
			}
			start(wrong, "right", func(t *tl.PE, _ tl.Ptr) { t.Notify(0, 0, tl.Set, 1) })
			if err := runToEnd(s, patient, wrong); err != nil {
				t.Errorf("after %s: %v", c.want, err)
			}
		})
	}
}

// TestEnd checks that End of a session unwinds kernels that wait or poll. Their deferred
// functions must run, and waits in deferred functions must fail at once.
func TestEnd(t *testing.T) {
	runOneSession(t, setup{Signals: 8}, func(s *Session) {
		var log []string
		s.NewWorker() // runs no kernel
		done, stuck, twice, asks := s.NewWorker(), s.NewWorker(), s.NewWorker(), s.NewWorker()
		start(done, "done", func(t *tl.PE, _ tl.Ptr) {})
		var line, again, last string
		start(stuck, "stuck", func(t *tl.PE, _ tl.Ptr) {
			t.Zeros(tl.Shape{4}, tl.F32).Pin()
			defer func() { log = append(log, "stuck unwinds") }()
			line = here(1)
			t.WaitSignal(0, tl.EQ, 1)
			log = append(log, "stuck goes on")
		})
		start(twice, "twice", func(t *tl.PE, _ tl.Ptr) {
			defer func() {
				log = append(log, "twice unwinds")
				again = here(1)
				t.Select(tl.CanSignal(1, tl.EQ, 0)) // the case is true
				log = append(log, "twice goes on")
			}()
			t.WaitSignal(0, tl.EQ, 1)
		})
		start(asks, "asks", func(t *tl.PE, _ tl.Ptr) {
			defer func() {
				log = append(log, "asks unwinds")
				last = here(1)
				t.Test(0, tl.EQ, 1)
				log = append(log, "asks goes on")
			}()
			pollUntil(t, 0)
		})
		s.End()
		s.End()
		if want := []string{"stuck unwinds", "twice unwinds", "asks unwinds"}; !slices.Equal(log, want) {
			t.Errorf("%q, want %q", log, want)
		}
		for _, c := range []struct {
			w    *Worker
			want string
		}{
			{done, ""},
			{stuck, "kernel stuck on rank 0: WaitSignal(signal 0) at " + line + ": the session ended while the kernel waited"},
			{twice, "kernel twice on rank 0: Select(CanSignal(1, EQ, 0)) at " + again + ": the session ended while the kernel waited"},
			{asks, "kernel asks on rank 0: Test(signal 0) at " + last + ": the session ended while the kernel waited"},
		} {
			if got := errorText(c.w.Err()); c.w.Running() || got != c.want {
				t.Errorf("running %v, error %q, want %q", c.w.Running(), got, c.want)
			}
			if c.w.core.tiles.used != 0 {
				t.Errorf("%d bytes of tiles are left, want 0", c.w.core.tiles.used)
			}
			c.w.Resume() // does nothing
		}
		if got, want := errorText(s.Wait([]*Worker{done, stuck})), "no worker waits for anything: Start a kernel instead"; got != want {
			t.Errorf("Wait: error %q, want %q", got, want)
		}
		if err := s.rank.Launch("after", func(t *tl.PE) { t.WaitSignal(0, tl.EQ, 0) }); err != nil {
			t.Errorf("Launch after it: %v", err)
		}
	})
}

// TestMisuseOfSessions checks the errors and panics of calls that are not allowed in the
// state of the session, such as Start on a worker that runs a kernel. It also checks the
// errors of Begin for invalid tensors.
func TestMisuseOfSessions(t *testing.T) {
	panics := func(f func()) (said any) {
		defer func() { said = recover() }()
		f()
		return nil
	}
	runOneSession(t, setup{Signals: 8}, func(s *Session) {
		w := s.NewWorker()
		start(w, "a", func(t *tl.PE, _ tl.Ptr) { t.WaitSignal(0, tl.EQ, 1) })
		empty := func(tl.Machine) {}
		open := s.rank.Launch("b", func(*tl.PE) {})
		busy := panics(func() { w.Start("b", empty) })
		s.End()
		_, tooMany := s.rank.Begin("many", make([]Tensor, 1<<15)...)
		_, untyped := s.rank.Begin("untyped", Tensor{Name: "y"})
		for _, c := range []struct{ what, got, want any }{
			{"Launch in a session", errorText(open), "launch of b on rank 0: work is still going on, and its signals are in use: End it first"},
			{"Start on a worker that runs", busy, "b cannot start: the worker runs a, which has not ended"},
			{"Start after End", panics(func() { w.Start("b", empty) }), "work on rank 0 has ended: Begin another session"},
			{"NewWorker after End", panics(func() { s.NewWorker() }), "work on rank 0 has ended: Begin another session"},
			{"Begin with too many tensors", errorText(tooMany), "launch of many on rank 0: 32768 tensors: 32767 are the most"},
			{"Begin with a tensor of no dtype", errorText(untyped), "launch of untyped on rank 0: tensor y has no dtype: use tl.F16 to tl.U64"},
		} {
			if c.got != c.want {
				t.Errorf("%s: %q, want %q", c.what, c.got, c.want)
			}
		}
	})
}

// TestPointer checks that Session.Pointer returns the same pointers that a kernel gets from
// Launch with the same tensors.
func TestPointer(t *testing.T) {
	errs := forEachRank(t, 1, setup{}, func(c *comm.Comm, r *Rank) error {
		w, err := c.AllocWindow(64, 0)
		if err != nil {
			return err
		}
		x := Tensor{Name: "x", DType: tl.F32, Shape: tl.Shape{2, 3}, Memory: make([]byte, 24)}
		y := Tensor{Name: "y", DType: tl.F16, Shape: tl.Shape{5}, Window: w, Offset: 8}
		var want [2]tl.Ptr
		if err := r.Launch("k", func(_ *tl.PE, x, y tl.Ptr) { want = [2]tl.Ptr{x, y} }, x, y); err != nil {
			return err
		}
		s, err := r.Begin("k", x, y)
		if err != nil {
			return err
		}
		defer s.End()
		if got := [2]tl.Ptr{s.Pointer(0), s.Pointer(1)}; got != want {
			t.Errorf("pointers %v, want %v", got, want)
		}
		return nil
	})
	commtest.Succeed(t, errs)
}

// TestNotAMemberInSession runs a kernel in a session. The kernel puts data to a rank that
// has no part of the window. The test checks the error of the kernel.
func TestNotAMemberInSession(t *testing.T) {
	const want = "rank 1 of the world has no part of x [2] u8, whose window is shared by [0]: use a window that the peer is a member of"
	commtest.Succeed(t, forEachRank(t, 2, setup{}, func(c *comm.Comm, r *Rank) error {
		x := Tensor{Name: "x", DType: tl.U8, Shape: tl.Shape{0}}
		if c.Rank() == 0 {
			d, err := c.Domain(0)
			if err != nil {
				return err
			}
			x.Shape = tl.Shape{2}
			if x.Window, err = d.AllocWindow(2, 0); err != nil {
				return err
			}
		}
		s, err := r.Begin("stray", x)
		if err != nil {
			return err
		}
		defer s.End()
		if c.Rank() == 1 {
			return nil
		}
		w := s.NewWorker()
		start(w, "stray", func(t *tl.PE, x tl.Ptr) { t.Put(1, x, t.Zeros(tl.Shape{1}, tl.U8)) })
		if got := errorText(errors.Unwrap(w.Err())); got != want {
			t.Errorf("error %q, want %q", got, want)
		}
		return nil
	}))
}

// TestManyKernels runs 100,000 kernels on one worker. It checks that they leave no tiles
// and scratch buffers behind, and that a scratch buffer is zero at first.
func TestManyKernels(t *testing.T) {
	const kernels = 100_000
	runOneSession(t, setup{}, func(s *Session) {
		w := s.NewWorker()
		var last tl.Ptr
		for i := range kernels {
			start(w, "add", func(t *tl.PE, x tl.Ptr) {
				p := t.Scratch(tl.Shape{2}, tl.I64)
				t.Scratch(tl.Shape{1}, tl.I64)
				t.Store(x, t.Load(x, tl.Shape{1}, tl.I64).Add(t.Load(p, tl.Shape{1}, tl.I64)).Add(1))
				t.Store(p, t.Full(tl.Shape{2}, tl.I64, 1000)) // the next kernel gets a zeroed buffer
				last = p
			})
			if w.Err() != nil {
				t.Fatalf("kernel %d: %v", i, w.Err())
			}
		}
		if regions, capacity := len(w.core.regions), cap(w.core.regions); regions != 1 || capacity > 4 {
			t.Errorf("%d regions with capacity %d, want 1 and at most 4", regions, capacity)
		}
		if used, slots := w.core.tiles.used, len(w.core.tiles.slots); used != 0 || slots > 8 {
			t.Errorf("%d bytes of tiles and %d slots, want 0 and 8 at most", used, slots)
		}
		var got float64
		start(w, "read", func(t *tl.PE, x tl.Ptr) { got = t.Load(x, tl.Shape{1}, tl.I64).Item() })
		if got != kernels {
			t.Errorf("x is %v after %d kernels", got, kernels)
		}
		start(w, "late", func(t *tl.PE, _ tl.Ptr) { t.Load(last, tl.Shape{1}, tl.I64) })
		if want := "the pointer is into no memory of this launch: pointers come from its arguments and from Scratch"; errorText(errors.Unwrap(w.Err())) != want {
			t.Errorf("scratch of an earlier kernel: error %v, want %s", w.Err(), want)
		}
	})
}

// TestTilesOfWorkers checks that a worker whose tiles do not fit evicts only its own tiles,
// not those of another worker.
func TestTilesOfWorkers(t *testing.T) {
	runOneSession(t, setup{TileBytes: 4096}, func(s *Session) {
		keeper, filler := s.NewWorker(), s.NewWorker()
		got := 0.0
		start(keeper, "keeper", func(t *tl.PE, _ tl.Ptr) {
			tile := t.Full(tl.Shape{400}, tl.I64, 7)
			t.WaitSignal(0, tl.EQ, 1)
			got = tile.Sum(0).Item()
		})
		start(filler, "filler", func(t *tl.PE, _ tl.Ptr) {
			for range 10 {
				t.Zeros(tl.Shape{400}, tl.I64)
			}
			t.Notify(0, 0, tl.Set, 1)
		})
		if err := runToEnd(s, keeper, filler); err != nil || got != 2800 {
			t.Errorf("sum %v, %v, want 2800", got, err)
		}
	})
}

// TestKernelsAllocateNothing checks that starting, resuming and polling kernels allocates
// no Go memory.
func TestKernelsAllocateNothing(t *testing.T) {
	runOneSession(t, setup{}, func(s *Session) {
		w := s.NewWorker()
		empty := func(tl.Machine) {}
		if n := testing.AllocsPerRun(100, func() { w.Start("empty", empty) }); n != 0 {
			t.Errorf("an empty kernel: %v allocations, want 0", n)
		}
		var failed error
		waits := func(m tl.Machine) { failed = errors.Join(m.WaitSignal(0, tl.EQ, 1), m.Notify(0, 0, tl.Set, 0)) }
		n := testing.AllocsPerRun(100, func() {
			w.Start("waits", waits)
			if err := s.rank.signals.Notify(0, 0, tl.Set, 1); err != nil {
				t.Error(err)
			}
			w.Resume()
		})
		if n != 0 || w.Running() || failed != nil {
			t.Errorf("a kernel that waits: %v allocations, running %v, %v, want 0, false and no error", n, w.Running(), failed)
		}
		workers := []*Worker{w}
		asks := func(m tl.Machine) {
			holds := false
			for !holds && failed == nil {
				holds, failed = m.TestSignal(0, tl.EQ, 1)
			}
			failed = errors.Join(failed, m.Notify(0, 0, tl.Set, 0))
		}
		n = testing.AllocsPerRun(100, func() {
			w.Start("asks", asks)
			for range 3 {
				w.Resume()
				if err := s.Wait(workers); err != nil {
					t.Error(err)
				}
			}
			if err := s.rank.signals.Notify(0, 0, tl.Set, 1); err != nil {
				t.Error(err)
			}
			w.Resume()
		})
		if n != 0 || w.Running() || failed != nil {
			t.Errorf("a kernel that asks: %v allocations, running %v, %v, want 0, false and no error", n, w.Running(), failed)
		}
	})
}
