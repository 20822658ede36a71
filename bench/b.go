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

// report is a run and its result. B embeds it for a run on one machine, E for a run on many
// machines.
type report struct {
	Options Options // the options of the run

	bench  *Bench
	result *Result
}

// B is a run of a bench: the machine that it runs on, its parameters and its result. It
// corresponds to [testing.B].
type B struct {
	*torch.Rank // the host program on the machine
	report

	// checked and launched count the checks and launches of the machine that are already in
	// the result.
	checked, launched int
}

// Param returns the value of a parameter. It panics with a *torch.Error if the bench has
// not declared the parameter.
func (r *report) Param(name string) string {
	value, ok := r.Options.Params[name]
	if !ok {
		panic(misuse("Param", "%q is not declared: the parameters are %v", name, slices.Sorted(maps.Keys(r.Options.Params))))
	}
	return value
}

// Row adds a row to the table of the result. It panics with a *torch.Error if the type of
// the row is not that of [Bench.Row], or if a number in the row is not finite.
func (r *report) Row(row any) {
	r.result.Rows.Rows = append(r.result.Rows.Rows, cells("Row", r.bench.Row, row))
}

// Metrics sets the metrics of the result. It panics with a *torch.Error if the type of
// metrics is not that of [Bench.Metrics], if a number in metrics is not finite, or if
// Metrics is called twice.
func (r *report) Metrics(metrics any) {
	if len(r.result.Metrics) > 0 {
		panic(misuse("Metrics", "called twice: report all metrics at once"))
	}
	values := cells("Metrics", r.bench.Metrics, metrics)
	for i, c := range r.result.Schema["metrics"] {
		r.result.Metrics = append(r.result.Metrics, table.Member{Name: c.Name, Value: values[i]})
	}
}

// cells returns the cells of a row or of metrics. It panics with a *torch.Error unless
// `row` has the type of `declared` and all its numbers are finite. `op` is the name of the
// method that reports the row, "Row" or "Metrics".
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

// Notef adds a line of text to the result. The lines are printed before the table.
func (r *report) Notef(format string, args ...any) {
	r.result.Notes = append(r.result.Notes, fmt.Sprintf(format, args...))
}

// Artifact adds the name of a file to the list of written files in the result.
func (r *report) Artifact(file string) { r.result.Artifacts = append(r.result.Artifacts, file) }

// AddCheck adds to the result a check that the bench itself has made. In the result, the
// check comes after the checks that the machine has made so far. A run with a failed check
// fails.
func (b *B) AddCheck(check torch.Check) {
	b.collect() // checks of the machine come first
	b.report.AddCheck(check)
}

// AddCheck adds a check to the result. A run with a failed check fails.
func (r *report) AddCheck(check torch.Check) { r.result.Checks = append(r.result.Checks, check) }

// Found adds the times and races of a machine that the bench has run, now or in an earlier
// run. The critical path and the makespan of the result become the longest of all machines.
func (r *report) Found(crit, makespan torch.Time, races []string) {
	r.result.Crit, r.result.Makespan = max(r.result.Crit, crit), max(r.result.Makespan, makespan)
	r.result.Races = append(r.result.Races, races...)
}

// Machine runs a part of the bench on another machine, with the system g. The checks, races
// and launches of that machine are added to the result of the bench. The critical path and
// the makespan of the result are the longest of all machines. Machine returns an error if
// the options ask for an op log or a trace, because these cover only one machine.
func (b *B) Machine(g *topology.Graph, run func(on *B) error) error {
	const oneMachine = "%s needs one machine, and this bench creates others: choose parameters for a single row, and a system with as many SIPs as ranks"
	switch {
	case b.Options.KeepLog:
		return &ParamError{"log", fmt.Errorf(oneMachine, "an op log")}
	case b.Options.Trace != "":
		return &ParamError{"trace", fmt.Errorf(oneMachine, "a trace")}
	}
	b.collect()
	o := b.Options
	o.Topology = g
	c, err := torch.New(b.GoContext(), o.Options)
	if err != nil {
		return err
	}
	defer c.Close()
	return (&B{Rank: c.Main(), report: report{o, b.bench, b.result}}).runPart(run)
}

// collect adds to the result the checks and launches that the machine has made since the
// last call of collect, and the times of the machine.
func (b *B) collect() {
	r, checks, launches := b.result, b.Checks(), b.Launches()
	r.Crit, r.Makespan = max(r.Crit, b.Crit()), max(r.Makespan, b.Makespan())
	r.Checks = append(r.Checks, checks[b.checked:]...)
	r.Launches = append(r.Launches, launches[b.launched:]...)
	b.checked, b.launched = len(checks), len(launches)
}

// runPart calls run, which is a part of the bench, and waits for the machine. It then adds
// to the result everything that the machine measured.
func (b *B) runPart(run func(on *B) error) error {
	if err := run(b); err != nil {
		return err
	}
	if err := b.Synchronize(); err != nil { // waits for pending operations and returns errors that the bench ignored
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

// misuse returns the error for a bench that calls the function named `op` wrongly.
func misuse(op, format string, args ...any) error {
	return &torch.Error{Op: op, Err: fmt.Errorf(format, args...)}
}
