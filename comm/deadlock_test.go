package comm_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/commtest"
	"github.com/kernbench/kernbench/tl"
)

// TestDeadlock checks that, if no rank can ever continue, every waiting rank gets an error
// although there is no timeout. The error must list what each rank waits for.
func TestDeadlock(t *testing.T) {
	for _, tt := range []struct {
		name   string
		nranks int
		body   func(c *comm.Comm, w *comm.Window) error
		want   string
	}{
		{"signals", 3, func(c *comm.Comm, w *comm.Window) error { return w.WaitSignal(c.Rank(), tl.GE, 1) },
			"a deadlock, every rank waits: rank 0: wait, signal 0 GE 1; rank 1: wait, signal 1 GE 1; rank 2: wait, signal 2 GE 1"},
		{"barrier and signal", 2, func(c *comm.Comm, w *comm.Window) error {
			if c.Rank() == 1 {
				return w.WaitSignal(1, tl.NE, 0)
			}
			return c.Barrier()
		}, "a deadlock, every rank waits: rank 0: barrier, rank 1; rank 1: wait, signal 1 NE 0"},
		{"orders of a domain", 2, func(c *comm.Comm, w *comm.Window) error {
			d, err := c.Domain(c.Rank(), 1-c.Rank())
			if err != nil {
				return err
			}
			return d.Barrier()
		}, "a deadlock, every rank waits: rank 0: barrier, rank 1; rank 1: barrier, rank 0"},
		{"any of two", 2, func(c *comm.Comm, w *comm.Window) error {
			_, err := w.WaitAny([]comm.Condition{{Signal: 0, Cmp: tl.GT, Value: 4}, {Signal: 1, Cmp: tl.LT, Value: 0}})
			return err
		}, "a deadlock, every rank waits: rank 0: wait, any of 2 signals; rank 1: wait, any of 2 signals"},
		{"one has closed", 3, func(c *comm.Comm, w *comm.Window) error {
			if c.Rank() == 1 {
				return nil
			}
			return w.WaitSignal(0, tl.GE, 1)
		}, "a deadlock, every rank waits: rank 0: wait, signal 0 GE 1; rank 1: has closed; rank 2: wait, signal 0 GE 1"},
	} {
		for _, b := range backends {
			t.Run(b+"/"+tt.name, func(t *testing.T) {
				errs := commtest.World(comm.Options{Backend: b}, tt.nranks, func(c *comm.Comm) error {
					w, err := c.AllocWindow(0, 3)
					if err != nil {
						return err
					}
					return tt.body(c, w)
				})
				detected := 0
				for rank, err := range errs {
					if strings.Contains(tt.want, "rank 1: has closed") && rank == 1 {
						continue
					}
					if errors.Is(err, comm.ErrDeadlock) {
						detected++
					}
					if err == nil || !strings.Contains(err.Error(), tt.want) {
						t.Errorf("rank %d: got %v, want %q in it", rank, err, tt.want)
					}
				}
				if detected == 0 {
					t.Error("no rank has ErrDeadlock")
				}
			})
		}
	}
}

// TestNoDeadlock checks that no deadlock is reported while one rank is busy and all other
// ranks sleep.
func TestNoDeadlock(t *testing.T) {
	runOnBackends(t, 4, func(c *comm.Comm) error {
		w, err := c.AllocWindow(0, 1)
		if err != nil {
			return err
		}
		for round := range int64(3) {
			if c.Rank() == 3 {
				time.Sleep(200 * time.Millisecond) // long enough for the others to fall asleep and poll several times
				for peer := range 3 {
					if err := w.Notify(peer, 0, tl.Set, round+1); err != nil {
						return err
					}
				}
			} else if err := w.WaitSignal(0, tl.GE, round+1); err != nil {
				return err
			}
		}
		return c.Barrier()
	})
}
