package comm_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kernbench/kernbench/comm"
	_ "github.com/kernbench/kernbench/comm/inproc"
	_ "github.com/kernbench/kernbench/comm/shm"
)

// backends are those that tests run on; ranks are goroutines on either.
var backends = []string{"inproc", "shm"}

var runs atomic.Int64

// name is a rendezvous that no other test has.
func name(t *testing.T) string { return fmt.Sprintf("test-%d-%d", pid, runs.Add(1)) }

// world runs a function on every rank of a run and is the error of each.
func world(t *testing.T, o comm.Options, nranks int, body func(c *comm.Comm) error) []error {
	t.Helper()
	errs := make([]error, nranks)
	at := name(t)
	var wg sync.WaitGroup
	for rank := range nranks {
		wg.Go(func() {
			c, err := comm.Open(context.Background(), rank, nranks, at, o)
			if err == nil {
				err = body(c)
				if closed := c.Close(); err == nil {
					err = closed
				}
			}
			errs[rank] = err
		})
	}
	wg.Wait()
	return errs
}

// everywhere runs a function on every rank of both backends, and none may fail.
func everywhere(t *testing.T, nranks int, body func(c *comm.Comm) error) {
	t.Helper()
	for _, b := range backends {
		t.Run(fmt.Sprintf("%s/%d", b, nranks), func(t *testing.T) {
			for rank, err := range world(t, comm.Options{Backend: b}, nranks, body) {
				if err != nil {
					t.Errorf("rank %d: %v", rank, err)
				}
			}
		})
	}
}
