package scenarios

import (
	"flag"
	"testing"

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
				o.Backend, o.Ranks, o.Rounds, o.Seed = backend, ranks, 100, 7
				right(t, o)
			}
			t.Logf("%d ranks on %s: all right", ranks, backend)
		}
	}
}
