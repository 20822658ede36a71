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

// backends are those that tests run on; ranks are goroutines on either.
var backends = []string{"inproc", "shm"}

// sizes are the numbers of ranks that operations are tested with.
var sizes = []int{1, 2, 3, 5, 8, 17}

func TestMain(m *testing.M) { os.Exit(commtest.Main(m)) }

// everywhere runs a function on every rank of both backends, and none may fail.
func everywhere(t *testing.T, nranks int, body func(c *comm.Comm) error) {
	t.Helper()
	for _, b := range backends {
		t.Run(fmt.Sprintf("%s/%d", b, nranks), func(t *testing.T) {
			t.Helper()
			commtest.Succeed(t, commtest.World(comm.Options{Backend: b, Timeout: commtest.Patience}, nranks, body))
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

// inOrder calls functions until one fails.
func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
