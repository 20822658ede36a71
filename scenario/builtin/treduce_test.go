package builtin

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/kernbench/kernbench/scenario/runner"
	"github.com/kernbench/kernbench/task"
)

// roundingFile is a scenario file with a reduction whose sums depend on the order of their
// terms.
const roundingFile = `
summary: "sums that must be rounded"
nranks: 5
root: 0
params: {mode: loop|treduce, count: 5003}
signals: 2
buffers:
  - {name: x, dtype: %[1]s, shape: [count], placement: window, init: (i + 1)*(rank + 1)/(3*rank + 7)}
  - {name: out, dtype: %[1]s, shape: [count], placement: device}
kernel: {name: treduce_$mode, args: [x, out, count, root]}
tasks: {name: treduce_$mode, args: [x, out, count, root]}
outputs:
  - {buffer: out, ranks: root, golden: (i + 1)*(1/7 + 2/10 + 3/13 + 4/16 + 5/19), relative: 0.05}
`

// TestTReduceModes checks that both modes of treduce give the same bits on every backend,
// as a kernel and as tasks. It also checks that the simulated time of each mode has not
// changed.
func TestTReduceModes(t *testing.T) {
	for _, dtype := range []string{"f16", "f32"} {
		file := filepath.Join(t.TempDir(), "rounding.yaml")
		if err := os.WriteFile(file, fmt.Appendf(nil, roundingFile, dtype), 0o600); err != nil {
			t.Fatal(err)
		}
		var want map[string][]byte
		for _, mode := range modes["treduce"] {
			for _, backend := range runner.Backends {
				for _, runtime := range []task.Runtime{"", task.AICPUBuildGraph} {
					o := runner.Options{Scenario: file, Backend: backend, Keep: t.TempDir()}
					o.Runtime, o.Params = runtime, map[string]string{"mode": mode}
					runRight(t, o)
					got := readFiles(t, o.Keep, "out.out.npy")
					if want == nil {
						want = got
					}
					if out := "round0/rank0/out.out.npy"; len(got[out]) < 5003 || !bytes.Equal(got[out], want[out]) {
						t.Errorf("%s, mode %s on %s, runtime %q: %d bytes that differ from the bytes of the loop", dtype, mode, backend, runtime, len(got[out]))
					}
				}
			}
		}
	}
	for mode, want := range map[string]float64{"loop": 1493.51809, "treduce": 1842.16683} {
		o := runner.Options{Scenario: "treduce", Backend: runner.Sim}
		o.Params = map[string]string{"mode": mode}
		if r := runRight(t, o); r.TimeNS != want {
			t.Errorf("mode %s takes %v ns, want %v", mode, r.TimeNS, want)
		}
	}
}
