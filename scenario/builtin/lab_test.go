package builtin

import (
	"os"
	"testing"

	"github.com/kernbench/kernbench/comm/launch"
	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/scenario/runner"
)

// TestMain runs the tests. In the process of a rank, launch.Child runs the rank and does
// not return.
func TestMain(m *testing.M) {
	launch.Child()
	os.Exit(m.Run())
}

// run runs a scenario and returns the result. The test fails if the run returns an error.
func run(t testing.TB, o runner.Options) *runner.Result {
	t.Helper()
	r, err := runner.Run(t.Context(), o)
	if err != nil {
		t.Fatalf("%s, %d ranks, %v on %s: %v", o.Scenario, o.Ranks, o.Params, o.Backend, err)
	}
	return r
}

// runRight runs a scenario, checks that all output values are right, and returns the
// result.
func runRight(t testing.TB, o runner.Options) *runner.Result {
	t.Helper()
	r := run(t, o)
	if !r.OK || r.Wrong != 0 || len(r.Mismatches) > 0 || r.Compared == 0 {
		t.Errorf("%s, %d ranks, %v on %s: %d of %d elements are wrong, %v, races %v", o.Scenario, o.Ranks, o.Params, o.Backend, r.Wrong, r.Compared, r.Mismatches, r.Races)
	}
	return r
}

// modes lists the values of the parameter mode, by scenario.
var modes = map[string][]string{
	"all_reduce": {"onephase", "twophase", "ring", "bidirectional_ring"},
	"treduce":    {"loop", "treduce"},
}

// variants returns options for each built-in scenario in each of its modes, with sizes that
// are small enough for tests.
func variants() (list []runner.Options) {
	for _, name := range scenario.Names() {
		o := runner.Options{Scenario: name}
		switch name {
		case "all_reduce", "treduce":
			for _, mode := range modes[name] {
				o.Params = map[string]string{"mode": mode}
				list = append(list, o)
			}
			continue
		case "ep_dispatch_combine":
			o.Params = map[string]string{"tokens": "6", "topk": "3", "dim": "40"}
		case "ffn_tp":
			o.Params = map[string]string{"m": "9", "k": "16", "n": "5"}
		}
		list = append(list, o)
	}
	return list
}

// supportsRanks reports whether the scenario in o can run with the given number of ranks.
func supportsRanks(o runner.Options, ranks int) bool {
	return ranks == 3 || o.Scenario != "domain_rank_map" && o.Scenario != "dual_domain_overlap"
}
