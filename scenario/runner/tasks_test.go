package runner_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/scenario/runner"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
)

// registerTasks registers a scenario for tests. The scenario has tasks and no kernel. Its
// golden values require that the tasks do not change the buffer `out`.
func registerTasks(name, args string, orchestrate any) {
	scenario.RegisterTasks(name, orchestrate)
	scenario.Register(name, []byte(`summary: "a probe"
nranks: 2
signals: 2
buffers:
  - {name: out, dtype: f32, shape: [4], placement: device, init: i + round}
tasks: {name: `+name+`, args: [out`+args+`]}
outputs:
  - {buffer: out, golden: i + round}
`))
}

func init() {
	registerTasks("probe_grows", ", 2 + 200*round", func(b *task.Builder, out *task.Tensor, members int) {
		b.Submit("none", func(*tl.PE) { startedKernels.Add(1) }, nil, task.Group(members))
	})
	registerTasks("probe_middle", ", 12/(round - 1)", func(b *task.Builder, out *task.Tensor, _ int) {
		b.Submit("none", func(*tl.PE) {}, nil)
	})
	registerTasks("probe_asks", "", func(b *task.Builder, out *task.Tensor) {
		b.Submit("poll", func(t *tl.PE) {
			for !t.Test(0, tl.EQ, 1) {
			}
		}, nil)
		b.Submit("notify", func(t *tl.PE) { t.Notify(1-t.Rank(), 0, tl.Set, 1) }, nil)
	})
	registerTasks("probe_decides", "", func(b *task.Builder, out *task.Tensor) {
		d := b.Domain("pair", 1, 0)
		box := d.Tensor("box", tl.F32, tl.Shape{1})
		move := func(add float64) task.ID {
			return b.Submit("move", func(t *tl.PE, x, y tl.Ptr) {
				v := t.Load(x, tl.Shape{1}, tl.F32).Add(add)
				t.Store(x, v)
				t.Put(1-t.Rank(), y, v)
				t.Notify(1-t.Rank(), 1, tl.Add, 1)
				t.WaitSignal(1, tl.GE, 1)
			}, task.Args{task.InOut("x", out.Rows(3, 1)), task.Out("y", box)})
		}
		id := move(5)
		if v := b.Value(id, out, 3); v < 8 || b.Value(id, box, 0) != v { // it was 3 + round
			panic(v)
		}
		b.Submit("back", func(t *tl.PE, x tl.Ptr) { t.Store(x, t.Load(x, tl.Shape{1}, tl.F32).Sub(5)) },
			task.Args{task.InOut("x", out.Rows(3, 1))}, task.After(id))
	})
	registerTasks("probe_late", "", func(b *task.Builder, out *task.Tensor) {
		if b.Rank() == 1 {
			for range 1 << 13 {
				b.Scope("nothing", nil) // spend some time
			}
		}
		b.Submit("none", func(*tl.PE) {}, nil)
		if b.Rank() == 1 {
			lastBuilt = time.Now()
		}
	})
}

// startedKernels counts the kernels of probe_grows that have started in this process.
var startedKernels atomic.Int64

// lastBuilt is the time at which the orchestration of rank 1 of probe_late last ended in
// this process.
var lastBuilt time.Time

// TestCheckLastRound checks that a run is refused before its first round if the runtime
// cannot run the tasks of its last round.
func TestCheckLastRound(t *testing.T) {
	for _, backend := range runner.Backends {
		o := runner.Options{Scenario: "probe_grows", Backend: backend, Runtime: task.AICPUBuildGraph}
		runRight(t, o)
		was := startedKernels.Load()
		o.Rounds = 3
		_, err := runner.Run(t.Context(), o)
		const want = "is a group of 402, and the rank has 128 compute cores"
		var input *runner.InputError
		if !errors.As(err, &input) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an InputError with %s", backend, err, want)
		}
		if n := startedKernels.Load() - was; n != 0 {
			t.Errorf("%s: %d kernels have started, want 0", backend, n)
		}
	}
}

// TestCores checks that tasks are refused if they need more compute cores than a simulated
// rank has. The configuration sets the number of cores of a rank; the default is the number
// of PEs of a SIP.
func TestCores(t *testing.T) {
	for _, tt := range []struct {
		preset string
		cores  int // compute_cores of the configuration
		has    int
	}{{"", 0, 128}, {"", 1, 1}, {"alpha_beta", 0, 1}} {
		config := *task.Default()
		config.Control.ComputeCores = tt.cores
		o := runner.Options{Scenario: "probe_grows", Backend: runner.Sim, Preset: tt.preset, Runtime: task.AICPUBuildGraph, Tasks: &config}
		o.Rounds = 2
		_, err := runner.Run(t.Context(), o)
		if want := fmt.Sprintf("and the rank has %d compute cores", tt.has); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("preset %q, %d cores: got %v, want %s", tt.preset, tt.cores, err, want)
		}
	}
}

// TestMiddleRound checks the error when an argument cannot be computed in the second of
// three rounds. Only the first and the last round are tried before a run.
func TestMiddleRound(t *testing.T) {
	for _, backend := range runner.Backends {
		o := runner.Options{Scenario: "probe_middle", Backend: backend, Runtime: task.AICPUBuildGraph}
		o.Rounds = 3
		_, err := runner.Run(t.Context(), o)
		if want := "division by zero"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", backend, err, want)
		}
	}
}

// TestPollingTask checks that a task can poll a signal in a loop. Meanwhile another task of
// the same rank must be able to run, because the peer waits for that task.
func TestPollingTask(t *testing.T) {
	for _, backend := range []string{runner.InProc, runner.SHM} {
		for _, name := range task.Runtimes {
			runRight(t, runner.Options{Scenario: "probe_asks", Backend: backend, Runtime: name})
		}
	}
}

// TestDynamicTasks checks the outputs of an orchestration that creates a domain and reads
// the values of some tasks before it submits others. It also checks that no orchestration
// still waits for values after the runs.
func TestDynamicTasks(t *testing.T) {
	for _, backend := range runner.Backends {
		for _, name := range task.Runtimes {
			runRight(t, runner.Options{Scenario: "probe_decides", Backend: backend, Runtime: name, Choice: scenario.Choice{Rounds: 2}})
		}
	}
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	if n := strings.Count(string(stacks), "task.(*Builder).pause("); n > 0 {
		t.Errorf("%d orchestrations still wait for values", n)
	}
}

// TestTimeOfTasks checks that the time in the result does not include the time that a rank
// waits for other ranks to start.
func TestTimeOfTasks(t *testing.T) {
	r := runRight(t, runner.Options{Scenario: "probe_late", Backend: runner.InProc, Runtime: task.AICPUBuildGraph})
	if most := time.Since(lastBuilt); r.TimeNS > float64(most.Nanoseconds()) {
		t.Errorf("tasks took %v ns, want at most %v ns, the time since the last rank started", r.TimeNS, most.Nanoseconds())
	}
}
