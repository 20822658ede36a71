package comm_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/commtest"
	"github.com/kernbench/kernbench/tl"
)

// TestAbort has one rank abort while one waits in a barrier, one for a signal, and one
// does neither: all get its reason, and every later operation fails with the same
// error at once.
func TestAbort(t *testing.T) {
	const why = "rank 1: abort: boom"
	want := []string{
		told("rank 0: barrier, rank 1", why), why,
		told("rank 2: wait, signal 0, rank 1", why), told("rank 3: put, rank 1", why),
	}
	for _, b := range backends {
		t.Run(b, func(t *testing.T) {
			var ready sync.WaitGroup
			ready.Add(4)
			commtest.Succeed(t, commtest.World(comm.Options{Backend: b}, 4, func(c *comm.Comm) error {
				w, err := c.AllocWindow(8, 1)
				ready.Done()
				if err != nil {
					return err
				}
				switch c.Rank() {
				case 0:
					err = c.Barrier()
				case 1:
					ready.Wait()
					err = c.Abort(errors.New("boom"))
				case 2:
					err = w.WaitSignal(0, tl.EQ, 1)
				case 3:
					for err == nil {
						err = w.Put(0, 0, nil)
					}
				}
				if e := commtest.Says(err, want[c.Rank()]); e != nil {
					return e
				}
				if c.Rank() != 1 && !errors.Is(err, comm.ErrPeer) {
					return fmt.Errorf("got %v, want ErrPeer", err)
				}
				for op, call := range operations(c, w) {
					if got := call(); got != err {
						return fmt.Errorf("%s afterwards: got %v, want the same as before, %v", op, got, err)
					}
				}
				if got := c.Err(); got != err {
					return fmt.Errorf("Err: got %v, want %v", got, err)
				}
				return nil
			}))
		})
	}
}

// TestAbortInDomain fails in a domain, which concerns all.
func TestAbortInDomain(t *testing.T) {
	const why = "rank 2: abort: boom"
	for _, b := range backends {
		t.Run(b, func(t *testing.T) {
			errs := commtest.World(comm.Options{Backend: b}, 3, func(c *comm.Comm) error {
				if c.Rank() == 1 {
					return c.Barrier()
				}
				d, err := c.Domain(0, 2)
				if err != nil {
					return err
				}
				if d.Rank() == 1 {
					return d.Abort(errors.New("boom"))
				}
				return d.Barrier()
			})
			for rank, want := range []string{told("rank 0: barrier, rank 2", why), told("rank 1: barrier, rank 2", why), why} {
				if e := commtest.Says(errs[rank], want); e != nil {
					t.Errorf("rank %d: %v", rank, e)
				}
			}
		})
	}
}

// TestClosedEarly has a rank leave while another waits for it.
func TestClosedEarly(t *testing.T) {
	tests := []struct {
		name string
		wait func(c *comm.Comm, w *comm.Window) error
		want string
	}{
		{"barrier", func(c *comm.Comm, w *comm.Window) error { return c.Barrier() },
			"rank 0: barrier, rank 1: it has been closed by that rank"},
		{"signal", func(c *comm.Comm, w *comm.Window) error { return w.WaitSignal(0, tl.GT, 0) },
			"rank 0: wait, signal 0: it has been closed by all other ranks, or they have ended: there is nobody to wait for"},
		{"phase of a collective", func(c *comm.Comm, w *comm.Window) error { return w.Await("allreduce", "gather", 1, 0, 1) },
			"rank 0: allreduce, gather, signal 0, rank 1: it has been closed by that rank"},
		{"window", func(c *comm.Comm, w *comm.Window) error { _, err := c.AllocWindow(8, 0); return err },
			"rank 0: window, all have it, rank 1: it has been closed by that rank"},
	}
	for _, test := range tests {
		for _, b := range backends {
			t.Run(test.name+"/"+b, func(t *testing.T) {
				for _, inDomain := range []bool{false, true} {
					errs := commtest.World(comm.Options{Backend: b, Timeout: commtest.Patience}, 2, func(c *comm.Comm) error {
						d := c
						if inDomain {
							var err error
							if d, err = c.Domain(0, 1); err != nil {
								return err
							}
						}
						w, err := d.AllocWindow(8, 1)
						if err != nil {
							return err
						}
						if c.Rank() == 0 {
							return test.wait(d, w)
						}
						if err := d.Close(); err != nil || !inDomain {
							return err
						}
						return c.Barrier()
					})
					want := []string{test.want, "no error"}
					if inDomain {
						want[1] = told("rank 1: barrier, rank 0", test.want)
					}
					for rank, err := range errs {
						if e := commtest.Says(err, want[rank]); e != nil {
							t.Errorf("in a domain: %v, rank %d: %v", inDomain, rank, e)
						}
					}
				}
			})
		}
	}
}

