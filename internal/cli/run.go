package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/bench"
	_ "github.com/kernbench/kernbench/bench/builtin" // registers the built-in ones
	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/progress"
	"github.com/kernbench/kernbench/internal/setup"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/torch"
)

func runCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run [BENCH]",
		Short: "Run a bench, or a distributed scenario: times, checked values",
		Long: `Run runs a bench on a simulated system and prints the rows and metrics it reports, the
critical path of its slowest launch, and whether the values that its kernels computed
are those of its reference. kernbench list shows the benches, and kernbench list BENCH
the parameters of one, which are flags. A bench that does no collectives refuses --ccl
and --set ccl.KEY, one that runs no tasks --tasks and --set tasks.KEY.

A file that ends in .yaml is a distributed scenario, which kernbench comm run runs: its
flags are those of that command.

--data=off finds out times only and is faster. --check=race looks for accesses of
different PEs to the same memory that nothing orders. --log saves the op log, for
kernbench replay. --trace records what every engine and link does, for kernbench trace
and Perfetto. A kernel that never ends is stopped by --limit, and by --stall if it does
not even call the tile language.

--per-rank prints a table of all launches and collectives, in the order of their ends:
how long each ran on every rank, from its start to the end of the rank's last PE. The
longest is crit_ns. Ranks of a collective are those of the world, others the PEs of the
launch. makespan_ns is the time of the whole program, from the first command of the host
to the last end, with all copies.

Benches that write files, such as milestone-1h-ccl, write them to --out; with --resume
they go on from the results that lie there.

What kernels print with Printf goes to standard error, as do wrong values and races, for
which the exit status is 1. A kernel that is misused, panics, waits for ever or never
ends is exit status 3.

--format json has one object: bench, ok, crit_ns, makespan_ns, notes, metrics, rows,
artifacts (files written), config and schema (the columns of metrics and rows); with
--per-rank also launches, each with name, start_ns, crit_ns, ranks and pe_exec_ns, by rank.`,
		Example: `  kernbench run hello_send
  kernbench run --bench matmul_composite --format json
  kernbench run pe2pe --data=off --topology torus2x3
  kernbench run ccl_all_reduce --algo ring_all_reduce_tcm --ranks-per sip --topology ring6 --per-rank
  kernbench run qkv_gemm --check=race --log qkv.oplog --trace qkv.json
  kernbench run transformer_block --shape llama-70b --tokens 512 --data=off
  kernbench run my-scenario.yaml --nranks 4`,
		Args:              atMostOne("BENCH"),
		ValidArgsFunction: completeBench,
	}
	name := cmd.Flags().String("bench", "", "`NAME` of the bench, instead of the argument")
	if err := cmd.RegisterFlagCompletionFunc("bench", completeBench); err != nil {
		panic(err) // no such flag
	}
	config := addConfigFlags(cmd, setup.Program...)
	format := formatFlag(cmd)
	options := addRunFlags(cmd)
	params := addParamFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		b, err := chosenBench(cmd.Context(), *name, args)
		if err != nil {
			return badInput(err)
		}
		o, err := options()
		given, unknown := params(b)
		if err := cmp.Or(err, unknown, config.CheckEffect(b)); err != nil {
			return badInput(err)
		}
		o.Params = given
		use := new(file.Uses).Writes("--log", o.Log).Writes("--trace", o.Trace)
		for _, p := range b.Params {
			if p.Output {
				use.Writes("--"+p.Name, cmp.Or(o.Params[p.Name], p.Default))
			}
		}
		if b.Folder != "" {
			use.WritesIn("--out", cmp.Or(o.Folder, b.Folder), b.Files...)
		}
		on, err := config.load(cmd.Context(), use)
		if err != nil {
			return err
		}
		o.Topology, o.CCL, o.Settings = on.System, on.CCL, []any{on.Tasks}
		o.Resume = o.Resume || b.Folder != "" && !slices.Contains([]string{"", "0", "false"}, os.Getenv("MILESTONE_FAST"))
		if o.Strict && !o.Resume {
			return badInput(errors.New("--strict is for --resume: add it"))
		}
		r, err := executed(cmd, b, o)
		if param, ok := errors.AsType[*bench.ParamError](err); ok {
			return badInput(param)
		} else if err != nil {
			return err
		}
		if b.Uses == 0 {
			for _, text := range config.Ineffective(r) {
				fmt.Fprintf(cmd.ErrOrStderr(), "kernbench: %s\n", text)
			}
		}
		return printResult(cmd, *format, r)
	}
	return cmd
}

