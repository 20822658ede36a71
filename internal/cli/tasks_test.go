package cli

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/internal/setup"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

type taskMetrics struct {
	Makespan torch.Time `json:"tasks_ns" table:"ns,lower"`
}

// registerTask registers a bench that runs one task and reports the makespan.
var registerTask = sync.OnceFunc(func() {
	bench.Register(bench.Bench{Name: "one-task", Summary: "runs a task", Metrics: taskMetrics{}, Run: func(on *bench.B) error {
		r, err := task.Run(on.Rank, task.Options{Runtime: task.AICPUBuildGraph, Devices: []int{0}}, func(b *task.Builder) {
			b.Submit("nothing", func(*tl.PE) {}, nil)
		})
		if err == nil {
			on.Metrics(taskMetrics{r.Makespan})
		}
		return err
	}})
})

// TestRunTasks checks that --tasks, --set and ./tasks.yaml determine the makespan of a
// bench with one task, and that the result names the configuration. By default, submitting
// the task takes 300 ns, posting it 5 ns, the way to the compute core 140 ns, starting it
// 800 ns, and reading that it has ended 100 ns.
func TestRunTasks(t *testing.T) {
	registerTask()
	t.Chdir(t.TempDir())
	const hash, makespan = "(hash ", "tasks_ns"
	for _, tt := range []struct {
		file   string // content of ./tasks.yaml; "": not written
		args   []string
		source string
		want   string
	}{
		{"", nil, "preset default", "1345"},
		{"", []string{"--set", "tasks.control.register_read=50ns"}, "preset default, --set control.register_read=50ns", "1295"},
		{"extends: default\ncontrol: {core_switch: 0 ns}\n", nil, "tasks.yaml", "545"},
		{"extends: default\ncontrol: {core_switch: 0 ns}\n", []string{"--tasks", "default"}, "preset default", "1345"},
		{"extends: default\n", []string{"--tasks", "tasks.yaml", "--set", "tasks.aicpu_build_graph.per_task=0ns"},
			"tasks.yaml, --set aicpu_build_graph.per_task=0ns", "1045"},
	} {
		if tt.file != "" {
			if err := os.WriteFile(task.File, []byte(tt.file), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		out := run(t, append([]string{"run", "one-task"}, tt.args...)...)
		if want := "# tasks: " + tt.source + " " + hash; !strings.Contains(out, want) {
			t.Errorf("%v: no line %q in\n%s", tt.args, want, out)
		}
		_, after, _ := strings.Cut(out, makespan)
		if got := strings.Fields(after + " -")[0]; got != tt.want {
			t.Errorf("%v: %s is %s, want %s", tt.args, makespan, got, tt.want)
		}
	}
}

// TestSetKeysOfTasks checks that the shell completes the keys of tasks.yaml.
func TestSetKeysOfTasks(t *testing.T) {
	var got []string
	for line := range strings.Lines(run(t, "__complete", "run", "--set", setup.Tasks.Prefix)) {
		if key, ok := strings.CutPrefix(line, setup.Tasks.Prefix); ok {
			got = append(got, strings.TrimSuffix(key, "=\n"))
		}
	}
	want := strings.Fields(`
		control.register_read control.posted_write control.to_compute control.core_switch control.compute_cores
		host_build_graph.fixed host_build_graph.per_task host_build_graph.tasks
		aicpu_build_graph.per_task aicpu_build_graph.per_edge aicpu_build_graph.tasks
		tensormap_and_ringbuffer.per_task tensormap_and_ringbuffer.per_edge tensormap_and_ringbuffer.per_tensor
		tensormap_and_ringbuffer.slots tensormap_and_ringbuffer.rings tensormap_and_ringbuffer.schedulers`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

// TestTasksOutputFails checks that the tasks commands fail if their output cannot be
// written.
func TestTasksOutputFails(t *testing.T) {
	for _, args := range [][]string{{"tasks", "show"}, {"tasks", "show", "--format", "yaml"}, {"tasks", "schema"}} {
		var errs bytes.Buffer
		if code := Run(t.Context(), args, failing{os.ErrClosed}, &errs); code != exitFailed {
			t.Errorf("%v: exit status %d, want %d\n%s", args, code, exitFailed, errs.String())
		}
	}
}

// TestHadNoEffect checks that a bench that does not declare what it uses accepts all
// settings, and that a run reports the settings that had no effect.
func TestHadNoEffect(t *testing.T) {
	registerTask()
	code, _, stderr := command(t.Context(), "run", "one-task", "--ccl", "default", "--set", "tasks.control.register_read=50ns")
	if want := "kernbench: --ccl default had no effect: this run of one-task did no collective\n"; code != exitOK || stderr != want {
		t.Errorf("exit status %d and %q, want %d and %q", code, stderr, exitOK, want)
	}
}
