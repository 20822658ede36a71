package coll_test

import (
	"os"
	"testing"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/coll"
	"github.com/kernbench/kernbench/comm/commtest"
	_ "github.com/kernbench/kernbench/comm/shm"
)

// backends lists the backends that tests run on. Ranks are goroutines on each.
var backends = []string{"inproc", "shm", "remote"}

func TestMain(m *testing.M) { os.Exit(commtest.Main(m)) }

// runWorld opens n ranks on a backend, runs body on every rank, and returns the errors by
// rank. If body fails at a rank, that rank aborts the run.
func runWorld(backend string, n int, body func(c *comm.Comm) error) []error {
	return commtest.World(comm.Options{Backend: backend, Timeout: commtest.Patience}, n, func(c *comm.Comm) error {
		err := body(c)
		if err != nil {
			c.Abort(err)
		}
		return err
	})
}

// runGroup creates a group of n ranks on a backend, runs body on every rank, and returns
// the errors by rank.
func runGroup(backend string, n int, o coll.Options, body func(g *coll.Group) error) []error {
	return runWorld(backend, n, func(c *comm.Comm) error {
		g, err := coll.New(c, o)
		if err != nil {
			return err
		}
		return body(g)
	})
}
