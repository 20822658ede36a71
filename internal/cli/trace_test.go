package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/internal/trace/analysis"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/topology"
)

// TestTracesOfRuns records traces of runs. It checks that the critical path of the program,
// and of every launch, takes exactly as long as the program or launch. It also checks that
// no latency on a path is longer than the topology allows.
func TestTracesOfRuns(t *testing.T) {
	small := []string{"sip.cube_mesh.w=2", "sip.cube_mesh.h=1"} // for runs that take long
	tests := []struct {
		command string
		sets    []string
	}{
		{"run hello_send", nil},
		{"run hello_send --fidelity=flit", small},
		{"run gemm_single_pe", nil},
		{"run matmul_composite", nil},
		{"run qkv_gemm", nil},
		{"run task_chain", small},
		{"run ccl_all_reduce --algo=halving_doubling_all_reduce", nil},
		{"run ccl_all_reduce --algo=ring_all_reduce_tcm", small},
		{"run ccl_all_reduce --algo=torus_all_reduce --elems=2048", append([]string{"pe.ipcq.n_slots=1"}, small...)}, // with waits for credits
		{"run attention_decode", nil},
		{"run transformer_block --tp=2", small},
	}
	kinds := map[string]bool{}
	for _, tt := range tests {
		t.Run(tt.command, func(t *testing.T) {
			spec, err := topology.Load(t.Context(), "default", tt.sets...)
			if err != nil {
				t.Fatal(err)
			}
			g, err := topology.Compile(spec)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "trace.json.gz")
			args := append(strings.Fields(tt.command), "--data=off", "--format=json", "--trace", file)
			for _, set := range tt.sets {
				args = append(args, "--set", set)
			}
			var result struct {
				Critical json.Number `json:"crit_ns"`
				Makespan json.Number `json:"makespan_ns"`
			}
			if err := json.Unmarshal([]byte(run(t, args...)), &result); err != nil {
				t.Fatal(err)
			}
			trace, err := analysis.Open(t.Context(), file)
			if err != nil {
				t.Fatal(err)
			}
			r, err := trace.Analyse(analysis.Whole, 1)
			if err != nil {
				t.Fatal(err)
			}
			if got := exactNS(r.Program.Makespan); got != string(result.Makespan) {
				t.Errorf("the program of the trace takes %s ns, and the run says %s", got, result.Makespan)
			}
			checkPath(t, g, "program", r.Program.Makespan, r.Path)
			steps := simtime.Time(0)
			for _, s := range r.Path.Steps {
				steps += s.For
			}
			if steps != r.Program.Makespan {
				t.Errorf("the steps take %v together, want %v", steps, r.Program.Makespan)
			}
			whole := r
			if r, err = trace.Analyse(r.Longest[0].Number, 0); err != nil {
				t.Fatal(err)
			}
			if got := exactNS(r.Launch.Critical); got != string(result.Critical) {
				t.Errorf("the longest launch of the trace takes %s ns, and the run says %s", got, result.Critical)
			}
			if int64(r.Slowest.Of) != r.Launch.PEs || r.Slowest.PE != r.Launch.Last || r.Slowest.Took != r.Launch.Critical {
				t.Errorf("got %s of %d, for %v, as the slowest PE, want %s of %d, for %v", r.Slowest.PE, r.Slowest.Of, r.Slowest.Took, r.Launch.Last, r.Launch.PEs, r.Launch.Critical)
			}
			for _, k := range whole.Path.Kinds {
				kinds[k.Kind] = true
			}
			for _, l := range trace.Launches() {
				path, err := trace.CriticalPath(l)
				if err != nil {
					t.Error(err)
					continue
				}
				checkPath(t, g, fmt.Sprintf("launch %d", l.Number), l.Critical, path)
				for _, k := range path.Kinds {
					kinds[k.Kind] = true
				}
			}
		})
	}
	for _, kind := range []string{"cpu", "dma send", "dma stream", "gemm", "copy", "copies", "commands", "control core", "task builder", "latency: issue", "latency: set-up", "latency: credit"} {
		if !kinds[kind] {
			t.Errorf("no path had any %s", kind)
		}
	}
}

