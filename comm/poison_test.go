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

// TestAbort lets one rank abort while a second waits in a barrier, a third waits for a
// signal and a fourth calls Put. It checks that the error of each rank has the reason of
// the abort, and that every later operation of the rank fails at once with the same error.
func TestAbort(t *testing.T) {
	const why = "rank 1: abort: boom"
	want := []string{
		peerFailed("rank 0: barrier, rank 1", why), why,
		peerFailed("rank 2: wait, signal 0, rank 1", why), peerFailed("rank 3: put, rank 1", why),
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

// TestAbortInDomain checks that Abort of a domain makes the operations of all ranks fail,
// including ranks outside the domain.
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
			for rank, want := range []string{peerFailed("rank 0: barrier, rank 2", why), peerFailed("rank 1: barrier, rank 2", why), why} {
				if e := commtest.Says(errs[rank], want); e != nil {
					t.Errorf("rank %d: %v", rank, e)
				}
			}
		})
	}
}

// TestClosedEarly checks the error of a rank that waits for a peer after the peer has
// closed the communicator.
func TestClosedEarly(t *testing.T) {
	tests := []struct {
		name string
		wait func(c *comm.Comm, w *comm.Window) error
		want string
	}{
		{"barrier", func(c *comm.Comm, w *comm.Window) error { return c.Barrier() },
			"rank 0: barrier, rank 1: it has been closed by that rank"},
		{"signal", func(c *comm.Comm, w *comm.Window) error { return w.WaitSignal(0, tl.GT, 0) },
			"rank 0: wait, signal 0: it has been closed by all other ranks, or they have ended: there is no rank left to wait for"},
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
						want[1] = peerFailed("rank 1: barrier, rank 0", test.want)
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

// TestClosedAfterItsPart checks that rank 2 may close the communicator after it has
// notified ranks 0 and 1. Both must still see the notification, and they must be able to
// continue to communicate with each other.
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
						return runInOrder(
							func() error { return w.Notify(0, 0, tl.Set, 1) },
							func() error { return w.Notify(1, 0, tl.Set, 1) },
						)
					}
					for g := range int64(20) {
						if err := runInOrder(
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

// TestClosed checks the error of each operation on a closed communicator.
func TestClosed(t *testing.T) {
	runOnBackends(t, 2, func(c *comm.Comm) error {
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

// TestBarrierWithoutOne checks the errors when rank 2 closes and never enters the barrier
// that ranks 0 and 1 wait in. Meanwhile rank 3 waits for a signal that never changes.
func TestBarrierWithoutOne(t *testing.T) {
	for _, b := range backends {
		t.Run(b, func(t *testing.T) {
			var allocated sync.WaitGroup // all ranks have allocated the window
			allocated.Add(4)
			errs := commtest.World(comm.Options{Backend: b, Timeout: commtest.Patience}, 4, func(c *comm.Comm) error {
				w, err := c.AllocWindow(8, 1)
				allocated.Done()
				allocated.Wait()
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
				{zero, peerFailed("rank 0: barrier, rank 1", one)},
				{one, peerFailed("rank 1: barrier, rank 0", zero)},
				{"no error"},
				{peerFailed("rank 3: wait, signal 0, rank 0", zero), peerFailed("rank 3: wait, signal 0, rank 1", one)},
			} {
				if e := commtest.Says(errs[rank], want...); e != nil {
					t.Errorf("rank %d: %v", rank, e)
				}
			}
		})
	}
}
