package comm_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/commtest"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/tl"
)

// TestMistakes makes invalid calls that concern no other rank, such as a Put outside the
// window. It checks that each returns an error and that the communicator remains usable.
func TestMistakes(t *testing.T) {
	type call func(c *comm.Comm, w, closed *comm.Window) error
	second := func(_ any, err error) error { return err }
	tests := []struct {
		call call
		kind error
		want string // without the rank
	}{
		{func(c *comm.Comm, w, _ *comm.Window) error { return w.Put(2, 0, nil) }, comm.ErrRange,
			"put: out of range: no rank 2: there are 0 to 1"},
		{func(c *comm.Comm, w, _ *comm.Window) error { return w.Get(-1, 0, nil) }, comm.ErrRange,
			"get: out of range: no rank -1: there are 0 to 1"},
		{func(c *comm.Comm, w, _ *comm.Window) error { return w.Put(1, 17, make([]byte, 4)) }, comm.ErrRange,
			"put, rank 1: out of range: bytes 17 to 21 of a window of 20"},
		{func(c *comm.Comm, w, _ *comm.Window) error { return w.Put(1, -1, make([]byte, 4)) }, comm.ErrRange,
			"put, rank 1: out of range: bytes -1 to 3 of a window of 20"},
		{func(c *comm.Comm, w, _ *comm.Window) error { return w.Get(0, 0, make([]byte, 21)) }, comm.ErrRange,
			"get, rank 0: out of range: bytes 0 to 21 of a window of 20"},
		{func(c *comm.Comm, w, _ *comm.Window) error { return w.Get(0, 21, nil) }, comm.ErrRange,
			"get, rank 0: out of range: bytes 21 to 21 of a window of 20"},
		{func(c *comm.Comm, w, _ *comm.Window) error {
			return w.Accumulate(0, 2, numeric.F32, make([]byte, 4))
		}, comm.ErrRange,
			"accumulate, rank 0: out of range: 4 bytes at offset 2 are no whole elements of f32"},
		{func(c *comm.Comm, w, _ *comm.Window) error {
			return w.Accumulate(0, 0, numeric.F32, make([]byte, 6))
		}, comm.ErrRange,
			"accumulate, rank 0: out of range: 6 bytes at offset 0 are no whole elements of f32"},
		{func(c *comm.Comm, w, _ *comm.Window) error { return w.Accumulate(0, 0, 0, make([]byte, 4)) }, comm.ErrRange,
			"accumulate, rank 0: out of range: 4 bytes at offset 0 are no whole elements of DType(0)"},
		{func(c *comm.Comm, w, _ *comm.Window) error {
			return w.Accumulate(0, 16, numeric.F64, make([]byte, 8))
		}, comm.ErrRange,
			"accumulate, rank 0: out of range: bytes 16 to 24 of a window of 20"},
		{func(c *comm.Comm, w, _ *comm.Window) error { return w.Notify(0, 2, tl.Set, 1) }, comm.ErrRange,
			"notify, signal 2, rank 0: out of range: the window has 2 signals, from 0"},
		{func(c *comm.Comm, w, _ *comm.Window) error { return w.Notify(0, -1, tl.Set, 1) }, comm.ErrRange,
			"notify, rank 0: out of range: the window has 2 signals, from 0"},
		{func(c *comm.Comm, w, _ *comm.Window) error { return w.Notify(3, 0, tl.Set, 1) }, comm.ErrRange,
			"notify, signal 0: out of range: no rank 3: there are 0 to 1"},
		{func(c *comm.Comm, w, _ *comm.Window) error { return w.Notify(0, 0, 9, 1) }, comm.ErrRange,
			"notify, signal 0, rank 0: out of range: no operation 9: use Set or Add"},
		{func(c *comm.Comm, w, _ *comm.Window) error { return w.WaitSignal(2, tl.EQ, 0) }, comm.ErrRange,
			"wait, signal 2: out of range: the window has 2 signals, from 0"},
		{func(c *comm.Comm, w, _ *comm.Window) error { return w.WaitSignal(0, 6, 0) }, comm.ErrRange,
			"wait, signal 0: out of range: no comparison 6"},
		{func(c *comm.Comm, w, _ *comm.Window) error { return second(w.TestSignal(2, tl.EQ, 0)) }, comm.ErrRange,
			"test, signal 2: out of range: the window has 2 signals, from 0"},
		{func(c *comm.Comm, _, w *comm.Window) error { return w.Put(0, 0, nil) }, comm.ErrClosed, "put: it has been closed"},
		{func(c *comm.Comm, _, w *comm.Window) error { return w.Notify(0, 0, tl.Set, 1) }, comm.ErrClosed,
			"notify, signal 0: it has been closed"},
		{func(c *comm.Comm, _, w *comm.Window) error { return w.WaitSignal(0, tl.EQ, 0) }, comm.ErrClosed,
			"wait, signal 0: it has been closed"},
		{func(c *comm.Comm, w, _ *comm.Window) error { return second(c.AllocWindow(-1, 0)) }, comm.ErrRange,
			"window, alloc: out of range: a window of -1 bytes and 0 signals"},
		{func(c *comm.Comm, w, _ *comm.Window) error { return second(c.AllocWindow(0, -1)) }, comm.ErrRange,
			"window, alloc: out of range: a window of 0 bytes and -1 signals"},
		{func(c *comm.Comm, w, _ *comm.Window) error { return second(c.Domain(0, 2)) }, comm.ErrRange,
			"domain: out of range: no rank 2: there are 0 to 1"},
		{func(c *comm.Comm, w, _ *comm.Window) error { return second(c.Domain(0, 1, 0)) }, comm.ErrRange,
			"domain: out of range: rank 0 is in the list twice"},
		{func(c *comm.Comm, w, _ *comm.Window) error { return second(c.Domain()) }, comm.ErrNotMember,
			"domain: not a member of the domain []: only members make it"},
	}
	runOnBackends(t, 2, func(c *comm.Comm) error {
		w, err := c.AllocWindow(20, 2)
		if err != nil {
			return err
		}
		closed, err := c.AllocWindow(20, 2)
		if err != nil {
			return err
		}
		if err := closed.Close(); err != nil {
			return err
		}
		for _, test := range tests {
			err := test.call(c, w, closed)
			if e := commtest.Says(err, fmt.Sprintf("rank %d: %s", c.Rank(), test.want)); e != nil {
				return e
			}
			if !errors.Is(err, test.kind) {
				return fmt.Errorf("got %v, want one that is %q", err, test.kind)
			}
			if err := runInOrder(c.Err, c.Barrier); err != nil {
				return fmt.Errorf("after %q: %w", test.want, err)
			}
		}
		return nil
	})
}

