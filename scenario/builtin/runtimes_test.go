package builtin

import (
	"bytes"
	"testing"

	"github.com/kernbench/kernbench/scenario/runner"
	"github.com/kernbench/kernbench/task"
)

// cores is the default configuration of tasks with so many compute cores.
func cores(t testing.TB, n string) *task.Config {
	t.Helper()
	c, err := task.Load(t.Context(), "default", "control.compute_cores="+n)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestRuntimes runs every scenario as a program of tasks under every runtime, on one
// compute core, on two, and on all there are.
func TestRuntimes(t *testing.T) {
	for _, runtime := range task.Runtimes {
		for _, backend := range []string{runner.InProc, runner.Sim} {
			for _, o := range variants() {
				for i, ranks := range []int{1, 3, 4} {
					if !defined(o, ranks) {
						continue
					}
					o.Backend, o.Runtime, o.Ranks, o.Rounds = backend, runtime, ranks, 2
					o.Race = backend == runner.Sim
					if backend == runner.InProc {
						o.Rounds = 3
					}
					o.Tasks = cores(t, []string{"2", "1", "0"}[i])
					right(t, o)
				}
			}
		}
	}
}

// TestOneCorePreset: the preset whose ranks have one PE.
func TestOneCorePreset(t *testing.T) {
	for _, runtime := range task.Runtimes {
		for _, o := range variants() {
			for _, ranks := range []int{2, 3, 8} {
				if defined(o, ranks) {
					o.Backend, o.Preset, o.Runtime, o.Ranks = runner.Sim, "alpha_beta", runtime, ranks
					right(t, o)
				}
			}
		}
	}
}

// TestSameBytesAsKernel: tasks and kernel end with the same bits, also where values have
// to be rounded, and with groups.
func TestSameBytesAsKernel(t *testing.T) {
	for _, o := range variants() {
		o.Backend, o.Ranks, o.Keep = runner.InProc, 3, t.TempDir()
		right(t, o)
		want := read(t, o.Keep, "*.out.npy")
		if o.Scenario == "ffn_tp" || o.Scenario == "ep_dispatch_combine" {
			o.Params["group"] = "5"
		}
		o.Runtime, o.Keep = task.AICPUBuildGraph, t.TempDir()
		right(t, o)
		got := read(t, o.Keep, "*.out.npy")
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
