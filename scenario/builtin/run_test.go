package builtin

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/kernbench/kernbench/scenario/runner"
	"github.com/kernbench/kernbench/task"
)

// TestSimulated checks the outputs of every scenario on the simulated machine, and that
// there are no races.
func TestSimulated(t *testing.T) {
	for _, o := range variants() {
		for _, ranks := range []int{1, 2, 3, 4, 5, 8} {
			if !supportsRanks(o, ranks) {
				continue
			}
			o.Backend, o.Race, o.Ranks, o.Rounds = runner.Sim, true, ranks, 2
			runRight(t, o)
		}
	}
}

// TestManySimulated checks the outputs of every scenario on 17 to 64 simulated ranks.
func TestManySimulated(t *testing.T) {
	for _, o := range variants() {
		for _, ranks := range []int{17, 33, 64} {
			if supportsRanks(o, ranks) {
				o.Backend, o.Preset, o.Ranks = runner.Sim, "alpha_beta", ranks
				runRight(t, o)
			}
		}
	}
}

// TestReal checks the outputs of several rounds of every scenario, on goroutines and on
// processes, with random delays.
func TestReal(t *testing.T) {
	for backend, sizes := range map[string][]int{runner.InProc: {2, 3, 5}, runner.SHM: {1, 2, 3, 4, 5, 8}} {
		for _, o := range variants() {
			for _, ranks := range sizes {
				if supportsRanks(o, ranks) {
					o.Backend, o.Ranks, o.Rounds = backend, ranks, 3
					runRight(t, o)
				}
			}
		}
	}
}

// TestManyReal checks the outputs of every scenario with more ranks than most computers
// have cores, on goroutines and on processes.
func TestManyReal(t *testing.T) {
	for ranks, backend := range manyRanks {
		for _, o := range variants() {
			if supportsRanks(o, ranks) {
				o.Backend, o.Ranks = backend, ranks
				runRight(t, o)
			}
		}
	}
}

// TestAnyCount checks the outputs of kernels and tasks if the number of elements is 0, or
// is not a multiple of the number of ranks.
func TestAnyCount(t *testing.T) {
	for _, o := range variants() {
		switch o.Scenario {
		case "ep_dispatch_combine", "ffn_tp":
			continue
		}
		for _, count := range []string{"0", "1", "7", "4099"} {
			o.Backend, o.Race, o.Ranks = runner.Sim, true, 3
			o.Params = maps.Clone(o.Params)
			if o.Params == nil {
				o.Params = map[string]string{}
			}
			o.Params["count"] = count
			for _, o.Runtime = range []task.Runtime{"", task.AICPUBuildGraph} {
				if r := run(t, o); !r.OK {
					t.Errorf("%s, count %s, runtime %q: %v %v", o.Scenario, count, o.Runtime, r.Mismatches, r.Races)
				}
			}
		}
	}
}

// TestAnyRoot checks the outputs of treduce and broadcast with each rank as the root, as
// kernels and as tasks.
func TestAnyRoot(t *testing.T) {
	for _, name := range []string{"treduce", "broadcast"} {
		for _, backend := range runner.Backends {
			for root := range 5 {
				o := runner.Options{Scenario: name, Backend: backend}
				o.Ranks, o.Root = 5, &root
				for _, o.Runtime = range []task.Runtime{"", task.AICPUBuildGraph} {
					if r := runRight(t, o); r.Root != root {
						t.Errorf("%s: got root %d, want %d", name, r.Root, root)
					}
				}
			}
		}
	}
}

// TestSameBytes checks that every scenario has the same output bits on sim and on shm, even
// where values are rounded.
func TestSameBytes(t *testing.T) {
	for _, o := range variants() {
		outputs := map[string]map[string][]byte{}
		for _, backend := range []string{runner.Sim, runner.SHM} {
			o.Backend, o.Ranks, o.Keep = backend, 3, t.TempDir()
			runRight(t, o)
			outputs[backend] = readFiles(t, o.Keep, "*.out.npy")
		}
		if len(outputs[runner.Sim]) == 0 || len(outputs[runner.Sim]) != len(outputs[runner.SHM]) {
			t.Fatalf("%s: %d outputs simulated, %d real", o.Scenario, len(outputs[runner.Sim]), len(outputs[runner.SHM]))
		}
		for file, want := range outputs[runner.Sim] {
			if got := outputs[runner.SHM][file]; !bytes.Equal(got, want) {
				t.Errorf("%s: %s differs: real %x, simulated %x", o.Scenario, file, got, want)
			}
		}
	}
}

// readFiles returns the contents of the files of all rounds and ranks in folder dir whose
// names match `pattern`. The key is the path of the file in the folder.
func readFiles(t *testing.T, dir, pattern string) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "round*", "rank*", pattern))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel(dir, f)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = text
	}
	return all
}

// BenchmarkRun measures a whole run of all_reduce on each backend, from reading the
// scenario to comparing the outputs.
func BenchmarkRun(b *testing.B) {
	for _, backend := range runner.Backends {
		b.Run(backend, func(b *testing.B) {
			for b.Loop() {
				runRight(b, runner.Options{Scenario: "all_reduce", Backend: backend})
			}
		})
	}
}