// TestNoSignals checks the error of Notify on a window that has no signals.
func TestNoSignals(t *testing.T) {
	runOnBackends(t, 1, func(c *comm.Comm) error {
		w, err := c.AllocWindow(8, 0)
		if err != nil {
			return err
		}
		return commtest.Says(w.Notify(0, 0, tl.Set, 1), "rank 0: notify, signal 0, rank 0: out of range: the window has 0 signals, from 0")
	})
}

// TestOpenMistakes checks the errors of Open for invalid arguments.
func TestOpenMistakes(t *testing.T) {
	const spelling = ": write letters, digits, dots and hyphens, such as my-run; or a path that begins with /"
	tests := []struct {
		rank, nranks        int
		rendezvous, backend string
		want                string
	}{
		{-1, 2, "x", "inproc", "rank -1: open: out of range: no rank -1 of 2: ranks are 0 to nranks-1"},
		{2, 2, "x", "shm", "rank 2: open: out of range: no rank 2 of 2: ranks are 0 to nranks-1"},
		{0, 0, "x", "", "rank 0: open: out of range: no rank 0 of 0: ranks are 0 to nranks-1"},
		{0, 1, "x", "mpi", `rank 0: open: no backend "mpi": this program has inproc, shm; import the package of another`},
		{0, 1, "", "", `rank 0: open: no name of a run ""` + spelling},
		{0, 1, "a/b", "shm", `rank 0: open: no name of a run "a/b"` + spelling},
		{0, 1, ".hidden", "shm", `rank 0: open: no name of a run ".hidden"` + spelling},
		{0, 1, "fd:x", "shm", `rank 0: open: no descriptor "x": write fd:3`},
		{0, 1, "fd:987654", "shm", "rank 0: open: descriptor 987654 is not shared memory of a run: open /proc/self/fd/987654: no such file or directory"},
	}
	for _, test := range tests {
		_, err := comm.Open(context.Background(), test.rank, test.nranks, test.rendezvous, comm.Options{Backend: test.backend})
		if e := commtest.Says(err, test.want); e != nil {
			t.Error(e)
		}
	}
}
