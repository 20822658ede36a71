package comm_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/commtest"
	"github.com/kernbench/kernbench/tl"
)

// peerFailed returns the text of an error that begins with `place`, for an operation that
// fails because another rank has failed for the given reason.
func peerFailed(place string, reason string) string {
	return place + ": another rank has failed: " + reason
}

// TestMismatch checks the errors of ranks that call different operations, or the same
// operation with different arguments. The error names two ranks and what each one does.
func TestMismatch(t *testing.T) {
	alloc := func(bytes int64, signals int) func(*comm.Comm) error {
		return func(c *comm.Comm) error {
			_, err := c.AllocWindow(bytes, signals)
			return err
		}
	}
	domain := func(ranks ...int) func(*comm.Comm) error {
		return func(c *comm.Comm) error {
			d, err := c.Domain(ranks...)
			if err != nil {
				return err
			}
			return d.Barrier()
		}
	}
	const (
		windows = "rank 1: window, alloc, rank 0: ranks do not agree: rank 1 makes a window of 128 bytes and 2 signals, rank 0 one of 64 bytes and 1 signals"
		lists   = "rank 1: domain, rank 0: ranks do not agree: rank 1 makes a domain of the ranks [0 1 2], rank 0 one of 2 others"
		order   = "rank 2: domain, rank 0: ranks do not agree: rank 2 makes a domain of the ranks [0 2 1], rank 0 one of 3 others"
		kinds   = "rank 1: domain, rank 0: ranks do not agree: rank 1 makes a domain, rank 0 makes a window"
	)
	tests := []struct {
		name  string
		ranks []func(*comm.Comm) error
		want  []string
	}{
		{"bytes and signals", []func(*comm.Comm) error{alloc(64, 1), alloc(128, 2)},
			[]string{peerFailed("rank 0: window, all have it, rank 1", windows), windows}},
		{"members", []func(*comm.Comm) error{domain(0, 1), domain(0, 1, 2), (*comm.Comm).Barrier},
			[]string{peerFailed("rank 0: barrier, rank 1", lists), lists, peerFailed("rank 2: barrier, rank 1", lists)}},
		{"order of members", []func(*comm.Comm) error{domain(0, 1, 2), (*comm.Comm).Barrier, domain(0, 2, 1)},
			[]string{peerFailed("rank 0: barrier, rank 2", order), peerFailed("rank 1: barrier, rank 2", order), order}},
		{"what is made", []func(*comm.Comm) error{alloc(64, 1), domain(0, 1)},
			[]string{peerFailed("rank 0: window, all have it, rank 1", kinds), kinds}},
	}
	for _, test := range tests {
		for _, b := range backends {
			t.Run(test.name+"/"+b, func(t *testing.T) {
				errs := commtest.World(comm.Options{Backend: b, Timeout: commtest.Patience}, len(test.ranks), func(c *comm.Comm) error {
					return test.ranks[c.Rank()](c)
				})
				for rank, err := range errs {
					if e := commtest.Says(err, test.want[rank]); e != nil {
						t.Errorf("rank %d: %v", rank, e)
					}
				}
			})
		}
	}
}

// TestMismatchAtOpen checks the errors when two ranks open with different context versions
// or different numbers of ranks. Each rank has two possible errors, because either rank can
// be the first to detect the mismatch.
func TestMismatchAtOpen(t *testing.T) {
	for _, b := range backends {
		t.Run("version/"+b, func(t *testing.T) {
			at := commtest.Name()
			errs := commtest.Together(2, func(rank int) error {
				o := comm.Options{Backend: b, Timeout: commtest.Patience}
				if rank == 1 {
					o = o.WithContextVersion(7)
				}
				_, err := comm.Open(context.Background(), rank, 2, at, o)
				return err
			})
			const (
				fix   = ": build both from one version of kernbench"
				zero  = "rank 0: open, hello, rank 1: ranks do not agree: rank 0 has context version 1, rank 1 version 7" + fix
				first = "rank 1: open, hello, rank 0: ranks do not agree: rank 1 has context version 7, rank 0 version 1" + fix
			)
			for rank, want := range [][]string{{zero, peerFailed("rank 0: open, hello, rank 1", first)}, {first, peerFailed("rank 1: open, hello, rank 0", zero)}} {
				if e := commtest.Says(errs[rank], want...); e != nil {
					t.Errorf("rank %d: %v", rank, e)
				}
				if !errors.Is(errs[rank], comm.ErrMismatch) && !errors.Is(errs[rank], comm.ErrPeer) {
					t.Errorf("rank %d: got %v, want ErrMismatch or ErrPeer", rank, errs[rank])
				}
			}
		})
		t.Run("ranks/"+b, func(t *testing.T) {
			at := commtest.Name()
			errs := commtest.Together(2, func(rank int) error {
				_, err := comm.Open(context.Background(), rank, 2+rank, at, comm.Options{Backend: b, Timeout: commtest.Patience})
				return err
			})
			path := map[string]string{"inproc": "", "shm": "/dev/shm/kernbench." + at + ": "}[b]
			const (
				late1 = "ranks do not agree: rank 1 says that there are 3 ranks, rank 0 that there are 2"
				late0 = "ranks do not agree: rank 0 says that there are 2 ranks, rank 1 that there are 3"
			)
			for rank, want := range [][]string{{"rank 0: open, hello, rank 1: " + late1, "rank 0: open: " + path + late0},
				{"rank 1: open: " + path + late1, "rank 1: open, hello, rank 0: " + late0}} {
				if e := commtest.Says(errs[rank], want...); e != nil {
					t.Errorf("rank %d: %v", rank, e)
				}
				if !errors.Is(errs[rank], comm.ErrMismatch) {
					t.Errorf("rank %d: got %v, want ErrMismatch", rank, errs[rank])
				}
			}
		})
	}
}

