package comm_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/commtest"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/tl"
)

// step is one step of a random program: an operation that several ranks run together.
type step struct {
	kind    string // one of stepKinds
	members []int  // members of the domain, for steps with a domain
}

var stepKinds = []string{"barrier", "ring", "sum", "window", "domain", "domain, closed"}

// run executes this rank's part of the step. w is a window of c. round is the number of the
// step in the program, from 1.
func (s step) run(c *comm.Comm, w *comm.Window, round int64) error {
	next := (c.Rank() + 1) % c.Size()
	switch s.kind {
	case "barrier":
		return c.Barrier()
	case "ring":
		return runInOrder(
			func() error { return w.Put(next, 0, []byte{byte(round)}) },
			func() error { return w.Notify(next, 0, tl.Set, round) },
			func() error { return w.Await("ring", "", (c.Rank()+c.Size()-1)%c.Size(), 0, round) },
		)
	case "sum":
		return w.Accumulate(next, 8, numeric.U32, elements(numeric.U32, 1, 2))
	case "window":
		window, err := c.AllocWindow(64, 1)
		if err != nil {
			return err
		}
		return window.Close()
	}
	if !slices.Contains(s.members, c.Rank()) {
		return nil
	}
	d, err := c.Domain(s.members...)
	if err != nil {
		return err
	}
	if _, err := d.AllocWindow(8, 1); err != nil {
		return err
	}
	if err := d.Barrier(); err != nil || s.kind == "domain" {
		return err
	}
	return d.Close()
}

// failures holds the ways in which a rank can fail.
var failures = map[string]func(c *comm.Comm, w *comm.Window, cancel func()) error{
	"abort": func(c *comm.Comm, _ *comm.Window, _ func()) error { return c.Abort(errors.New("boom")) },
	"close": func(c *comm.Comm, _ *comm.Window, _ func()) error {
		return errors.Join(c.Close(), c.Barrier())
	},
	"cancel": func(_ *comm.Comm, w *comm.Window, cancel func()) error {
		cancel()
		return w.WaitSignal(1, tl.NE, 0) // no rank changes this signal
	},
}

// TestRandomFailure runs random programs in which one rank fails at a random step, or no
// rank fails. It checks that in a program with a failure every rank returns an error long
// before the deadline, and that in a program without a failure no rank returns an error.
func TestRandomFailure(t *testing.T) {
	for _, backend := range backends {
		t.Run(backend, rapid.MakeCheck(func(t *rapid.T) {
			nranks := rapid.IntRange(2, 6).Draw(t, "ranks")
			program := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
				all := rapid.Permutation(ranksBelow(nranks)).Draw(t, "order")
				return step{
					kind:    rapid.SampledFrom(stepKinds).Draw(t, "kind"),
					members: all[:rapid.IntRange(1, nranks).Draw(t, "members")],
				}
			}), 1, 10).Draw(t, "program")
			bad := rapid.IntRange(-1, nranks-1).Draw(t, "rank that fails") // -1: none
			when := rapid.IntRange(0, len(program)).Draw(t, "step it fails at")
			failure := rapid.SampledFrom([]string{"abort", "cancel", "close"}).Draw(t, "failure")
			at := commtest.Name()
			errs := commtest.Together(nranks, func(rank int) error {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				c, err := comm.Open(ctx, rank, nranks, at, comm.Options{Backend: backend, Timeout: commtest.Patience})
				if err != nil {
					return err
				}
				defer c.Close()
				w, err := c.AllocWindow(64, 2)
				if err != nil {
					return err
				}
				for i, s := range program {
					if rank == bad && i == when {
						return failures[failure](c, w, cancel)
					}
					if err := s.run(c, w, int64(i)+1); err != nil {
						return err
					}
				}
				if rank == bad && when == len(program) {
					return failures[failure](c, w, cancel)
				}
				return c.Barrier()
			})
			for rank, err := range errs {
				if (err == nil) == (bad >= 0) || errors.Is(err, comm.ErrTimeout) {
					t.Errorf("rank %d: got %v, want an error before the deadline: %v", rank, err, bad >= 0)
				}
			}
			if bad >= 0 && failure == "abort" {
				if want := fmt.Sprintf("rank %d: abort: boom", bad); errs[bad].Error() != want {
					t.Errorf("rank %d: got %v, want %s", bad, errs[bad], want)
				}
			}
		}))
	}
}

func ranksBelow(n int) []int {
	ranks := make([]int, n)
	for i := range ranks {
		ranks[i] = i
	}
	return ranks
}
