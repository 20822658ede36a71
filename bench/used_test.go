package bench

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/internal/report"
	"github.com/kernbench/kernbench/torch"
)

// TestUsedTasks: results of runs with tasks, and only those, say which tasks.yaml, after
// the line of ccl.yaml.
func TestUsedTasks(t *testing.T) {
	uses := func(kinds ...string) Bench {
		return Bench{Name: "uses", Run: func(ctx *torch.Context) error {
			for _, kind := range kinds {
				ctx.Uses(kind, kind+".yaml", "0123")
				ctx.Uses(kind, "another.yaml", "4567") // the first is what counts
			}
			return nil
		}}
	}
	tasks := &report.Used{Source: "tasks.yaml", Hash: "0123"}
	for _, tt := range []struct {
		bench      Bench
		want       *report.Used
		text, json string
	}{
		{uses("tasks"), tasks, "# ccl: c.yaml (hash 89ab)\n# tasks: tasks.yaml (hash 0123)\n# fidelity: train\n", `"tasks":{"source":"tasks.yaml","hash":"0123"}`},
		{uses("other", "tasks"), tasks, "# ccl: c.yaml (hash 89ab)\n# tasks: tasks.yaml (hash 0123)\n# fidelity: train\n", `"tasks":{"source":"tasks.yaml","hash":"0123"}`},
		{uses("other"), nil, "# ccl: c.yaml (hash 89ab)\n# fidelity: train\n", ""},
		{uses(), nil, "# ccl: c.yaml (hash 89ab)\n# fidelity: train\n", ""},
	} {
		r := execute(t, tt.bench, Options{})
		if diff := cmp.Diff(tt.want, r.Config.Tasks); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		r.Config.CCL = &report.Used{Source: "c.yaml", Hash: "89ab"}
		var text, json bytes.Buffer
		if err := r.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text.String(), tt.text) {
			t.Errorf("no lines %q in\n%s", tt.text, text.String())
		}
		if err := report.WriteJSON(&json, r); err != nil {
			t.Fatal(err)
		}
		flat := strings.Join(strings.Fields(json.String()), "")
		if tt.json == "" && strings.Contains(flat, `"tasks"`) || !strings.Contains(flat, tt.json) {
			t.Errorf("JSON: want %q for tasks in\n%s", tt.json, flat)
		}
	}
}
