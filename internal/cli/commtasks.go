package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/internal/draw"
	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/scenario/runner"
	"github.com/kernbench/kernbench/task"
	taskchart "github.com/kernbench/kernbench/task/chart"
	"github.com/kernbench/kernbench/topology"
)

// taskFlags is how the tasks of a scenario are scheduled, and what is shown of it.
type taskFlags struct {
	configFlags // of tasks.yaml; of --set, those that are for it
	cmd         *cobra.Command
	runtime     *string
	gantt       bool
	svg         string // file of the picture
	skip        bool   // building, in both
}

// addTaskFlags gives a command the flags of task runtimes.
func addTaskFlags(cmd *cobra.Command) *taskFlags {
	f := &taskFlags{cmd: cmd, configFlags: configFlags{kinds: []*configKind{tasksKind}}}
	f.runtime = wordFlag(cmd, "runtime", "", "run the scenario as tasks, scheduled by this (default: its kernel, on each rank)", "", printable.Words(task.Runtimes))
	f.addFiles(cmd)
	cmd.Flags().BoolVar(&f.gantt, "gantt", false, "with --runtime on --backend sim: show who did what when; in json, as spans")
	cmd.Flags().StringVar(&f.svg, "gantt-svg", "", "the same as a picture, to `FILE`, which ends in .svg or .png")
	cmd.Flags().BoolVar(&f.skip, "gantt-skip-building", false, "begin both charts at the first dispatch and leave out the building before it")
	return f
}

// take keeps one of --set if it is for tasks.yaml.
func (f *taskFlags) take(set string) bool {
	if !strings.HasPrefix(set, tasksPrefix) {
		return false
	}
	f.sets = append(f.sets, set)
	return true
}

// onlyTasks refuses what is not for tasks.yaml.
func (f *taskFlags) onlyTasks() error {
	for _, set := range f.sets {
		if !strings.HasPrefix(set, tasksPrefix) {
			return fmt.Errorf("--set %s: parameters are those that the folder was prepared with: set them in comm prepare, and here %sKEY=VALUE alone", set, tasksPrefix)
		}
	}
	return nil
}

// read reads the flags of a run, those of its backend first, and checks its files.
func (f *taskFlags) read(o *runner.Options, backend func(*runner.Options) error, folder string) error {
	err := backend(o)
	if err == nil {
		err = f.readTasks(o)
	}
	if err != nil {
		return badInput(err)
	}
	return f.checkFiles(o, folder)
}

// readTasks checks the flags of tasks.
func (f *taskFlags) readTasks(o *runner.Options) error {
	if *f.runtime == "" {
		why := "is for runs of tasks: add --runtime " + strings.Join(printable.Words(task.Runtimes), "|")
		if err := refuseAll(f.cmd, why, "tasks", "gantt", "gantt-svg", "gantt-skip-building"); err != nil || len(f.sets) == 0 {
			return err
		}
		return fmt.Errorf("--set %s %s", f.sets[0], why)
	}
	if err := refuse(f.cmd,
		misuse{"gantt-svg", f.svg == "", "is empty: write the name of a file, or delete it"},
		misuse{"gantt-skip-building", f.skip && !f.gantt && f.svg == "", "changes charts: add --gantt or --gantt-svg FILE, or drop it"},
	); err != nil {
		return err
	}
	if err := draw.CheckName(f.svg); f.svg != "" && err != nil {
		return fmt.Errorf("--gantt-svg %w", err)
	}
	o.Runtime = task.Runtime(*f.runtime)
	if (f.gantt || f.svg != "") && o.Backend != runner.Sim {
		return errors.New("--gantt and --gantt-svg show simulated time: add --backend sim")
	}
	c, err := f.load(f.cmd.Context())
	if err == nil {
		o.Tasks = c.tasks.(*task.Config)
	}
	return err
}

// checkFiles checks the files of a run: its scenario, "" for that of the folder; its
// configurations; the folder of its values, "" if it has none; and the picture of its tasks.
func (f *taskFlags) checkFiles(o *runner.Options, folder string) error {
	var c configs
	// A pipe can be read once only, by the run. The run also reports errors.
	if info, err := os.Stat(o.Preset); err == nil && info.Mode().IsRegular() {
		if spec, err := topology.Load(f.cmd.Context(), o.Preset); err == nil {
			c.read = append(c.read, input{what: "topology", config: spec})
		}
	}
	if o.Tasks != nil {
		c.read = append(c.read, input{what: "tasks", config: o.Tasks})
	}
	return new(files).readsScenario(o.Scenario).readsConfigs(c).writesIn("the folder", folder, runner.FolderFiles...).writes("--gantt-svg", f.svg).check()
}

// report has a result told, with the charts that are wanted.
func (f *taskFlags) report(r *runner.Result, format string, tell func() error) error {
	if r == nil || r.Tasks == nil {
		return tell()
	}
	chart := taskchart.Gantt{
		Title: r.Scenario, Subtitle: fmt.Sprintf("%s on %s", printable.Count(r.Tasks.Tasks, "task"), printable.Count(r.Tasks.Ranks, "rank")),
		Runs: []*task.Result{r.Tasks}, SkipBuilding: f.skip,
	}
	if f.svg != "" {
		picture, err := chart.Encode(f.svg)
		if err == nil {
			err = file.Write(f.svg, picture)
		}
		if err != nil {
			return badInput(fmt.Errorf("--gantt-svg: %w", err))
		}
	}
	if !f.gantt {
		r.Tasks.Spans, r.Tasks.Control = nil, nil
	}
	told := tell()
	if !f.gantt || format == "json" {
		return told
	}
	out := f.cmd.OutOrStdout()
	fmt.Fprintln(out)
	return errors.Join(told, chart.Text(out, ganttColumns))
}

// ganttColumns is how wide a chart is.
const ganttColumns = 100

// taskLines tells people of a run of tasks.
func taskLines(r *runner.Result, line func(name, format string, args ...any)) {
	if r.Runtime == "" {
		return
	}
	t, last := r.Tasks, ""
	if r.Rounds > 1 && t != nil {
		last = "; in the last round:"
	}
	if t == nil {
		line("runtime", "%s", r.Runtime)
	} else {
		line("runtime", "%s, %s on %s", r.Runtime, printable.Count(t.Tasks, "task"), printable.Count(t.Ranks*t.Cores, "PE"))
	}
	line("tasks", "%v%s", r.Config, last)
	if t == nil {
		return
	}
	line("control", "building %s, dispatching %s, noticing %s", t.Build.Rounded(), t.Dispatch.Rounded(), t.Notice.Rounded())
	c := &t.Critical
	line("critical", "%s: building %s, stalled %s, waiting %s, scheduling %s, computing %s, communicating %s", printable.Count(c.Tasks, "task"),
		c.Build.Rounded(), c.Stall.Rounded(), c.Wait.Rounded(), c.Schedule.Rounded(), c.Compute.Rounded(), c.Communicate.Rounded())
	line("PE time", "computing %s, communicating %s, scheduling %s, idle %s", t.Compute.Rounded(), t.Communicate.Rounded(), t.Schedule.Rounded(), t.Idle.Rounded())
}
