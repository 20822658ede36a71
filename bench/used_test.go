package bench

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/table"
	"github.com/kernbench/kernbench/torch"
)

// TestUsedTasks: results of runs with tasks, and only those, say which tasks.yaml, after
// the line of ccl.yaml, and each of several once.
func TestUsedTasks(t *testing.T) {
	uses := func(list ...torch.Used) Bench {
		return Bench{Name: "uses", Run: func(ctx *torch.Context) error {
			for _, u := range append(list, list...) {
				ctx.Uses(u.Kind, u.Source, u.Hash)
			}
			return nil
		}}
	}
	tasks := &config.Used{Source: "tasks.yaml", Hash: "0123"}
	used := torch.Used{Kind: "tasks", Source: "tasks.yaml", Hash: "0123"}
	changed := torch.Used{Kind: "tasks", Source: "tasks.yaml", Hash: "4567"} // the file was edited
	renamed := torch.Used{Kind: "tasks", Source: "copy.yaml", Hash: "0123"}
	other := torch.Used{Kind: "other", Source: "other.yaml", Hash: "89ab"}
	for _, tt := range []struct {
		bench      Bench
		want       *config.Used
		text, json string
	}{
		{uses(used), tasks, "# ccl: c.yaml (hash 89ab)\n# tasks: tasks.yaml (hash 0123)\n# fidelity: train\n", `"tasks":{"source":"tasks.yaml","hash":"0123"},"fidelity"`},
		{uses(used, changed, renamed), tasks, "# tasks: tasks.yaml (hash 0123)\n# tasks: tasks.yaml (hash 4567)\n# tasks: copy.yaml (hash 0123)\n# fidelity: train\n",
			`"tasks":{"source":"tasks.yaml","hash":"0123"},"tasks_also":[{"source":"tasks.yaml","hash":"4567"},{"source":"copy.yaml","hash":"0123"}],`},
		{uses(other, used), tasks, "# ccl: c.yaml (hash 89ab)\n# tasks: tasks.yaml (hash 0123)\n# fidelity: train\n", `"tasks":{"source":"tasks.yaml","hash":"0123"},"fidelity"`},
		{uses(other), nil, "# ccl: c.yaml (hash 89ab)\n# fidelity: train\n", ""},
		{uses(), nil, "# ccl: c.yaml (hash 89ab)\n# fidelity: train\n", ""},
	} {
		r := execute(t, tt.bench, Options{})
		if diff := cmp.Diff(tt.want, r.Config.Tasks); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		r.Config.CCL = &config.Used{Source: "c.yaml", Hash: "89ab"}
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
