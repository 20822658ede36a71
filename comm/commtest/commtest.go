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

// Main runs the tests of a package and returns the exit status. Without -rapid.seed, rapid
// draws the same cases in every run. Main also checks that no file of the tests is left in
// /dev/shm.
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

// Together runs body for each rank at the same time and returns the errors by rank.
func Together(nranks int, body func(rank int) error) []error {
	errs := make([]error, nranks)
	var wg sync.WaitGroup
	for rank := range nranks {
		wg.Go(func() { errs[rank] = body(rank) })
	}
	wg.Wait()
	return errs
}

// World opens a run, runs body on every rank and returns the errors by rank.
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

// Failing is the part of testing.TB that tests of rapid have too.
type Failing interface {
	Helper()
	Errorf(format string, args ...any)
}

// Succeed checks that no rank has failed.
func Succeed(t Failing, errs []error) {
	t.Helper()
	for rank, err := range errs {
		if err != nil {
			t.Errorf("rank %d: got %v, want no error", rank, err)
		}
	}
}

// Says returns an error unless the text of err is one of want. It takes several texts
// because some errors depend on which rank was faster. The text of nil is "no error".
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
