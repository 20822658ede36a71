package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/progress"
	"github.com/kernbench/kernbench/scenario"
	_ "github.com/kernbench/kernbench/scenario/builtin" // registers the built-in scenarios
	"github.com/kernbench/kernbench/scenario/runner"
)

func commCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "comm",
		Short: "Run kernels on processes, goroutines or simulated devices",
		Long: `Comm runs distributed scenarios. A scenario runs a kernel of the tile language
on several ranks, which share windows of memory and communicate with Put, Get,
Notify and WaitSignal. Ranks are processes (--backend shm), goroutines (inproc)
or SIPs of a simulated machine (sim). All outputs are compared with golden
values.

A scenario is a YAML file. The command comm list shows the built-in scenarios.
The command comm show --source prints one to copy. docs/write/scenarios.md
describes the format.`,
		Example: `  kernbench comm list
  kernbench comm run all_reduce --nranks 4
  kernbench comm show ep_dispatch_combine`,
	}
	makeParent(cmd)
	cmd.AddCommand(commListCmd(), commRunCmd(), commShowCmd(), commPrepareCmd(), commExecuteCmd(), commVerifyCmd())
	return cmd
}

func commRunCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run SCENARIO",
		Short: "Run a scenario and compare its values",
		Long: `Run runs a scenario and compares every output of every rank and round with
golden values. SCENARIO is a file, or a name that comm list shows. Bad input is
refused before a rank starts.

--rounds runs the kernel several times in the same ranks. Random delays between
rounds (--seed) reveal missing waits.

--devices names the device of each rank and so sets the number of ranks;
--nranks must agree. With shm each rank is bound to the core with the number of
its device, if the process may use all these cores. The output names the cores,
or says why no rank is bound. With sim devices are SIPs of the machine. The
presets default and alpha_beta grow to the number of ranks. a2a3sim is another
name of default, and a5sim of alpha_beta; both select --backend sim and do not
have the numbers of real machines.

--check race reports the races of this run: unordered accesses of different PEs
to the same bytes. It treats rounds as ordered, which real ranks do not
guarantee. It does not see Go variables that kernels share.

--runtime runs the scenario as a program of tasks: the program that the key
tasks of its file names, else its kernel as a single task. Runtimes differ in
where the task graph is built and scheduled and in what this costs (kernbench
tasks show), but not in the values.

The commands comm prepare, comm execute and comm verify do the work of comm run
in three steps.

Wrong values are reported by rank, round and span of elements, with the worst
element of each span.

--format json prints an object with the keys ok, scenario, backend, nranks, root
(-1: none), rounds, devices, binding, params, system, runtime, tasks_config,
tasks, time_ns (how long the slowest rank ran kernels, including random delays;
with --runtime, the time to the end of the last task), staging_ns (copying
staged buffers into windows), compared, wrong, spans, mismatches (the first 100
spans) and races.`,
		Example: `  kernbench comm run all_reduce --set mode=ring --nranks 5
  kernbench comm run treduce --root 2 --rounds 100
  kernbench comm run ffn_tp --backend sim -t alpha_beta --format json
  kernbench comm run my-scenario.yaml -t a2a3sim --devices 0-1
  kernbench comm run all_gather --backend sim --runtime host_build_graph --gantt
  kernbench comm run broadcast --keep out`,
		Args:              oneScenario,
		ValidArgsFunction: completeScenario,
	}
	tasks := addTaskFlags(cmd)
	options := addScenarioFlags(cmd, tasks)
	run := addBackendFlags(cmd)
	keep := cmd.Flags().String("keep", "", "write inputs, outputs and golden values to `DIR` as .npy files; it must be new or empty")
	format := formatFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		resolveScenario(cmd, args)
		o := runner.Options{Scenario: args[0], Keep: *keep}
		if err := cmp.Or(options(&o), refuse(cmd, misuse{"keep", *keep == "", "is empty: write the name of a folder, or delete it"})); err != nil {
			return badInput(err)
		}
		if err := tasks.read(&o, run, o.Keep); err != nil {
			return err
		}
		stop := redirectOutput(cmd, args[0], &o)
		r, err := runner.Run(cmd.Context(), o)
		stop()
		if err != nil {
			return err
		}
		return tasks.report(r, *format, func() error { return printResult(cmd, *format, r) })
	}
	return cmd
}

func commPrepareCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "prepare SCENARIO DIR",
		Short: "Write the inputs and golden values of a run to a folder",
		Long: `Prepare writes a scenario and its parameters to a folder. It also writes the
inputs and golden values, in one .npy file for each buffer, round and rank. You
may change inputs before comm execute. The command comm verify compares the
outputs.`,
		Example: `  kernbench comm prepare all_reduce out --nranks 4
  kernbench comm execute out
  kernbench comm verify out`,
		Args:              exactArgs("SCENARIO", "DIR"),
		ValidArgsFunction: completeScenario,
	}
	options := addScenarioFlags(cmd, nil)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		resolveScenario(cmd, args)
		o := runner.Options{Scenario: args[0]}
		if err := options(&o); err != nil {
			return badInput(err)
		}
		if err := runner.Prepare(cmd.Context(), o, args[1]); err != nil {
			return err
		}
		escapeOutput(cmd, true)
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s has the inputs and golden values of %s; next: kernbench comm execute %[1]s\n", args[1], args[0])
		return err
	}
	return cmd
}

func commExecuteCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "execute DIR",
		Short: "Run a prepared folder",
		Long: `Execute reads a folder that comm prepare has written. It removes the outputs of
an earlier run, runs the scenario on the inputs in the folder, and writes the
outputs there. It compares nothing.

With --runtime it runs the tasks, as comm run does, and reports how they were
scheduled. The parameters are those of comm prepare; --set can change only the
costs of tasks, as tasks.KEY=VALUE.`,
		Example: `  kernbench comm execute out --backend shm
  kernbench comm execute out --backend sim --runtime host_build_graph \
    --set tasks.host_build_graph.per_task=1us`,
		Args: exactArgs("DIR"),
	}
	run := addBackendFlags(cmd)
	tasks := addTaskFlags(cmd)
	tasks.addSet(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := tasks.checkSets(); err != nil {
			return badInput(err)
		}
		var o runner.Options
		if err := tasks.read(&o, run, args[0]); err != nil {
			return err
		}
		stop := redirectOutput(cmd, args[0], &o)
		r, err := runner.Execute(cmd.Context(), args[0], o)
		stop()
		if err != nil {
			return err
		}
		escapeOutput(cmd, true)
		return tasks.report(r, "text", func() error {
			return errors.Join(r.WriteExecuted(cmd.OutOrStdout(), args[0]), wrongResult(r.Mistakes()...))
		})
	}
	return cmd
}

func commVerifyCmd() *cobra.Command {
	return setRun(&cobra.Command{
		Use:   "verify DIR",
		Short: "Compare the outputs in a folder with their golden values",
		Long: `Verify compares the outputs that comm execute wrote to a folder with the golden
values there, and reports as comm run does.`,
		Example: `  kernbench comm verify out --format json`,
		Args:    exactArgs("DIR"),
	}, func(cmd *cobra.Command, args []string) (result, error) { return runner.Verify(cmd.Context(), args[0]) })
}

// redirectOutput sends everything that kernels print during a run to standard error, until
// the returned function `stop` is called. This includes output of package fmt and of Printf
// of the tile language. Standard output is only for results. redirectOutput also shows the
// progress of the run.
func redirectOutput(cmd *cobra.Command, name string, o *runner.Options) (stop func()) {
	p, stdout := progress.Start(cmd.ErrOrStderr(), name), os.Stdout
	o.Print, os.Stdout = p, os.Stderr
	return func() {
		os.Stdout = stdout
		p.Stop()
	}
}

// oneScenario checks that the command has one argument, the scenario.
func oneScenario(cmd *cobra.Command, args []string) error {
	return oneArg("SCENARIO", "no scenario: name a file or one of "+strings.Join(scenario.Names(), ", "))(cmd, args)
}

// scenarioUses returns the files that a command reads for a scenario. If name is a
// registered scenario, there are none. Otherwise name is the file of the scenario.
func scenarioUses(name string) *file.Uses {
	u := new(file.Uses)
	if name != "" && !slices.Contains(scenario.Names(), name) {
		u.Reads("scenario", name)
	}
	return u
}

// exactArgs returns a check that the command has one argument for each of the names. The
// error lists the names.
func exactArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != len(names) {
			return fmt.Errorf("%s wants %s, and %d are given%s", cmd.CommandPath(), strings.Join(names, " and "), len(args), seeHelp(cmd))
		}
		return nil
	}
}

// resolveScenario replaces an old spelling of a scenario's name in args[0] by the current
// name, unless a file has the old name.
func resolveScenario(cmd *cobra.Command, args []string) {
	if _, err := os.Lstat(args[0]); err == nil {
		return
	}
	if name, ok := config.Resolve(cmd.Context(), args[0], scenario.Names()); ok {
		args[0] = name
	}
}

func completeScenario(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return scenario.Names(), cobra.ShellCompDirectiveDefault // or a file
}

// rewriteScenarioArgs changes the arguments of kernbench run FILE.yaml into the arguments
// of kernbench comm run FILE.yaml, and returns other arguments unchanged. kernbench run
// accepts benches and scenarios, but benches and scenarios have different flags.
func rewriteScenarioArgs(root *cobra.Command, args []string) []string {
	if len(args) == 0 || args[0] != "run" {
		return args
	}
	bench, _, err := root.Find([]string{"run"})
	if err != nil {
		return args
	}
	comm, _, err := root.Find([]string{"comm", "run"})
	if err != nil {
		return args
	}
	takesNext := func(word string) bool { // whether the next word is the value of the flag word
		if strings.Contains(word, "=") {
			return false
		}
		for _, flags := range []*pflag.FlagSet{bench.Flags(), comm.Flags()} {
			f := flags.Lookup(strings.TrimLeft(word, "-"))
			if !strings.HasPrefix(word, "--") && len(word) == 2 {
				f = flags.ShorthandLookup(word[1:])
			}
			if f != nil && f.NoOptDefVal == "" {
				return true
			}
		}
		return false
	}
	for i := 1; i < len(args); i++ {
		switch word := args[i]; {
		case strings.HasPrefix(word, "-"):
			if takesNext(word) {
				i++
			}
		case filepath.Ext(word) == ".yaml" || filepath.Ext(word) == ".yml":
			return append([]string{"comm"}, args...)
		default:
			return args // a bench
		}
	}
	return args
}
