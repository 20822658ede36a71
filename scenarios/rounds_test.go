package scenarios

import (
	"errors"
	"flag"
	"strconv"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/internal/host"
	"github.com/kernbench/kernbench/internal/runner"
)

var whole = flag.Bool("whole", false, "run 100 rounds of every scenario with every number of ranks, on goroutines and processes")

// TestRounds runs each scenario 100 times back to back in the same ranks, with other
// inputs every time and random delays.
func TestRounds(t *testing.T) {
	sizes := []int{3}
	if *whole {
		sizes = []int{1, 2, 3, 4, 5, 8, 17, 33, 64}
	}
	for _, ranks := range sizes {
		for _, backend := range []string{runner.InProc, runner.SHM} {
			for _, o := range variants() {
				if !defined(o, ranks) {
					continue
				}
				o.Backend, o.Ranks, o.Rounds = backend, ranks, 100
				right(t, o)
			}
			t.Logf("%d ranks on %s: all right", ranks, backend)
		}
	}
}

// TestTooLarge: what does not fit into the computer is refused before a rank starts.
func TestTooLarge(t *testing.T) {
	if host.Memory() == 0 {
		t.Skip("how much memory there is cannot be found out")
	}
	const count = 1 << 30 // three buffers of 4 GiB at each rank
	for _, backend := range []string{runner.InProc, runner.SHM} {
		o := runner.Options{Scenario: "allreduce", Backend: backend}
		o.Ranks, o.Params = 64, map[string]string{"count": strconv.Itoa(count)}
		if host.Memory() > 64*3*4*count {
			t.Skip("this computer has room for it")
		}
		_, err := runner.Run(t.Context(), o)
		var bad *runner.InputError
		if want := "the buffers of 64 ranks have 825 GB, and this computer has "; !errors.As(err, &bad) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want an InputError that begins with %q", backend, err, want)
		}
	}
}
