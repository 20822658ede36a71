package builtin

import (
	"bytes"
	"testing"

	"github.com/kernbench/kernbench/scenario/runner"
	"github.com/kernbench/kernbench/task"
)

// withCores returns the default configuration of runtimes with n compute cores per rank; 0
// means all PEs of the rank.
func withCores(t testing.TB, n string) *task.Config {
	t.Helper()
	c, err := task.Load(t.Context(), "default", "control.compute_cores="+n)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestRuntimes checks the outputs of every scenario as tasks under every runtime, with one
// compute core per rank, with two and with all.
func TestRuntimes(t *testing.T) {
	for _, runtime := range task.Runtimes {
		for _, backend := range []string{runner.InProc, runner.Sim} {
			for _, o := range variants() {
				for i, ranks := range []int{1, 3, 4} {
					if !supportsRanks(o, ranks) {
						continue
					}
					o.Backend, o.Runtime, o.Ranks, o.Rounds = backend, runtime, ranks, 2
					o.Race = backend == runner.Sim
					if backend == runner.InProc {
						o.Rounds = 3
					}
					o.Tasks = withCores(t, []string{"2", "1", "0"}[i])
					runRight(t, o)
				}
			}
		}
	}
}

// TestOneCorePreset checks the outputs of every scenario as tasks on a preset whose ranks
// have only one PE.
func TestOneCorePreset(t *testing.T) {
	for _, runtime := range task.Runtimes {
		for _, o := range variants() {
			for _, ranks := range []int{2, 3, 8} {
				if supportsRanks(o, ranks) {
					o.Backend, o.Preset, o.Runtime, o.Ranks = runner.Sim, "alpha_beta", runtime, ranks
					runRight(t, o)
				}
			}
		}
	}
}

// TestSameBytesAsKernel checks that every scenario gives the same output bits when it runs
// as tasks and when it runs as a kernel. This must hold even where values are rounded, and
// also for task groups.
func TestSameBytesAsKernel(t *testing.T) {
	for _, o := range variants() {
		o.Backend, o.Ranks, o.Keep = runner.InProc, 3, t.TempDir()
		runRight(t, o)
		want := readFiles(t, o.Keep, "*.out.npy")
		if o.Scenario == "ffn_tp" || o.Scenario == "ep_dispatch_combine" {
			o.Params["group"] = "5"
		}
		o.Runtime, o.Keep = task.AICPUBuildGraph, t.TempDir()
		runRight(t, o)
		got := readFiles(t, o.Keep, "*.out.npy")
		if len(want) == 0 || len(got) != len(want) {
			t.Fatalf("%s: %d outputs of the kernel, %d of tasks", o.Scenario, len(want), len(got))
		}
		for file, bits := range want {
			if !bytes.Equal(got[file], bits) {
				t.Errorf("%s %v: %s differs: tasks %x, kernel %x", o.Scenario, o.Params, file, got[file], bits)
			}
		}
	}
}