// checkPath checks that the segments of path p follow each other without gaps, and that the
// sum of their times is `took`. It also checks that each latency is at most the result of
// longestLatency.
func checkPath(t *testing.T, g *topology.Graph, name string, took simtime.Time, p *analysis.Path) {
	t.Helper()
	at := simtime.Time(0)
	for i, s := range p.Segments {
		if s.At != at {
			t.Errorf("%s: a segment begins at %v, want %v, the end of the one before", name, s.At, at)
		}
		at += s.For
		if s.Count > 0 {
			continue
		}
		if most := longestLatency(t, g, p, i); s.For > most {
			t.Errorf("%s: %s of %v at %v on %s, want at most %v", name, s.Kind, s.For, s.At, s.Where, most)
		}
	}
	if at != took {
		t.Errorf("%s: the path takes %v, want %v", name, at, took)
	}
}

// longestLatency returns the largest value that the latency in segment i of path p can
// have. For issue, set-up, credits and the dispatch of tasks, this value follows from the
// topology and the costs of tasks. For other kinds it is 0.
func longestLatency(t *testing.T, g *topology.Graph, p *analysis.Path, i int) simtime.Time {
	t.Helper()
	pe := g.Spec().PE
	switch p.Segments[i].Kind {
	case "latency: issue":
		return pe.CPU.Clock.Cycles(pe.CPU.DispatchCycles) + pe.Scheduler.Overhead + pe.DMA.Setup
	case "latency: set-up":
		return pe.DMA.Setup
	case "latency: task":
		c := &task.Default().Control
		return c.ToCompute + c.CoreSwitch
	case "latency: credit":
		path, err := g.Route(nil, tcmOf(t, g, p.Segments[i-1].Where), tcmOf(t, g, p.Segments[i].Where))
		if err != nil {
			t.Fatal(err)
		}
		return g.Latency(path) + g.Bottleneck(path).Serialize(pe.IPCQ.CreditBytes)
	}
	return 0
}

// tcmOf returns the TCM of the PE with the given name.
func tcmOf(t *testing.T, g *topology.Graph, name string) topology.NodeID {
	t.Helper()
	var sip, cube, pe int
	if _, err := fmt.Sscanf(name, "sip%d.cube%d.pe%d", &sip, &cube, &pe); err != nil {
		t.Fatalf("%q is no PE: %v", name, err)
	}
	return g.PENode(sip, cube, pe, topology.KindTCM)
}

// TestTracePage checks that docs/use/traces.md shows the output of its commands.
func TestTracePage(t *testing.T) {
	page, err := filepath.Abs("../../docs/use/traces.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	run(t, "run", "hello_send", "--trace", "run.json")
	const begin = "```\n$ kernbench "
	blocks := strings.Split(string(text), begin)
	for i, block := range blocks[1:] {
		block, rest, _ := strings.Cut(block, "```\n")
		command, want, _ := strings.Cut(block, "\n")
		got := run(t, strings.Fields(command)...)
		if n := strings.Count(want, "\n") - 1; strings.HasSuffix(want, "...\n") && strings.Count(got, "\n") > n {
			got = strings.Join(strings.SplitAfter(got, "\n")[:n], "") + "...\n" // the page leaves out the rest
		}
		if got != want && !*update {
			t.Errorf("docs/use/traces.md: kernbench %s prints something else: run go test ./internal/cli -update (-page +now):\n%s", command, cmp.Diff(want, got))
		}
		blocks[i+1] = command + "\n" + got + "```\n" + rest
	}
	if len(blocks) < 5 {
		t.Errorf("docs/use/traces.md has %d examples, want at least 4", len(blocks)-1)
	}
	if *update {
		if err := os.WriteFile(page, []byte(strings.Join(blocks, begin)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
