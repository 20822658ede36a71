package runner_test

import (
	"os"
	"testing"

	"github.com/kernbench/kernbench/comm/launch"
	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/scenario/runner"
	"github.com/kernbench/kernbench/tl"
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

// registerProbe registers a scenario for tests and its kernel, whose first arguments are
// the buffers `x` and `out`. `golden` is the expression for the golden values of the buffer
// `out`. `more` is added to the keys of the file, and `args` to the arguments of the
// kernel.
func registerProbe(name, more, args, golden string, kernel any) {
	scenario.RegisterKernel(name, kernel)
	scenario.Register(name, []byte(`summary: "a probe"
nranks: 2
signals: 2
buffers:
  - {name: x, dtype: f32, shape: [4], placement: window, init: i + 10*rank + 100*round}
  - {name: out, dtype: f32, shape: [4], placement: device}
`+more+`kernel: {name: `+name+`, args: [x, out`+args+`]}
outputs:
  - {buffer: out, golden: `+golden+`}
`))
}

// sum is the scenario probe_sum, which has a root and parameters.
const sum = `summary: "the root adds the data of all ranks"
nranks: 4
ranks: {min: 2, max: 16}
root: 0
params: {mode: sum|total, count: 3}
signals: 2
buffers:
  - {name: x, dtype: f32, shape: [count], placement: window, init: i + 100*rank + 10*round}
  - {name: out, dtype: f32, shape: [count], placement: device}
kernel: {name: probe_$mode, args: [x, out, count, root]}
outputs:
  - {buffer: out, ranks: root, golden: nranks*i + 50*nranks*(nranks-1) + 10*round*nranks}
`

func init() {
	scenario.Register("probe_sum", []byte(sum))
	for _, mode := range []string{"sum", "total"} {
		scenario.RegisterKernel("probe_"+mode, func(t *tl.PE, x, out tl.Ptr, n, root int) {
			if t.Rank() != root {
				t.Notify(root, 0, tl.Add, 1)
				t.WaitSignal(1, tl.EQ, 1)
				return
			}
			t.WaitSignal(0, tl.EQ, t.NumRanks()-1)
			total := t.Load(x, tl.Shape{n}, tl.F32)
			for peer := range t.NumRanks() {
				if peer != root {
					total = total.Add(t.Get(peer, x, tl.Shape{n}, tl.F32))
					t.Notify(peer, 1, tl.Set, 1)
				}
			}
			t.Store(out, total)
		})
	}
}
