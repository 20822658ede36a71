package coll_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/coll"
	_ "github.com/kernbench/kernbench/comm/shm"
)

// backends are those that tests run on; ranks are goroutines on each.
var backends = []string{"inproc", "shm", "remote"}

// patience is the deadline of every wait: a hang is then an error that says who waits
// for whom.
const patience = 20 * time.Second

var runs atomic.Int64

// TestMain draws the same random cases every time, and checks that nothing is left in
// the system. Explore other cases with -rapid.seed and -rapid.checks.
func TestMain(m *testing.M) {
	flag.Parse()
	if seed := flag.Lookup("rapid.seed"); seed.Value.String() == seed.DefValue {
		if err := flag.Set("rapid.seed", "1"); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	left, err := filepath.Glob(fmt.Sprintf("/dev/shm/kernbench.coll-%d-*", os.Getpid()))
	if err != nil || len(left) > 0 {
		fmt.Fprintln(os.Stderr, "FAIL: left in /dev/shm:", left, err)
		code = 1
	}
	os.Exit(code)
}

// world runs a function on every rank of a run and is the error of each. A rank that
// fails aborts.
func world(backend string, n int, body func(c *comm.Comm) error) []error {
	errs := make([]error, n)
	at := fmt.Sprintf("coll-%d-%d", os.Getpid(), runs.Add(1))
	var wg sync.WaitGroup
	for rank := range n {
		wg.Go(func() {
			c, err := comm.Open(context.Background(), rank, n, at, comm.Options{Backend: backend, Timeout: patience})
			if err != nil {
				errs[rank] = err
				return
			}
			if err = body(c); err != nil {
				c.Abort(err)
			}
			if closed := c.Close(); err == nil {
				err = closed
			}
			errs[rank] = err
		})
	}
	wg.Wait()
	return errs
}

// group runs a function on every rank of a group and is the error of each.
func group(backend string, n int, o coll.Options, body func(g *coll.Group) error) []error {
	return world(backend, n, func(c *comm.Comm) error {
		g, err := coll.New(c, o)
		if err != nil {
			return err
		}
		return body(g)
	})
}

// failing is a matter of rapid's tests and others.
type failing interface {
	Helper()
	Errorf(format string, args ...any)
}

func succeed(t failing, errs []error) {
	t.Helper()
	for rank, err := range errs {
		if err != nil {
			t.Errorf("rank %d: got %v, want no error", rank, err)
		}
	}
}

// says compares the text of an error with what it should be: one of several, where
// that depends on which rank was quicker.
func says(err error, want ...string) error {
	got := "no error"
	if err != nil {
		got = err.Error()
	}
	for _, w := range want {
		if got == w {
			return nil
		}
	}
	return fmt.Errorf("error:\n got %s\nwant %q", got, want)
}
