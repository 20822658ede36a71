package scenario

import (
	"os"
	"runtime"
	"testing"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/internal/rapidtest"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
)

func TestMain(m *testing.M) { os.Exit(rapidtest.Main(m)) }

// sample is a scenario file that uses most keys.
const sample = `summary: "a sample"
nranks: 4
root: 1
params: {mode: plain|fancy, count: 8}
signals: 2
domains: {even: [0, 2]}
buffers:
  - {name: x, dtype: f32, shape: [count], placement: window, init: i + 10*rank + round}
  - {name: half, dtype: f16, shape: [2, count], placement: window, domain: even}
  - {name: out, dtype: i32, shape: [count], placement: device}
kernel: {name: copied, args: [x, half, out, count, 0.5, mode, "domain:even", deviceCtx]}
tasks: {name: copied_$mode, args: [out, x, rank + round, deviceCtx]}
outputs:
  - {buffer: out, ranks: root, golden: i + 10*rank + round}
  - {buffer: half, golden: "func:halves", relative: 1e-3}
`

func init() {
	RegisterKernel("copied", func(*tl.PE, tl.Ptr, tl.Ptr, tl.Ptr, int, float32, string, Domain, comm.Context) {})
	RegisterKernel("samples", func(*tl.PE, tl.Ptr, tl.Ptr, tl.Ptr, tl.Ptr, int, Domain) {})
	RegisterKernel("notifies_plain", func(*tl.PE, tl.Ptr, tl.Ptr, tl.Ptr, Matrix, Matrix, int) {})
	RegisterTasks("copied_plain", func(*task.Builder, *task.Tensor, *task.Tensor, int8, comm.Context) {})
	RegisterTasks("copied_fancy", func(*task.Builder, *task.Tensor, *task.Tensor, float32, comm.Context) {})
	RegisterTasks("sample_tasks", func(*task.Builder, *task.Tensor, *task.Tensor, *task.Tensor, *task.Tensor, int, Domain) {})
	RegisterInput("ones", func(_ Env, out []float64) error {
		for i := range out {
			out[i] = 1
		}
		return nil
	})
	RegisterGolden("sixths", func(e Env, out []float64) error {
		_ = e.Int("six")
		return nil
	})
	RegisterGolden("halves", func(e Env, out []float64) error {
		for i := range out {
			out[i] = float64(e.Int("count")*i+e.Rank) / 2
		}
		return nil
	})
}

func init() {
	RegisterGolden("panics", func(e Env, out []float64) error {
		out[len(out)] = 1
		return nil
	})
	RegisterGolden("exits", func(Env, []float64) error {
		runtime.Goexit()
		return nil
	})
}
