package inproc_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/inproc"
)

// The tests of package comm check communication over this backend, too.

func open(rank, nranks int, name string) (*comm.Comm, error) {
	return comm.Open(context.Background(), rank, nranks, name, comm.Options{Backend: inproc.Name, Timeout: 20 * time.Second})
}

// openBoth opens both ranks of a run of two ranks.
func openBoth(t *testing.T, name string) (a, b *comm.Comm) {
	t.Helper()
	var errA, errB error
	var wg sync.WaitGroup
	wg.Go(func() { a, errA = open(0, 2, name) })
	wg.Go(func() { b, errB = open(1, 2, name) })
	wg.Wait()
	if errA != nil || errB != nil {
		t.Fatalf("got %v and %v, want no errors", errA, errB)
	}
	return a, b
}

// TestName checks that a name cannot be used for another run until all ranks of its run
// have closed.
func TestName(t *testing.T) {
	a, b := openBoth(t, "x")
	other, another := openBoth(t, "y") // at the same time
	checkRefused := func() {
		t.Helper()
		const want = `rank 0: open: ranks do not agree: rank 0 of "x" is there already`
		_, err := open(0, 2, "x")
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if !errors.Is(err, comm.ErrMismatch) {
			t.Errorf("got %v, want ErrMismatch", err)
		}
	}
	checkRefused()
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	checkRefused()
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	a, b = openBoth(t, "x")
	if err := errors.Join(a.Close(), b.Close(), other.Close(), another.Close()); err != nil {
		t.Error(err)
	}
}

// TestRunsAreForgotten checks that no run remains in memory if Open fails because the
// context has ended.
func TestRunsAreForgotten(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 3 { // each rank is the first of its run
		if _, err := comm.Open(ctx, 1, 3, "x", comm.Options{Backend: inproc.Name}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
	}
	if got := inproc.Runs(); got != 0 {
		t.Errorf("got %d runs, want 0", got)
	}
}
