package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/bench"
)

const (
	collectiveBenches = "benches that do: ccl_all_reduce, center_root_buffers, coll, data_parallel, milestone-1h-ccl, tp_mlp, transformer_block"
	taskBenches       = "benches that do: task_chain, task_fanout, task_stencil, treduce_tasks"
)

// TestNoEffect checks that run and sweep refuse settings that the bench does not read. The
// error lists the benches that read the setting. Files that are used by default, such as
// ./ccl.yaml, are not refused.
func TestNoEffect(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"ccl.yaml": "extends: default\n", "tasks.yaml": "extends: default\n",
		"flags.yaml": "bench: hello_send\n",
		"file.yaml":  "bench: hello_send\nccl: default\nset: [tasks.control.register_read=50ns]\ngrid:\n  - {key: ccl.defaults.n_slots, values: [2, 4]}\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ line, want string }{
		{"run hello_send --ccl ccl.yaml", "kernbench: --ccl ccl.yaml has no effect: hello_send does no collectives: leave it out; " + collectiveBenches + "\n"},
		{"run pe2pe --set ccl.defaults.n_slots=2", "kernbench: --set ccl.defaults.n_slots=2 has no effect: pe2pe does no collectives: leave it out; " + collectiveBenches + "\n"},
		{"run task_chain --ccl default", "kernbench: --ccl default has no effect: task_chain does no collectives: leave it out; " + collectiveBenches + "\n"},
		{"run data_parallel --tasks tasks.yaml", "kernbench: --tasks tasks.yaml has no effect: data_parallel runs no tasks: leave it out; " + taskBenches + "\n"},
		{"run milestone-1h-gemm --set tasks.control.register_read=50ns", "kernbench: --set tasks.control.register_read=50ns has no effect: milestone-1h-gemm runs no tasks: leave it out; " + taskBenches + "\n"},
		{"sweep flags.yaml --ccl default", "kernbench: --ccl default has no effect: hello_send does no collectives: leave it out; " + collectiveBenches + "\n"},
		{"sweep file.yaml", "file.yaml:2:6: ccl: default has no effect: hello_send does no collectives: leave it out; " + collectiveBenches + "\n    2 | ccl: default\n      |      ^\n" +
			"file.yaml:3:7: set[0]: tasks.control.register_read=50ns has no effect: hello_send runs no tasks: leave it out; " + taskBenches + "\n    3 | set: [tasks.control.register_read=50ns]\n      |       ^\n" +
			"file.yaml:5:11: grid[0].key: ccl.defaults.n_slots has no effect: hello_send does no collectives: leave it out; " + collectiveBenches + "\n    5 |   - {key: ccl.defaults.n_slots, values: [2, 4]}\n      |           ^\n"},
	} {
		if code, stdout, stderr := command(t.Context(), strings.Fields(tt.line)...); code != exitUsage || stderr != tt.want || stdout != "" {
			t.Errorf("%s: exit status %d and\n%swant %d and\n%s", tt.line, code, stderr, exitUsage, tt.want)
		}
	}
	run(t, "run", "hello_send", "--data=off")
	run(t, "sweep", "flags.yaml")
}

// TestUses checks that every built-in bench declares which configurations it uses, and uses
// exactly those. It does not run benches that take long.
func TestUses(t *testing.T) {
	small := map[string]map[string]string{
		"tp_mlp":            {"tp": "2", "tokens": "16", "hidden": "64", "ffn": "256"},
		"transformer_block": {"tp": "2", "tokens": "16", "shape": "tiny"},
	}
	for _, b := range bench.All() {
		if b.Name == "one-task" {
			continue
		}
		if b.Uses == 0 {
			t.Errorf("%s does not say what it uses", b.Name)
		}
		if b.Folder != "" || b.Name == "ccl_all_reduce" && testing.Short() {
			continue // takes longer
		}
		o := bench.Options{}
		o.NoData, o.Params = true, small[b.Name]
		r, err := b.Execute(t.Context(), o)
		if err != nil {
			t.Errorf("%s: %v", b.Name, err)
			continue
		}
		if got, want := r.Config.CCL != nil, b.Uses&bench.UsesCollectives != 0; got != want {
			t.Errorf("%s did collectives: %v, but says %v", b.Name, got, want)
		}
		if got, want := r.Config.Tasks != nil, b.Uses&bench.UsesTasks != 0; got != want {
			t.Errorf("%s ran tasks: %v, but says %v", b.Name, got, want)
		}
	}
}
