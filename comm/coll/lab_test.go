package coll_test

import (
	"os"
	"testing"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/coll"
	"github.com/kernbench/kernbench/comm/commtest"
	_ "github.com/kernbench/kernbench/comm/shm"
)

// backends are those that tests run on; ranks are goroutines on each.
var backends = []string{"inproc", "shm", "remote"}

func TestMain(m *testing.M) { os.Exit(commtest.Main(m)) }

// world runs a function on every rank of a run and is the error of each. A rank that
// fails aborts.
func world(backend string, n int, body func(c *comm.Comm) error) []error {
	return commtest.World(comm.Options{Backend: backend, Timeout: commtest.Patience}, n, func(c *comm.Comm) error {
		err := body(c)
		if err != nil {
			c.Abort(err)
		}
		return err
	})
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
