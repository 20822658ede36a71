package builtin

import (
	"testing"

	"github.com/kernbench/kernbench/scenario/runner"
	"github.com/kernbench/kernbench/task"
)

// TestPairs checks the outputs of all_to_all_pairs on every backend, with odd numbers of
// ranks and elements, as a kernel and as tasks. On sim it also checks that there are no
// races.
func TestPairs(t *testing.T) {
	for _, backend := range runner.Backends {
		for _, ranks := range []int{1, 3, 5, 7} {
			for _, runtime := range []task.Runtime{"", task.AICPUBuildGraph} {
				o := runner.Options{Scenario: "all_to_all_pairs", Backend: backend, Race: backend == runner.Sim, Runtime: runtime}
				o.Ranks, o.Rounds, o.Params = ranks, 5, map[string]string{"count": "13"}
				if r := runRight(t, o); r.Compared != 5*13*ranks*ranks {
					t.Errorf("%s, %d ranks: %d elements compared, want %d", backend, ranks, r.Compared, 5*13*ranks*ranks)
				}
			}
		}
	}
}