// TestTimeout checks that an operation whose peer does nothing fails with ErrTimeout, and
// that the error names the peer and the phase.
func TestTimeout(t *testing.T) {
	const nothing = "the deadline has passed: nothing in 30ms"
	tests := []struct {
		name string
		rank int // rank that waits, of 2
		wait func(c *comm.Comm, w *comm.Window) error
		want comm.Error
	}{
		{"barrier", 0, func(c *comm.Comm, w *comm.Window) error { return c.Barrier() },
			comm.Error{Rank: 0, Peer: 1, Op: "barrier", Signal: -1}},
		{"signal", 1, func(c *comm.Comm, w *comm.Window) error { return w.WaitSignal(1, tl.NE, 0) },
			comm.Error{Rank: 1, Peer: -1, Op: "wait", Signal: 1}},
		{"window of the first", 0, func(c *comm.Comm, w *comm.Window) error { _, err := c.AllocWindow(8, 1); return err },
			comm.Error{Rank: 0, Peer: 1, Op: "window", Phase: "all have it", Signal: -1}},
		{"window of another", 1, func(c *comm.Comm, w *comm.Window) error { _, err := c.AllocWindow(8, 1); return err },
			comm.Error{Rank: 1, Peer: 0, Op: "window", Phase: "alloc", Signal: -1}},
		{"domain", 1, func(c *comm.Comm, w *comm.Window) error { _, err := c.Domain(0, 1); return err },
			comm.Error{Rank: 1, Peer: 0, Op: "domain", Signal: -1}},
		{"phase of a collective", 1, func(c *comm.Comm, w *comm.Window) error { return w.Await("allreduce", "gather", 0, 0, 1) },
			comm.Error{Rank: 1, Peer: 0, Op: "allreduce", Phase: "gather", Signal: 0}},
	}
	for _, test := range tests {
		for _, b := range backends {
			t.Run(test.name+"/"+b, func(t *testing.T) {
				done := make(chan struct{})
				commtest.Succeed(t, commtest.World(comm.Options{Backend: b, Timeout: commtest.Patience}, 2, func(c *comm.Comm) error {
					w, err := c.AllocWindow(8, 2)
					if err != nil {
						return err
					}
					if c.Rank() != test.rank {
						<-done
						return nil
					}
					defer close(done)
					c.SetTimeout(30 * time.Millisecond)
					err = test.wait(c, w)
					if e := checkFields(err, test.want, nothing); e != nil {
						return e
					}
					if !errors.Is(err, comm.ErrTimeout) {
						return fmt.Errorf("got %v, want ErrTimeout", err)
					}
					return nil
				}))
			})
		}
	}
	for _, b := range backends {
		t.Run("open/"+b, func(t *testing.T) {
			_, err := comm.Open(context.Background(), 1, 3, commtest.Name(), comm.Options{Backend: b, Timeout: 30 * time.Millisecond})
			if e := checkFields(err, comm.Error{Rank: 1, Peer: 0, Op: "open", Phase: "hello", Signal: -1}, nothing); e != nil {
				t.Error(e)
			}
		})
	}
}

// checkFields returns an error unless err is a *comm.Error whose fields equal those of want
// and whose wrapped error has the given text.
func checkFields(err error, want comm.Error, text string) error {
	var got *comm.Error
	if !errors.As(err, &got) {
		return fmt.Errorf("got %v, want a *comm.Error", err)
	}
	if e := commtest.Says(got.Err, text); e != nil {
		return e
	}
	fields := *got
	fields.Err = nil
	if fields != want {
		return fmt.Errorf("got %+v, want %+v", fields, want)
	}
	return nil
}

// TestCancel checks the errors of two waiting ranks when the context of one of them ends
// with a cause. It also checks the error of a rank whose context has ended before Open.
func TestCancel(t *testing.T) {
	for _, b := range backends {
		t.Run(b, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(context.Background())
			at := commtest.Name()
			errs := commtest.Together(2, func(rank int) error {
				rankCtx := context.Background()
				if rank == 0 {
					rankCtx = ctx
				}
				c, err := comm.Open(rankCtx, rank, 2, at, comm.Options{Backend: b, Timeout: commtest.Patience})
				if err != nil {
					return err
				}
				defer c.Close()
				w, err := c.AllocWindow(0, 1)
				if err != nil {
					return err
				}
				if rank == 1 {
					cancel(errors.New("enough"))
				}
				return w.WaitSignal(0, tl.EQ, 1)
			})
			const why = "rank 0: wait, signal 0: enough"
			for rank, want := range []string{why, peerFailed("rank 1: wait, signal 0, rank 0", why)} {
				if e := commtest.Says(errs[rank], want); e != nil {
					t.Errorf("rank %d: %v", rank, e)
				}
			}
		})
		t.Run("before/"+b, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(context.Background())
			cancel(errors.New("enough"))
			_, err := comm.Open(ctx, 0, 2, commtest.Name(), comm.Options{Backend: b})
			if e := commtest.Says(err, "rank 0: open: enough", "rank 0: open, hello, rank 1: enough"); e != nil {
				t.Error(e)
			}
		})
	}
}