// TestClosedAfterItsPart has a rank do what others wait for and leave: they succeed,
// however late they look, and go on without it.
func TestClosedAfterItsPart(t *testing.T) {
	for _, b := range backends {
		t.Run(b, func(t *testing.T) {
			for range 50 {
				commtest.Succeed(t, commtest.World(comm.Options{Backend: b, Timeout: commtest.Patience}, 3, func(c *comm.Comm) error {
					w, err := c.AllocWindow(8, 2)
					if err != nil {
						return err
					}
					if c.Rank() == 2 {
						return inOrder(
							func() error { return w.Notify(0, 0, tl.Set, 1) },
							func() error { return w.Notify(1, 0, tl.Set, 1) },
						)
					}
					for g := range int64(20) {
						if err := inOrder(
							func() error { return w.WaitSignal(0, tl.EQ, 1) },
							func() error { return w.Notify(1-c.Rank(), 1, tl.Add, 1) },
							func() error { return w.WaitSignal(1, tl.GT, g) },
						); err != nil {
							return err
						}
					}
					return c.Err()
				}))
			}
		})
	}
}

// TestClosed uses a communicator after Close.
func TestClosed(t *testing.T) {
	everywhere(t, 2, func(c *comm.Comm) error {
		w, err := c.AllocWindow(8, 1)
		if err != nil {
			return err
		}
		if err := errors.Join(c.Close(), c.Close(), w.Close()); err != nil {
			return err
		}
		for op, call := range operations(c, w) {
			if e := commtest.Says(call(), fmt.Sprintf("rank %d: %s: it has been closed", c.Rank(), op)); e != nil {
				return e
			}
		}
		return c.Err()
	})
}

// TestBarrierWithoutOne has a rank leave before a barrier in which those who are there
// wait for one another first, and one of them waits for a signal that never comes.
func TestBarrierWithoutOne(t *testing.T) {
	for _, b := range backends {
		t.Run(b, func(t *testing.T) {
			var have sync.WaitGroup // all ranks have the window
			have.Add(4)
			errs := commtest.World(comm.Options{Backend: b, Timeout: commtest.Patience}, 4, func(c *comm.Comm) error {
				w, err := c.AllocWindow(8, 1)
				have.Done()
				have.Wait()
				if err != nil || c.Rank() == 2 {
					return err
				}
				if c.Rank() == 3 {
					return w.WaitSignal(0, tl.NE, 0)
				}
				return c.Barrier()
			})
			const (
				zero = "rank 0: barrier, rank 2: it has been closed by that rank"
				one  = "rank 1: barrier, rank 2: it has been closed by that rank"
			)
			for rank, want := range [][]string{
				{zero, told("rank 0: barrier, rank 1", one)},
				{one, told("rank 1: barrier, rank 0", zero)},
				{"no error"},
				{told("rank 3: wait, signal 0, rank 0", zero), told("rank 3: wait, signal 0, rank 1", one)},
			} {
				if e := commtest.Says(errs[rank], want...); e != nil {
					t.Errorf("rank %d: %v", rank, e)
				}
			}
		})
	}
}
