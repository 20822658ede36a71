// Package commtest has helpers for tests of package comm, of its backends and of packages
// built on them: runs whose ranks are goroutines, and comparisons of errors.
//
// Of kernbench, it imports comm and internal/rapidtest.
package commtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/internal/rapidtest"
)

// Patience is the deadline of waits in tests where no rank should wait long. A hang then
// becomes an error that names the rank and the peer that it waits for.
const Patience = 20 * time.Second

var runs atomic.Int64

// Name returns a rendezvous that no other test uses.
func Name() string { return fmt.Sprintf("test-%d-%d", os.Getpid(), runs.Add(1)) }

// Main runs the tests of a package and returns the exit status. Unless the flag -rapid.seed
// is given, property tests draw the same cases in every run. Main also checks that the
// tests have left no file in /dev/shm.
func Main(m *testing.M) int {
	rapidtest.Seed()
	code := m.Run()
	left, err := filepath.Glob(fmt.Sprintf("/dev/shm/*test-%d-*", os.Getpid()))
	if err != nil || len(left) > 0 {
		fmt.Fprintln(os.Stderr, "FAIL: left in /dev/shm:", left, err)
		return 1
	}
	return code
}

// Together runs body for the ranks 0 to nranks-1 at the same time, each in a goroutine, and
// returns the errors by rank.
func Together(nranks int, body func(rank int) error) []error {
	errs := make([]error, nranks)
	var wg sync.WaitGroup
	for rank := range nranks {
		wg.Go(func() { errs[rank] = body(rank) })
	}
	wg.Wait()
	return errs
}

// World opens the nranks ranks of a new run, runs body on each rank in a goroutine, closes
// the ranks and returns the errors by rank.
func World(o comm.Options, nranks int, body func(c *comm.Comm) error) []error {
	at := Name()
	var opened sync.WaitGroup
	opened.Add(nranks)
	return Together(nranks, func(rank int) error {
		c, err := comm.Open(context.Background(), rank, nranks, at, o)
		opened.Done()
		if err != nil {
			return err
		}
		opened.Wait() // so that a failure in body does not fail the Open of another rank
		err = body(c)
		if closed := c.Close(); err == nil {
			err = closed
		}
		return err
	})
}

// Failing has the methods that *testing.T and *rapid.T have in common and that Succeed
// needs.
type Failing interface {
	Helper()
	Errorf(format string, args ...any)
}

// Succeed fails the test if any of errs, the errors by rank, is not nil.
func Succeed(t Failing, errs []error) {
	t.Helper()
	for rank, err := range errs {
		if err != nil {
			t.Errorf("rank %d: got %v, want no error", rank, err)
		}
	}
}

// Says returns an error unless the text of err is one of want. There can be several texts,
// because some errors depend on which rank was faster. The text of a nil error is "no
// error".
func Says(err error, want ...string) error {
	got := "no error"
	if err != nil {
		got = err.Error()
	}
	if slices.Contains(want, got) {
		return nil
	}
	return fmt.Errorf("error:\n got %s\nwant %q", got, want)
}
