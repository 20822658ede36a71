package builtin

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/internal/draw"
	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/task/chart"
	"github.com/kernbench/kernbench/torch"
)

// taskParams returns the parameters of the task benches. count is the default number of
// tasks or tiles.
func taskParams(count string) []bench.Param {
	return []bench.Param{
		{Name: "runtime", Usage: "runtime that schedules the tasks", Default: "all", Values: append([]string{"all"}, printable.Words(task.Runtimes)...)},
		{Name: "count", Usage: "number of tasks or tiles", Default: count},
		{Name: "tile", Usage: "elements of a task", Default: "1024"},
		{Name: "gantt-svg", Usage: "draw a chart of all tasks over time to this file, .svg or .png", Output: true},
		// This parameter has no default, because it is no setting of the run.
		{Name: "gantt-skip-building", Usage: "on: start the chart at the first dispatch"},
	}
}

// taskMetrics are the metrics of a program of tasks: its sizes.
type taskMetrics struct {
	Tasks int `json:"tasks" table:",setting"`
	Cores int `json:"compute_cores" table:",setting"`
}

// taskSizes returns the values of the parameters count and tile: the number of tasks, which
// may be at most `most`, and the number of elements of a tile.
func taskSizes(b *bench.B, most int) (tasks, elems int) {
	return torch.Must(countParam(b, "count", most)), torch.Must(countParam(b, "tile", 1<<16))
}

// taskRow returns the row of a run, for benches whose rows have no columns of their own.
func taskRow(r *task.Result) any { return chart.NewRow(r) }

// runUnderEach calls `run` for each runtime that the parameters choose. For each run, it
// adds the row that `row` returns. If all runtimes are chosen, a runtime that cannot store
// the tasks is left out with a note. It draws all runs into one picture if the parameters
// ask for it.
func runUnderEach(b *bench.B, title string, run func(r task.Runtime) *task.Result, row func(*task.Result) any) error {
	picture, given := b.Param("gantt-svg"), b.Param("gantt-skip-building")
	skip := given == "on"
	switch {
	case !slices.Contains([]string{"", "off", "on"}, given):
		return &bench.ParamError{Name: "gantt-skip-building", Err: fmt.Errorf("%q: write on or off", given)}
	case skip && picture == "":
		return &bench.ParamError{Name: "gantt-skip-building", Err: errors.New("there is no picture: add --gantt-svg FILE, or drop it")}
	}
	if picture != "" {
		if err := draw.CheckName(picture); err != nil {
			return &bench.ParamError{Name: "gantt-svg", Err: err}
		}
	}
	var results []*task.Result
	for _, r := range task.Runtimes {
		if chosen := b.Param("runtime"); chosen != "all" && chosen != string(r) {
			continue
		}
		result, err := attempt(func() *task.Result { return run(r) })
		if large, ok := errors.AsType[*task.TooMany](err); ok && b.Param("runtime") == "all" {
			b.Notef("left out: %v", large)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", r, err)
		}
		b.Row(row(result))
		results = append(results, result)
	}
	sizes := taskMetrics{results[0].Tasks, results[0].Ranks * results[0].Cores}
	b.Metrics(sizes)
	if picture == "" {
		return nil
	}
	g := chart.Gantt{
		Title: title, Subtitle: fmt.Sprintf("%d tasks on %d compute cores", sizes.Tasks, sizes.Cores),
		Runs: results, SkipBuilding: skip,
	}
	if !skip {
		g.Subtitle += "; times from the start of building"
	}
	drawn, err := g.Encode(picture)
	if err == nil {
		err = file.Write(picture, drawn)
	}
	if err != nil {
		return &bench.ParamError{Name: "gantt-svg", Err: err}
	}
	b.Artifact(picture)
	return nil
}

// attempt calls f and returns its value. If f panics, for example in [torch.Must] or
// [torch.OK], attempt returns the panic as an error, to which the caller can add context.
func attempt[T any](f func() T) (value T, err error) {
	defer func() {
		if stopped := recover(); stopped != nil {
			err = torch.Recovered(stopped)
		}
	}()
	return f(), nil
}
