package builtin

import (
	"errors"
	"flag"
	"strconv"
	"testing"

	"github.com/kernbench/kernbench/internal/host/hosttest"
	"github.com/kernbench/kernbench/scenario/runner"
)

var whole = flag.Bool("whole", false, "run 100 rounds of every scenario with every number of ranks, on goroutines and processes")

// TestRounds checks the outputs of 100 rounds of each scenario. The same ranks run the
// rounds one after another without a pause, with different inputs and random delays.
func TestRounds(t *testing.T) {
	sizes := []int{3}
	if *whole {
		sizes = []int{1, 2, 3, 4, 5, 8, 17, 33, 64}
	}
	for _, ranks := range sizes {
		for _, backend := range []string{runner.InProc, runner.SHM} {
			for _, o := range variants() {
				if !supportsRanks(o, ranks) {
					continue
				}
				o.Backend, o.Ranks, o.Rounds = backend, ranks, 100
				runRight(t, o)
			}
			t.Logf("%d ranks on %s: all right", ranks, backend)
		}
	}
}

// TestTooLarge checks that a run is refused before a rank starts if its buffers do not fit
// in the memory of the computer. Each rank needs three buffers of 4 GiB and the values of
// two buffers.
func TestTooLarge(t *testing.T) {
	hosttest.SetMemory(t, 2000)
	for _, tt := range []struct {
		backend, want string
	}{
		{runner.InProc, "the buffers of 64 ranks: 1.37e+03 GB of memory are needed, and 2 GB are free of the 16 GB that this computer has: take fewer ranks, or smaller buffers"},
		{runner.SHM, "the buffers of 64 ranks: 1.37e+03 GB of memory are needed, and 2 GB are free of the 16 GB that this computer has: take fewer ranks, or smaller buffers"},
	} {
		o := runner.Options{Scenario: "all_reduce", Backend: tt.backend}
		o.Ranks, o.Params = 64, map[string]string{"count": strconv.Itoa(1 << 30)}
		_, err := runner.Run(t.Context(), o)
		var bad *runner.InputError
		if !errors.As(err, &bad) || err.Error() != tt.want {
			t.Errorf("%s: got %v, want an InputError, %s", tt.backend, err, tt.want)
		}
	}
}
