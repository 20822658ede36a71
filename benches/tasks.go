package benches

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/internal/draw"
	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/task/chart"
	"github.com/kernbench/kernbench/torch"
)

// taskParams is the parameters of benches of tasks: how many, and what all have.
func taskParams(count string) []bench.Param {
	return []bench.Param{
		{Name: "runtime", Usage: "who schedules the tasks", Default: "all", Values: append([]string{"all"}, task.RuntimeNames()...)},
		{Name: "count", Usage: "how many tasks, or tiles", Default: count},
		{Name: "tile", Usage: "elements that a task works on", Default: "1024"},
		{Name: "gantt-svg", Usage: "draw who did what when to this file, which ends in .svg or .png", Output: true},
		// Without a default, since it is no setting of the run.
		{Name: "gantt-skip-building", Usage: "on: begin that picture at the first dispatch"},
	}
}

// taskSizes is the parameters count and tile.
func taskSizes(ctx *torch.Context, most int) (count, elems int, err error) {
	read := func(name string, most int) (n int) {
		n, wrong := strconv.Atoi(ctx.Param(name))
		if err == nil && (wrong != nil || n < 1 || n > most) {
			err = &bench.ParamError{Name: name, Err: fmt.Errorf("%q: write a whole number from 1 to %d", ctx.Param(name), most)}
		}
		return n
	}
	return read("count", most), read("tile", 1<<16), err
}

// underEach runs a program under each of the runtimes that were asked for. A run has a row
// of the table, with columns of its own before and behind, and panels of the picture.
func underEach(ctx *torch.Context, title string, run func(r task.Runtime) (*task.Result, error), columns func(*task.Result) []torch.Metric) error {
	picture, given := ctx.Param("gantt-svg"), ctx.Param("gantt-skip-building")
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
		if chosen := ctx.Param("runtime"); chosen != "all" && chosen != string(r) {
			continue
		}
		result, err := run(r)
		var large *task.TooMany
		if errors.As(err, &large) && ctx.Param("runtime") == "all" {
			ctx.Notef("left out: %v", large)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", r, err)
		}
		row := chart.Row(result)
		if columns != nil {
			row = append(row, columns(result)...)
		}
		ctx.Row(row...)
		results = append(results, result)
	}
	ctx.Metric("tasks", results[0].Tasks)
	ctx.Metric("compute_cores", results[0].Ranks*results[0].Cores)
	if picture == "" {
		return nil
	}
	g := chart.Gantt{
		Title: title, Subtitle: fmt.Sprintf("%d tasks on %d compute cores", results[0].Tasks, results[0].Ranks*results[0].Cores),
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
	ctx.Artifact(picture)
	return nil
}
