package cli

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/internal/draw"
	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/internal/setup"
	"github.com/kernbench/kernbench/scenario/runner"
	"github.com/kernbench/kernbench/task"
	taskchart "github.com/kernbench/kernbench/task/chart"
	"github.com/kernbench/kernbench/topology"
)

// addScenarioFlags adds to a command the flags that choose a scenario's ranks and
// parameters. The returned function stores the values of these flags in the options. If
// `tasks` is not nil, values of --set that begin with "tasks." are added to tasks.Sets.
func addScenarioFlags(cmd *cobra.Command, tasks *taskFlags) func(*runner.Options) error {
	var nranks, root, rounds int
	intFlag(cmd, &nranks, "nranks", 0, "number `N` of ranks (default: that of --devices, else of the scenario)")
	intFlag(cmd, &root, "root", 0, "`RANK` of the root (default: that of the scenario)")
	intFlag(cmd, &rounds, "rounds", 1, "number `N` of runs of the kernel, each with other inputs")
	devices := cmd.Flags().String("devices", "", "`LIST` of devices by rank, such as 0-3 or 0,2,5 (default: from 0)")
	oldFlag(cmd, "d", "devices")
	sets := cmd.Flags().StringArray("set", nil, "set a parameter of the scenario, `NAME=VALUE`, or with --runtime tasks.KEY=VALUE (repeatable)")
	return func(o *runner.Options) error {
		err := refuse(cmd,
			misuse{"nranks", nranks < 1, fmt.Sprintf("%d: write 1 to 64", nranks)},
			misuse{"rounds", rounds < 1, fmt.Sprintf("%d: write 1 or more", rounds)},
			misuse{"devices", *devices == "", "is empty: write a list such as 0-3 or 0,2,5"})
		if err != nil {
			return err
		}
		o.Ranks, o.Rounds, o.Devices = nranks, rounds, *devices
		if cmd.Flags().Changed("root") {
			o.Root = &root
		}
		o.Params = map[string]string{}
		for _, set := range *sets {
			if tasks != nil && strings.HasPrefix(set, setup.Tasks.Prefix) {
				tasks.Sets = append(tasks.Sets, set)
				continue
			}
			name, value, ok := strings.Cut(set, "=")
			if !ok || name == "" {
				return fmt.Errorf("--set %s: write NAME=VALUE", set)
			}
			if value == "" {
				return fmt.Errorf("--set %s: no value: write NAME=VALUE, or delete it for the scenario's own", set)
			}
			if _, twice := o.Params[name]; twice {
				return fmt.Errorf("--set %s: %s is set twice", set, name)
			}
			o.Params[name] = value
		}
		return nil
	}
}

// addBackendFlags adds to a command the flags that choose the backend and its machine. The
// returned function stores the values of these flags in the options.
func addBackendFlags(cmd *cobra.Command) func(*runner.Options) error {
	backend := choiceFlag(cmd, "backend", "kind of ranks: processes, goroutines or simulated", runner.Backends...)
	preset := cmd.Flags().StringP("topology", "t", "", "file or preset `NAME` of the machine for --backend sim, a2a3sim or a5sim (default: default)")
	complete(cmd, "topology", topology.Presets(), cobra.ShellCompDirectiveDefault)
	oldFlag(cmd, "preset", "topology")
	oldFlag(cmd, "p", "topology")
	check := choiceFlag(cmd, "check", "report unordered accesses, on --backend sim", "none", "race")
	seed, timeout := uint64(1), time.Duration(0)
	parseSeed := func(text string) (uint64, error) { return strconv.ParseUint(text, 10, 64) }
	timeoutFlag(cmd, &timeout)
	cmd.Flags().Var(value[uint64]{&seed, "int", parseSeed, "write a whole number, 0 or more"}, "seed", "seed `NUMBER` of the random delays of --rounds")
	return func(o *runner.Options) error {
		if err := refuse(cmd, misuse{"topology", *preset == "", "is empty: write a preset, a file, a2a3sim or a5sim, or delete it"}); err != nil {
			return err
		}
		o.Preset, o.Race = *preset, *check == "race"
		if cmd.Flags().Changed("backend") {
			o.Backend = *backend
		}
		if err := o.ResolvePlatform(); err != nil {
			return err
		}
		o.Timeout = timeout
		if cmd.Flags().Changed("seed") {
			o.Seed = &seed
		}
		return nil
	}
}

// timeoutFlag adds --timeout to a command. The flag sets *p; 0 means no timeout.
func timeoutFlag(cmd *cobra.Command, p *time.Duration) {
	parse := func(text string) (time.Duration, error) {
		d, err := time.ParseDuration(text)
		if d < 0 {
			err = errors.New("negative")
		}
		return d, err
	}
	cmd.Flags().Var(value[time.Duration]{p, "duration", parse, "write a time such as 30s"}, "timeout", "stop after this wall-clock `TIME` with exit status 3 (default: none)")
	cmd.Flags().Lookup("timeout").DefValue = "" // the usage text has the default
}

