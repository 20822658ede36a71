package bench

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/kernbench/kernbench/internal/hosted"
	"github.com/kernbench/kernbench/table"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// report is a run and its result, of one machine (B) or of many (E).
type report struct {
	Options Options // of the run

	bench  *Bench
	result *Result
}

// B is a run of a bench: the machine that it runs on, its parameters and its result, as
// [testing.B] is of a benchmark.
type B struct {
	*torch.Rank // the program, with the machine
	report

	// checked and launched count the checks and launches of the machine that the result has.
	checked, launched int
}

// Param returns the value of a parameter. It panics with a *torch.Error if the bench has not
// declared it.
func (r *report) Param(name string) string {
	value, ok := r.Options.Params[name]
	if !ok {
		panic(misuse("Param", "%q is not declared: the parameters are %v", name, slices.Sorted(maps.Keys(r.Options.Params))))
	}
	return value
}

// Row adds a row to the table of the result. It panics with a *torch.Error if the row is not
// of the type of [Bench.Row], or a number in it is not finite.
func (r *report) Row(row any) {
	r.result.Rows.Rows = append(r.result.Rows.Rows, cells("Row", r.bench.Row, row))
}

// Metrics sets the metrics of the result. It panics with a *torch.Error if they are not of
// the type of [Bench.Metrics], a number in them is not finite, or it is called twice.
func (r *report) Metrics(metrics any) {
	if len(r.result.Metrics) > 0 {
		panic(misuse("Metrics", "called twice: report all metrics at once"))
	}
	values := cells("Metrics", r.bench.Metrics, metrics)
	for i, c := range r.result.Schema["metrics"] {
		r.result.Metrics = append(r.result.Metrics, table.Member{Name: c.Name, Value: values[i]})
	}
}

// cells returns the cells of a row or of metrics, which has to be of the declared type.
func cells(op string, declared, row any) []any {
	if reflect.TypeOf(row) != reflect.TypeOf(declared) {
		panic(misuse(op, "a %T is reported, and Bench.%s declares %T: make them one type", row, op, declared))
	}
	list, err := table.Cells(row)
	if err != nil {
		panic(misuse(op, "%w", err))
	}
	return list
}

// Notef adds a line of text to the result, before the table.
func (r *report) Notef(format string, args ...any) {
	r.result.Notes = append(r.result.Notes, fmt.Sprintf(format, args...))
}

// Artifact adds a file that the bench has written to the result.
func (r *report) Artifact(file string) { r.result.Artifacts = append(r.result.Artifacts, file) }

// AddCheck adds a check that the bench has made itself: a bench with a wrong one fails.
func (b *B) AddCheck(check torch.Check) {
	b.collect() // those of the machine come first
	b.report.AddCheck(check)
}

// AddCheck adds a check to the result: a run with a wrong one fails.
func (r *report) AddCheck(check torch.Check) { r.result.Checks = append(r.result.Checks, check) }

// Found adds the critical path, the makespan and the races of a machine that the bench has run
// apart from its own, now or in an earlier run.
func (r *report) Found(crit, makespan torch.Time, races []string) {
	r.result.Crit, r.result.Makespan = max(r.result.Crit, crit), max(r.result.Makespan, makespan)
	r.result.Races = append(r.result.Races, races...)
}

// Machine runs a part of the bench on a machine of another system. Times, checks, races and
// launches of it are those of the bench: its critical path and its makespan are the longest of
// all machines. An op log and a trace are of one machine, so that
// options which ask for one are refused.
func (b *B) Machine(g *topology.Graph, run func(on *B) error) error {
	const alone = "%s is of one machine, and this bench makes others: choose parameters for one row alone, and a system with as many SIPs as it has ranks"
	switch {
	case b.Options.KeepLog:
		return &ParamError{"log", fmt.Errorf(alone, "an op log")}
	case b.Options.Trace != "":
		return &ParamError{"trace", fmt.Errorf(alone, "a trace")}
	}
	b.collect()
	o := b.Options
	o.Topology = g
	c, err := torch.New(b.GoContext(), o.Options)
	if err != nil {
		return err
	}
	defer c.Close()
	return (&B{Rank: c.Main(), report: report{o, b.bench, b.result}}).do(run)
}

// collect adds what the machine has found out since the last call to the result.
func (b *B) collect() {
	r, checks, launches := b.result, b.Checks(), b.Launches()
	r.Crit, r.Makespan = max(r.Crit, b.Crit()), max(r.Makespan, b.Makespan())
	r.Checks = append(r.Checks, checks[b.checked:]...)
	r.Launches = append(r.Launches, launches[b.launched:]...)
	b.checked, b.launched = len(checks), len(launches)
}

// do calls a part of the bench, waits for the machine and adds all that it has found out to the result.
func (b *B) do(run func(on *B) error) error {
	if err := run(b); err != nil {
		return err
	}
	if err := b.Synchronize(); err != nil { // what the bench has not waited for, or errors it overlooked
		return err
	}
	b.collect()
	r := b.result
	if dist.Collectives(b.Context) > 0 {
		r.Config.CCL = new(topology.OriginOf(b.CCL()))
	}
	for _, used := range hosted.Scheduler(b.Context).Machine.Configs {
		switch {
		case r.Config.Tasks == nil:
			r.Config.Tasks = &used
		case used != *r.Config.Tasks && !slices.Contains(r.Config.TasksAlso, used):
			r.Config.TasksAlso = append(r.Config.TasksAlso, used)
		}
	}
	if !b.Options.Race {
		return nil
	}
	races, err := b.Races()
	r.Races = append(r.Races, races...)
	return err
}

func misuse(op, format string, args ...any) error {
	return &torch.Error{Op: op, Err: fmt.Errorf(format, args...)}
}
