package builtin

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/torch"
)

// column is a value of each row of a result.
func column(t *testing.T, r *bench.Result, name string) (values []torch.Time) {
	t.Helper()
	for _, row := range rowsOf(r) {
		values = append(values, value[torch.Time](t, row, name))
	}
	return values
}

func TestTaskChain(t *testing.T) {
	for _, count := range []string{"1", "16", "100"} {
		r := execute(t, "task_chain", bench.Options{Params: map[string]string{"count": count}})
		got, want := column(t, r, "makespan_ns"), column(t, r, "formula_ns")
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%s tasks under %s: makespan %v, want the formula's %v", count, task.Runtimes[i], got[i], want[i])
			}
		}
	}
}

// TestTaskChainStorage: a row has the formula if the runtime has a place for every task.
func TestTaskChainStorage(t *testing.T) {
	c, err := task.Load(t.Context(), "default", "host_build_graph.tasks=20", "aicpu_build_graph.tasks=18", "tensormap_and_ringbuffer.slots=17")
	if err != nil {
		t.Fatal(err)
	}
	for count, want := range map[string][]string{
		"17": {"host_build_graph", "aicpu_build_graph", "tensormap_and_ringbuffer"},
		"18": {"host_build_graph", "aicpu_build_graph", "tensormap_and_ringbuffer without"},
		"19": {"host_build_graph", "aicpu_build_graph without", "tensormap_and_ringbuffer without"},
		"21": {"aicpu_build_graph without", "tensormap_and_ringbuffer without"}, // the host has refused
	} {
		r := execute(t, "task_chain", bench.Options{Params: map[string]string{"count": count}, Options: torch.Options{NoData: true, Settings: []any{c}}})
		var got []string
		for _, row := range rowsOf(r) {
			name := row[0].Value.(string)
			if row.Get("formula_ns") == nil {
				name += " without"
			}
			got = append(got, name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s tasks: rows %q, want %q", count, got, want)
		}
	}
}

// TestTaskFanOutSums: sums are exact beyond 2²⁴, from where on f32 has no odd numbers.
func TestTaskFanOutSums(t *testing.T) {
	for _, p := range []map[string]string{
		{"count": "4900"},
		{"count": "10000", "tile": "1"},
		{"count": "260", "tile": "65536"},
	} {
		p["runtime"] = "aicpu_build_graph"
		if r := execute(t, "task_fanout", bench.Options{Params: p}); !r.OK || len(r.Checks) != 1 {
			t.Errorf("%v: %d checks, wrong values %q, want 1 and none", p, len(r.Checks), r.Wrong())
		}
	}
}

// TestTaskBenches holds what the benches are there to show: the host's building is the
// most of its time, on a chain nobody is disturbed by the orchestrator, a control core of
// its own reads ends sooner, and the orchestrator is what takes the time where tasks are
// short.
func TestTaskBenches(t *testing.T) {
	makespan := map[string][]torch.Time{}
	build := map[string][]torch.Time{}
	for _, name := range []string{"task_chain", "task_fanout", "task_stencil", "treduce_tasks"} {
		r := execute(t, name, bench.Options{})
		makespan[name], build[name] = column(t, r, "makespan_ns"), column(t, r, "build_ns")
		if host := build[name][0]; 2*host < makespan[name][0] {
			t.Errorf("%s: the host built for %v of %v, want most of it", name, host, makespan[name][0])
		}
	}
	if m := makespan["task_chain"]; m[2] >= m[1] {
		t.Errorf("task_chain: %v under %s and %v under %s, want less", m[2], task.Runtimes[2], m[1], task.Runtimes[1])
	}
	if m, b := makespan["task_stencil"][2], build["task_stencil"][2]; m-b > m/10 {
		t.Errorf("task_stencil under %s: built for %v of %v, want nearly all", task.Runtimes[2], b, m)
	}
}

func TestTaskBenchParams(t *testing.T) {
	file := filepath.Join(t.TempDir(), "chart.svg")
	r := execute(t, "task_fanout", bench.Options{Params: map[string]string{"runtime": "aicpu_build_graph", "count": "3", "gantt-svg": file}})
	if len(r.Rows.Rows) != 1 || len(r.Artifacts) != 1 || r.Artifacts[0] != file {
		t.Errorf("%d rows and the files %v, want 1 and %s", len(r.Rows.Rows), r.Artifacts, file)
	}
	picture, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(picture, []byte("<svg")) || !strings.Contains(string(picture), "aicpu_build_graph") {
		t.Errorf("the picture begins with %.60q and has aicpu_build_graph: %v", picture, strings.Contains(string(picture), "aicpu_build_graph"))
	}
	later := filepath.Join(t.TempDir(), "later.PNG")
	execute(t, "task_fanout", bench.Options{Params: map[string]string{"runtime": "host_build_graph", "count": "3", "gantt-svg": later, "gantt-skip-building": "on"}})
	if picture, err := os.ReadFile(later); err != nil || !bytes.HasPrefix(picture, []byte("\x89PNG")) {
		t.Errorf("the picture begins with %.10q (%v), want a PNG", picture, err)
	}
	for _, tt := range []struct{ name, value, want string }{
		{"count", "0", `--count: "0": write a whole number from 1 to `}, {"tile", "x", `--tile: "x": write a whole number from 1 to 65536`},
		{"gantt-svg", "/no/such/folder/x.svg", "--gantt-svg: "}, {"gantt-svg", "x.pdf", "--gantt-svg: x.pdf: pictures end in .svg or .png"},
		{"gantt-skip-building", "on", "--gantt-skip-building: there is no picture: add --gantt-svg FILE, or drop it"},
		{"gantt-skip-building", "yes", `--gantt-skip-building: "yes": write on or off`},
	} {
		b, _ := bench.Find("task_stencil")
		_, err := b.Execute(t.Context(), bench.Options{Params: map[string]string{tt.name: tt.value}})
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("--%s %s: %v, want a message that begins with %s", tt.name, tt.value, err, tt.want)
		}
	}
}
