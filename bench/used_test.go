package bench

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/internal/hosted"
	"github.com/kernbench/kernbench/table"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// TestUsedTasks checks that the result of a run with tasks names the origin of each
// tasks.yaml once, after the line of ccl.yaml. The result of a run without tasks names
// none.
func TestUsedTasks(t *testing.T) {
	parse := func(file, text string) *task.Config {
		c, err := task.Parse(file, []byte("extends: default\n"+text))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	uses := func(list ...*task.Config) Bench {
		run := func(b *B) error {
			for _, c := range append(list, list...) {
				torch.Must(task.Run(b.Rank, task.Options{Runtime: task.AICPUBuildGraph, Devices: []int{0}, Config: c}, func(b *task.Builder) {
					b.Submit("nothing", func(*tl.PE) {}, nil)
				}))
			}
			if got := len(hosted.Scheduler(b.Context).Machine.Configs); got != len(list) {
				t.Errorf("the machine has %d configurations, want %d", got, len(list))
			}
			return nil
		}
		return Bench{Name: "uses", Run: func(b *B) error {
			torch.OK(b.Machine(b.Topology(), run))
			return run(b)
		}}
	}
	used := parse("tasks.yaml", "")
	changed := parse("tasks.yaml", "control: {core_switch: 0 ns}\n") // the file was edited
	renamed := parse("copy.yaml", "")
	tasks := new(topology.OriginOf(used))
	for _, tt := range []struct {
		bench      Bench
		want       *topology.Origin
		text, json string
	}{
		{uses(used), tasks, fmt.Sprintf("# ccl: c.yaml (hash 89ab)\n# tasks: %v\n# fidelity: train\n", *tasks), fmt.Sprintf(`"tasks":{"source":"tasks.yaml","hash":"%s"},"fidelity"`, used.Hash())},
		{uses(used, changed, renamed), tasks, fmt.Sprintf("# tasks: tasks.yaml (hash %[1]s)\n# tasks: tasks.yaml (hash %[2]s)\n# tasks: copy.yaml (hash %[1]s)\n# fidelity: train\n", used.Hash(), changed.Hash()),
			fmt.Sprintf(`},"tasks_also":[{"source":"tasks.yaml","hash":"%s"},{"source":"copy.yaml","hash":"%s"}],`, changed.Hash(), used.Hash())},
		{uses(), nil, "# ccl: c.yaml (hash 89ab)\n# fidelity: train\n", ""},
	} {
		r := execute(t, tt.bench, Options{})
		if diff := cmp.Diff(tt.want, r.Config.Tasks); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		r.Config.CCL = &topology.Origin{Source: "c.yaml", Hash: "89ab"}
		var text, json bytes.Buffer
		if err := r.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text.String(), tt.text) {
			t.Errorf("no lines %q in\n%s", tt.text, text.String())
		}
		if err := table.WriteJSON(&json, r); err != nil {
			t.Fatal(err)
		}
		flat := strings.Join(strings.Fields(json.String()), "")
		if tt.json == "" && strings.Contains(flat, `"tasks"`) || !strings.Contains(flat, tt.json) {
			t.Errorf("JSON: want %q for tasks in\n%s", tt.json, flat)
		}
	}
}
