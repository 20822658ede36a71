package comm_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kernbench/kernbench/comm"
	_ "github.com/kernbench/kernbench/comm/inproc"
	_ "github.com/kernbench/kernbench/comm/shm"
)

// backends are those that tests run on; ranks are goroutines on either.
var backends = []string{"inproc", "shm"}

// sizes are the numbers of ranks that operations are tested with.
var sizes = []int{1, 2, 3, 5, 8, 17}

// patience is the deadline of tests in which nobody should wait long: a hang is then an
// error that says who waits for whom.
const patience = 20 * time.Second

var runs atomic.Int64

// name is a rendezvous that no other test has.
func name() string { return fmt.Sprintf("test-%d-%d", os.Getpid(), runs.Add(1)) }

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
	left, err := filepath.Glob(fmt.Sprintf("/dev/shm/kernbench.test-%d-*", os.Getpid()))
	if err != nil || len(left) > 0 {
		fmt.Fprintln(os.Stderr, "FAIL: left in /dev/shm:", left, err)
		code = 1
	}
	os.Exit(code)
}

// together runs a function as each of some ranks and is the error of each.
func together(nranks int, body func(rank int) error) []error {
	errs := make([]error, nranks)
	var wg sync.WaitGroup
	for rank := range nranks {
		wg.Go(func() { errs[rank] = body(rank) })
	}
	wg.Wait()
	return errs
}

// world runs a function on every rank of a run and is the error of each.
func world(o comm.Options, nranks int, body func(c *comm.Comm) error) []error {
	at := name()
	var opened sync.WaitGroup
	opened.Add(nranks)
	return together(nranks, func(rank int) error {
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

// everywhere runs a function on every rank of both backends, and none may fail.
func everywhere(t *testing.T, nranks int, body func(c *comm.Comm) error) {
	t.Helper()
	for _, b := range backends {
		t.Run(fmt.Sprintf("%s/%d", b, nranks), func(t *testing.T) {
			t.Helper()
			succeed(t, world(comm.Options{Backend: b, Timeout: patience}, nranks, body))
		})
	}
}

// everySize runs a function everywhere with every number of ranks.
func everySize(t *testing.T, body func(c *comm.Comm) error) {
	t.Helper()
	for _, n := range sizes {
		everywhere(t, n, body)
	}
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
	if slices.Contains(want, got) {
		return nil
	}
	return fmt.Errorf("error:\n got %s\nwant %q", got, want)
}

// inOrder calls functions until one fails.
func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
