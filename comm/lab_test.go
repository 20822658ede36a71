package comm_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/commtest"
	_ "github.com/kernbench/kernbench/comm/inproc"
	_ "github.com/kernbench/kernbench/comm/shm"
)

// backends lists the backends that tests run on. Ranks are goroutines on both.
var backends = []string{"inproc", "shm"}

// sizes are the numbers of ranks that operations are tested with.
var sizes = []int{1, 2, 3, 5, 8, 17}

func TestMain(m *testing.M) { os.Exit(commtest.Main(m)) }

// runOnBackends runs body on each of nranks ranks, once for each backend. The test fails if
// body returns an error at any rank.
func runOnBackends(t *testing.T, nranks int, body func(c *comm.Comm) error) {
	t.Helper()
	for _, b := range backends {
		t.Run(fmt.Sprintf("%s/%d", b, nranks), func(t *testing.T) {
			t.Helper()
			commtest.Succeed(t, commtest.World(comm.Options{Backend: b, Timeout: commtest.Patience}, nranks, body))
		})
	}
}

// runOnSizes runs body on all ranks, once for each backend and each number of ranks in
// sizes.
func runOnSizes(t *testing.T, body func(c *comm.Comm) error) {
	t.Helper()
	for _, n := range sizes {
		runOnBackends(t, n, body)
	}
}

// runInOrder calls the steps in order. It stops at the first step that fails and returns
// the error of that step.
func runInOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