// taskFlags has the flags that choose how the tasks of a scenario are scheduled and which
// charts show the schedule.
type taskFlags struct {
	configFlags  // tasks.yaml and the values of --set for it
	cmd          *cobra.Command
	runtime      *string
	gantt        bool
	svg          string // file for the chart; "" for none
	skipBuilding bool   // start charts at the first dispatch
}

// addTaskFlags adds the flags of task runtimes to a command.
func addTaskFlags(cmd *cobra.Command) *taskFlags {
	f := &taskFlags{cmd: cmd, configFlags: configFlags{setup.Choice{Kinds: []*setup.Kind{setup.Tasks}}}}
	f.runtime = wordFlag(cmd, "runtime", "", "run the scenario as tasks under a `RUNTIME`: "+strings.Join(printable.Words(task.Runtimes), ", ")+" (default: run its kernel)", "", printable.Words(task.Runtimes))
	f.addFiles(cmd)
	cmd.Flags().BoolVar(&f.gantt, "gantt", false, "with --runtime on --backend sim: draw a chart of all tasks over time; spans in JSON")
	cmd.Flags().StringVar(&f.svg, "gantt-svg", "", "write the chart to `FILE`, .svg or .png")
	cmd.Flags().BoolVar(&f.skipBuilding, "gantt-skip-building", false, "start charts at the first dispatch")
	return f
}

// checkSets returns an error if --set was given with a key that does not begin with
// "tasks.".
func (f *taskFlags) checkSets() error {
	for _, set := range f.Sets {
		if !strings.HasPrefix(set, setup.Tasks.Prefix) {
			return fmt.Errorf("--set %s: parameters are those that the folder was prepared with: set them in comm prepare, and here %sKEY=VALUE alone", set, setup.Tasks.Prefix)
		}
	}
	return nil
}

// read stores the flags of the backend and of tasks in o. The function `backend` stores
// those of the backend. read also checks the files that the run uses; folder is the folder
// for values, or "" for none.
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

// readTasks checks the flags of tasks and stores them in o.
func (f *taskFlags) readTasks(o *runner.Options) error {
	if *f.runtime == "" {
		why := "is for runs of tasks: add --runtime " + strings.Join(printable.Words(task.Runtimes), "|")
		if err := refuseAll(f.cmd, why, "tasks", "gantt", "gantt-svg", "gantt-skip-building"); err != nil || len(f.Sets) == 0 {
			return err
		}
		return fmt.Errorf("--set %s %s", f.Sets[0], why)
	}
	if err := refuse(f.cmd,
		misuse{"gantt-svg", f.svg == "", "is empty: write the name of a file, or delete it"},
		misuse{"gantt-skip-building", f.skipBuilding && !f.gantt && f.svg == "", "changes charts: add --gantt or --gantt-svg FILE, or drop it"},
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
	c, err := f.Load(f.cmd.Context())
	if err == nil {
		o.Tasks = c.Tasks.(*task.Config)
	}
	return err
}

// checkFiles returns an error if a run would overwrite a file that it reads, or write one
// file twice. The run reads the scenario and the configurations. It writes values into the
// folder ("" for none), and the chart of the tasks. o.Scenario is "" if the scenario is in
// the folder.
func (f *taskFlags) checkFiles(o *runner.Options, folder string) error {
	use := scenarioUses(o.Scenario).WritesIn("the folder", folder, runner.FolderFiles...).Writes("--gantt-svg", f.svg)
	// A pipe can be read only once, so that it is left to the run. The run also reports the
	// errors that are ignored here.
	if info, err := os.Stat(o.Preset); err == nil && info.Mode().IsRegular() {
		if spec, err := topology.Load(f.cmd.Context(), o.Preset); err == nil {
			use.ReadsConfig("topology", spec)
		}
	}
	if o.Tasks != nil {
		use.ReadsConfig("tasks", o.Tasks)
	}
	return use.Check()
}

// report calls `print`, which prints r. If r has tasks, report also writes the charts that
// the flags ask for. Without --gantt, it removes the spans of the tasks from r before it
// calls `print`.
func (f *taskFlags) report(r *runner.Result, format string, print func() error) error {
	if r.Tasks == nil {
		return print()
	}
	chart := taskchart.Gantt{
		Title: r.Scenario, Subtitle: fmt.Sprintf("%s on %s", printable.Count(r.Tasks.Tasks, "task"), printable.Count(r.Tasks.Ranks, "rank")),
		Runs: []*task.Result{r.Tasks}, SkipBuilding: f.skipBuilding,
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
	err := print()
	if !f.gantt || format == "json" {
		return err
	}
	out := f.cmd.OutOrStdout()
	fmt.Fprintln(out)
	return errors.Join(err, chart.Text(out, ganttColumns))
}

// ganttColumns is the width of a chart in the output.
const ganttColumns = 100
