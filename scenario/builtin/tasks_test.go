package builtin

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/scenario/runner"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
)

// loadPlan loads the scenario in o and plans it with the choice in o.
func loadPlan(t *testing.T, o runner.Options) *scenario.Plan {
	t.Helper()
	s, err := scenario.Load(t.Context(), o.Scenario)
	if err != nil {
		t.Fatal(err)
	}
	pl, err := s.Plan(t.Context(), o.Choice)
	if err != nil {
		t.Fatalf("%s, %d ranks, %v: %v", o.Scenario, o.Ranks, o.Params, err)
	}
	return pl
}

// buildProgram runs the orchestration of a rank for the first round and returns the
// submitted tasks. The orchestration gets nil for buffers that the rank does not have, so
// that it panics if it uses them.
func buildProgram(t *testing.T, pl *scenario.Plan, rank int) *task.Program {
	t.Helper()
	args, err := pl.TaskArgs(rank, 0, comm.Context{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := task.Build(t.Context(), rank, pl.Ranks, func(b *task.Builder) {
		in := []reflect.Value{reflect.ValueOf(b)}
		for _, a := range args {
			if buffer, ok := a.(*scenario.Buffer); ok {
				var x *task.Tensor
				if buffer.On(rank) {
					x = b.Declare(task.Tensor{Name: buffer.Name, DType: buffer.DType, Shape: tl.Shape(buffer.Shape), Window: buffer.Window >= 0, Source: buffer})
				}
				a = x
			}
			in = append(in, reflect.ValueOf(a))
		}
		reflect.ValueOf(pl.Tasks).Call(in)
	})
	if err != nil {
		t.Fatalf("%s, %d ranks: %v", pl.Name, pl.Ranks, err)
	}
	return p
}

// findConflict describes a conflict of tasks a and b: a region of a overlaps a region of b,
// and at least one of the two regions is written. It returns "" if there is no conflict.
func findConflict(a, b *task.Task) string {
	for _, x := range a.Args {
		for _, y := range b.Args {
			if x.Region.Tensor == nil || y.Region.Tensor == nil || x.Access == 0 || y.Access == 0 {
				continue
			}
			if (x.Access|y.Access)&task.Writes != 0 && x.Region.Overlaps(y.Region) {
				return fmt.Sprintf("%v and %v", x.Region, y.Region)
			}
		}
	}
	return ""
}

// TestEdges checks that, in every scenario, explicit edges order all conflicting tasks of a
// rank. Explicit edges are necessary, because one of the runtimes infers no edges.
// TestEdges also checks the order of barriers; see checkSignals.
func TestEdges(t *testing.T) {
	conflicts := 0
	for _, o := range variants() {
		for _, ranks := range []int{1, 2, 3, 5, 8} {
			if !supportsRanks(o, ranks) {
				continue
			}
			o.Ranks = ranks
			pl := loadPlan(t, o)
			for rank := range ranks {
				p := buildProgram(t, pl, rank)
				before := make([][]bool, len(p.Tasks)) // before[i][j]: edges order task j before task i, directly or through other tasks
				for i := range p.Tasks {
					before[i] = make([]bool, len(p.Tasks))
					for _, j := range p.Tasks[i].After {
						before[i][j] = true
						for k, earlier := range before[j] {
							before[i][k] = before[i][k] || earlier
						}
					}
					for j := range i {
						what := findConflict(&p.Tasks[j], &p.Tasks[i])
						if what == "" {
							continue
						}
						conflicts++
						if !before[i][j] {
							t.Errorf("%s %v, rank %d of %d: task %d (%s) and task %d (%s) conflict in %s, and no edges order them", o.Scenario, o.Params, rank, ranks, j, p.Tasks[j].Name, i, p.Tasks[i].Name, what)
						}
					}
				}
				checkSignals(t, fmt.Sprintf("%s %v, rank %d of %d", o.Scenario, o.Params, rank, ranks), p, before)
			}
		}
	}
	if conflicts < 100 {
		t.Errorf("%d conflicts, want 100 or more: the test compares too little", conflicts)
	}
}

// checkSignals checks the tasks of p that only wait and notify, such as barriers. Edges
// must order any two such tasks of the same domain. Edges must also order such a task and
// every task that accesses windows of its domain. before[i][j] says that edges order task j
// before task i.
func checkSignals(t *testing.T, where string, p *task.Program, before [][]bool) {
	t.Helper()
	for i := range p.Tasks {
		ranks, onlySignals := signalRanks(&p.Tasks[i])
		if !onlySignals {
			continue
		}
		for j := range p.Tasks {
			others, same := signalRanks(&p.Tasks[j])
			same = same && slices.Equal(ranks, others)
			for _, a := range p.Tasks[j].Args {
				same = same || a.Region.Tensor != nil && a.Region.Tensor.Window && slices.Equal(ranks, domainRanks(a.Region.Tensor))
			}
			if i != j && same && !before[i][j] && !before[j][i] {
				t.Errorf("%s: no edges order task %d (%s) and task %d (%s)", where, i, p.Tasks[i].Name, j, p.Tasks[j].Name)
			}
		}
	}
}

// signalRanks reports whether task x only waits and notifies, which means that it has no
// tensors. ranks is the domain of such a task; nil means all ranks.
func signalRanks(x *task.Task) (ranks []int, onlySignals bool) {
	for _, a := range x.Args {
		if a.Region.Tensor != nil {
			return nil, false
		}
		if list, ok := a.Value.([]int); ok {
			ranks = list
		}
	}
	return ranks, true
}

// domainRanks returns the ranks of the domain that tensor x belongs to; nil means all
// ranks.
func domainRanks(x *task.Tensor) []int {
	if d := x.Source.(*scenario.Buffer).Domain; d != nil {
		return d.Ranks
	}
	return nil
}

// TestScopes checks that the two phases of ffn_tp and of ep_dispatch_combine are scopes
// with the expected numbers of tasks. It also checks that task groups have the size that
// the parameter `group` sets.
func TestScopes(t *testing.T) {
	for _, tt := range []struct {
		scenario string
		params   map[string]string
		scopes   map[string]int // the number of tasks in each scope
		grouped  int            // the number of tasks with three PEs
	}{
		{"ffn_tp", map[string]string{"m": "40", "group": "3"}, map[string]int{"multiply": 3, "sum": 5}, 3},
		{"ep_dispatch_combine", map[string]string{"tokens": "6", "topk": "1", "experts": "1", "dim": "8", "group": "3"}, map[string]int{"dispatch": 4, "combine": 2}, 3},
	} {
		o := runner.Options{Scenario: tt.scenario}
		o.Params = tt.params
		p := buildProgram(t, loadPlan(t, o), 0)
		scopes, grouped := map[string]int{}, 0
		for i := range p.Tasks {
			scopes[p.Scopes[p.Tasks[i].Scope].Name]++
			if p.Tasks[i].Members == 3 {
				grouped++
			}
		}
		if !reflect.DeepEqual(scopes, tt.scopes) || grouped != tt.grouped {
			t.Errorf("%s: got scopes %v and %d groups of three, want %v and %d", tt.scenario, scopes, grouped, tt.scopes, tt.grouped)
		}
	}
}
