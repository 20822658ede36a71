package builtin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/scenario/runner"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
)

func init() {
	scenario.RegisterKernel("test_rotate", rotate)
	scenario.RegisterTasks("test_rotate", rotateTasks)
	scenario.RegisterTasks("test_rotate_unordered", unorderedBarriers)
}

// rotateFile is a scenario in which every rank copies its neighbour's numbers plus 1, in
// several steps.
const rotateFile = `summary: "rotation with one signal for all barriers"
nranks: 4
params: {count: 8, steps: 6}
signals: 1
buffers:
  - {name: x, dtype: f32, shape: [count], placement: window, init: i + 100*rank + 10*round}
  - {name: got, dtype: f32, shape: [count], placement: device}
  - {name: out, dtype: f32, shape: [count], placement: device}
kernel: {name: test_rotate, args: [x, got, out, count, steps]}
tasks: {name: test_rotate, args: [x, got, out, count, steps]}
outputs:
  - {buffer: out, golden: i + 100*((rank + steps)%nranks) + 10*round + steps}
`

// writeScenario writes text to a scenario file and returns options that run the file.
func writeScenario(t *testing.T, text string) runner.Options {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rotate.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return runner.Options{Scenario: file}
}

// rotate copies, in each step, the numbers of the next rank and adds 1. Before the first
// barrier of each step it spends a time that depends on the rank and the step, so that each
// rank arrives last at some of these barriers.
func rotate(t *tl.PE, x, got, out tl.Ptr, n, steps int) {
	next := (t.Rank() + 1) % t.NumRanks()
	for step := range steps {
		copyTile(t, next, x, got, n)
		for range 40 * ((t.Rank() + step) % 3) {
			t.Load(got, tl.Shape{n}, tl.F32)
		}
		t.Barrier(0)
		addOne(t, got, x, n)
		t.Barrier(0)
	}
	copyTile(t, t.Rank(), x, out, n)
	t.Barrier(0)
}

func addOne(t *tl.PE, x, out tl.Ptr, n int) {
	t.Store(out, t.Load(x, tl.Shape{n}, tl.F32).Add(1))
}

// rotateTasks submits the work of rotate as tasks: one for each copy, each addition and
// each barrier.
func rotateTasks(b *task.Builder, x, got, out *task.Tensor, n, steps int) {
	next := (b.Rank() + 1) % b.NumRanks()
	var last []task.ID
	for range steps {
		take := b.Submit("take", copyTile, task.Args{
			task.Scalar("rank", next), atRank(b, next, task.In, "x", x), task.Out("got", got), task.Scalar("n", n),
		}, task.After(last...))
		taken := submitBarrier(b, 0, nil, take)
		add := b.Submit("add", addOne, task.Args{task.In("got", got), task.Out("x", x), task.Scalar("n", n)}, task.After(taken))
		last = []task.ID{submitBarrier(b, 0, nil, add)}
	}
	b.Submit("leave", copyTile, task.Args{
		task.Scalar("rank", b.Rank()), task.In("x", x), task.Out("out", out), task.Scalar("n", n),
	}, task.After(last...))
}

// TestBarrierReuse checks the results of a scenario that uses one signal for many barriers
// at which different ranks arrive last. It runs the scenario on every backend, as a kernel
// and as tasks under every runtime.
func TestBarrierReuse(t *testing.T) {
	o := writeScenario(t, rotateFile)
	for _, backend := range runner.Backends {
		o.Backend, o.Race = backend, backend == runner.Sim
		for _, o.Runtime = range append([]task.Runtime{""}, task.Runtimes...) {
			o.Rounds, o.Seed = 2, nil
			if backend != runner.Sim {
				seed := uint64(3)
				o.Rounds, o.Seed = 5, &seed
			}
			if o.Runtime != "" {
				o.Tasks = withCores(t, "2")
			}
			for _, o.Ranks = range []int{1, 3, 4} {
				runRight(t, o)
			}
		}
	}
}

// unorderedBarriers submits two barriers on one signal without an edge between them.
func unorderedBarriers(b *task.Builder, x, got, out *task.Tensor, n, steps int) {
	submitBarrier(b, 0, nil)
	submitBarrier(b, 0, nil)
}

// TestBarrierTwiceAtOnce checks the error when two tasks of a rank wait at barriers of the
// same signal at the same time.
func TestBarrierTwiceAtOnce(t *testing.T) {
	o := writeScenario(t, strings.Replace(rotateFile, "tasks: {name: test_rotate,", "tasks: {name: test_rotate_unordered,", 1))
	o.Runtime, o.Tasks = task.AICPUBuildGraph, withCores(t, "2")
	for _, o.Backend = range []string{runner.InProc, runner.Sim} {
		_, err := runner.Run(t.Context(), o)
		const want = "Barrier(signal 0) at tasks.go:11: another task of this rank waits at the barrier on this signal: order the two tasks, or give each a signal of its own"
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", o.Backend, err, want)
		}
	}
}