// executed runs a bench and shows how far it is.
func executed(cmd *cobra.Command, b bench.Bench, o bench.Options) (*bench.Result, error) {
	running := progress.Start(cmd.ErrOrStderr(), b.Name)
	defer running.Stop()
	o.Output = running
	o.Progress, o.Warn = running.Tell, func(text string) { warn(running, text) }
	return b.Execute(cmd.Context(), o)
}

// chosenBench is the bench that the argument or --bench names.
func chosenBench(ctx context.Context, flag string, args []string) (bench.Bench, error) {
	switch {
	case len(args) == 1 && flag != "":
		return bench.Bench{}, fmt.Errorf("two benches, %s and %s: name one", args[0], flag)
	case len(args) == 1:
		flag = args[0]
	case flag == "":
		return bench.Bench{}, errors.New("no bench: name one, such as kernbench run hello_send; kernbench list shows them")
	}
	return setup.FindBench(ctx, flag)
}

// addRunFlags gives a command the flags that say how a bench is run, and is how to
// read them.
func addRunFlags(cmd *cobra.Command) func() (bench.Options, error) {
	var o bench.Options
	flags := cmd.Flags()
	data := choiceFlag(cmd, "data", "compute values and check them, or times only", "on", "off")
	check := choiceFlag(cmd, "check", "look for races between PEs", "none", "race")
	fidelity := fidelityFlag(cmd)
	threads := threadsFlag(cmd)
	flags.StringVar(&o.Log, "log", "", "save the op log to `FILE`")
	traceFlag(cmd, &o.Trace)
	flags.StringVar(&o.Folder, "out", "", "`FOLDER` for the files of a bench that writes some, instead of its own")
	flags.BoolVar(&o.Resume, "resume", false, "take over results that lie in the folder already; also MILESTONE_FAST=1")
	strictFlag(cmd, &o.Strict)
	flags.BoolVar(&o.PerRank, "per-rank", false, "also print how long every launch and collective ran on each rank")
	limit := flags.Duration("limit", 10*time.Second, "simulated `TIME` after which a run is given up")
	flags.DurationVar(&o.Stall, "stall", 10*time.Second, "wall-clock `TIME` that a kernel may go on without calling the tile language")
	return func() (_ bench.Options, err error) {
		o.NoData, o.Race, o.Flit = *data == "off", *check == "race", *fidelity == "flit"
		o.Limit = torch.Time(limit.Nanoseconds()) * simtime.Nanosecond
		o.Threads, err = threads()
		return o, cmp.Or(err, errors.Join(file.CheckNew("--log", o.Log), file.CheckNew("--trace", o.Trace)), refuse(cmd,
			misuse{"stall", o.Stall < time.Millisecond, fmt.Sprintf("%v is too short: write at least 1ms", o.Stall)},
			misuse{"limit", *limit <= 0 || *limit > longestRun, fmt.Sprintf("%v is not from 1ns to %v", *limit, longestRun)}))
	}
}

// traceFlag gives a command --trace.
func traceFlag(cmd *cobra.Command, name *string) {
	cmd.Flags().StringVar(name, "trace", "", "record what the machine does to `FILE`, for kernbench trace and Perfetto; compressed if it ends in .gz")
}

// longestRun is within what the simulated clock can count.
const longestRun = 2 * time.Hour

// mostThreads bounds what runs side by side: far more than a computer has cores.
const mostThreads = 1024

// threadsFlag gives a command --threads, and is how to read it.
func threadsFlag(cmd *cobra.Command) func() (int, error) {
	var n int
	intFlag(cmd, &n, "threads", 0, "threads that compute values, 0 for one on each core; results do not depend on it")
	return func() (int, error) {
		if n < 0 || n > mostThreads {
			return 0, fmt.Errorf("--threads %d: write 0 to %d", n, mostThreads)
		}
		return n, nil
	}
}

// oneArg wants one argument; missing is what to say if there is none.
func oneArg(what, missing string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return errors.New(missing + seeHelp(cmd))
		}
		return atMostOne(what)(cmd, args)
	}
}

// atMostOne refuses more than one argument.
func atMostOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return fmt.Errorf("unexpected argument %q: give one %s%s", args[1], what, seeHelp(cmd))
		}
		return nil
	}
}
