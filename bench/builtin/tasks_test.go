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

// column returns the values in the column `name` of the result.
func column(t *testing.T, r *bench.Result, name string) (values []torch.Time) {
	t.Helper()
	for _, row := range rowsOf(r) {
		values = append(values, value[torch.Time](t, row, name))
	}
	return values
}

// TestTaskChain checks that the makespan of a chain equals the closed form.
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

// TestTaskChainStorage checks that a row has the formula only if the runtime can store all
// tasks.
func TestTaskChainStorage(t *testing.T) {
	c, err := task.Load(t.Context(), "default", "host_build_graph.tasks=20", "aicpu_build_graph.tasks=18", "tensormap_and_ringbuffer.slots=17")
	if err != nil {
		t.Fatal(err)
	}
	for count, want := range map[string][]string{
		"17": {"host_build_graph", "aicpu_build_graph", "tensormap_and_ringbuffer"},
		"18": {"host_build_graph", "aicpu_build_graph", "tensormap_and_ringbuffer without"},
		"19": {"host_build_graph", "aicpu_build_graph without", "tensormap_and_ringbuffer without"},
		"21": {"aicpu_build_graph without", "tensormap_and_ringbuffer without"}, // host_build_graph cannot store 21 tasks
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

// TestTaskFanOutSums checks that sums are exact above 2²⁴, where f32 cannot represent odd
// numbers.
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

// TestTaskBenches checks what the benches demonstrate. Under host_build_graph, most of the
// time is building. On a chain, tensormap_and_ringbuffer is faster than aicpu_build_graph,
// because its orchestrator does not delay the reading of completions. Where tasks are
// short, the orchestrator of tensormap_and_ringbuffer takes nearly all the time.
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

// TestTaskBenchParams checks the pictures of runs that the parameters ask for, and the
// error messages for invalid parameters.
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
