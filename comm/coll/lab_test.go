package coll_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/coll"
	_ "github.com/kernbench/kernbench/comm/inproc"
	_ "github.com/kernbench/kernbench/comm/shm"
)

var runs atomic.Int64

// group runs a function on every rank of a group and is the error of each.
func group(backend string, n int, o coll.Options, body func(g *coll.Group) error) []error {
	errs := make([]error, n)
	at := fmt.Sprintf("coll-%d-%d", os.Getpid(), runs.Add(1))
	var wg sync.WaitGroup
	for rank := range n {
		wg.Go(func() {
			c, err := comm.Open(context.Background(), rank, n, at, comm.Options{Backend: backend})
			if err == nil {
				var g *coll.Group
				if g, err = coll.New(c, o); err == nil {
					err = body(g)
				}
				if err != nil {
					c.Abort(err)
				}
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

func right(t *testing.T, errs []error) {
	t.Helper()
	for rank, err := range errs {
		if err != nil {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}
