// Package commtest is what tests of package comm, of its backends and of what is built
// on them share: runs whose ranks are goroutines, and comparisons of errors.
//
// It imports comm alone of ours.
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

// Patience is the deadline of tests in which nobody should wait long: a hang is then an
// error that says who waits for whom.
const Patience = 20 * time.Second

var runs atomic.Int64

// Name is a rendezvous that no other test has.
func Name() string { return fmt.Sprintf("test-%d-%d", os.Getpid(), runs.Add(1)) }

// Main runs the tests of a package and is the exit status. It has rapid draw the same
// cases every time, unless -rapid.seed says otherwise, and checks that nothing is left
// in the system.
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

// Together runs a function as each of some ranks and is the error of each.
func Together(nranks int, body func(rank int) error) []error {
	errs := make([]error, nranks)
	var wg sync.WaitGroup
	for rank := range nranks {
		wg.Go(func() { errs[rank] = body(rank) })
	}
	wg.Wait()
	return errs
}

// World runs a function on every rank of a run and is the error of each.
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
		opened.Wait() // or those who are still opening hear of early failures
		err = body(c)
		if closed := c.Close(); err == nil {
			err = closed
		}
		return err
	})
}

// Failing is a matter of rapid's tests and others.
type Failing interface {
	Helper()
	Errorf(format string, args ...any)
}

// Succeed wants no rank to have failed.
func Succeed(t Failing, errs []error) {
	t.Helper()
	for rank, err := range errs {
		if err != nil {
			t.Errorf("rank %d: got %v, want no error", rank, err)
		}
	}
}

// Says compares the text of an error with what it should be: one of several, where
// that depends on which rank was quicker.
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
