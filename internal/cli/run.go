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
	_ "github.com/kernbench/kernbench/bench/builtin" // registers the built-in benches
	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/progress"
	"github.com/kernbench/kernbench/internal/setup"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/torch"
)

func runCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run [BENCH]",
		Short: "Run a bench or a scenario and check its values",
		Long: `Run runs a bench on a simulated machine. It prints the rows and metrics that the
bench reports, and the time of the longest launch (crit_ns). It also checks the
computed values against a reference. kernbench list shows the benches. The
parameters of a bench are flags. A bench that uses no collectives refuses --ccl
and --set ccl.KEY; a bench without tasks refuses --tasks and --set tasks.KEY.

An argument that ends in .yaml is a distributed scenario. Run then does the same
as kernbench comm run, whose help describes the flags.

--per-rank prints all launches and collectives in the order in which they ended,
with the time on each rank from the common start to the end of the rank's last
PE. The ranks of a collective are those of the world; the ranks of a launch are
its PEs.

makespan_ns is the time of the whole program, including copies.

Output of Printf in kernels, wrong values and races go to standard error.

--format json prints one object; docs/use/benches.md describes it.`,
		Example: `  kernbench run hello_send
  kernbench run matmul_composite --format json
  kernbench run pe2pe --data=off --topology torus2x3
  kernbench run ccl_all_reduce --algo ring_all_reduce_tcm --ranks-per sip
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
		b, err := chooseBench(cmd.Context(), *name, args)
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
		r, err := execute(cmd, b, o)
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

// execute runs a bench and shows its progress.
func execute(cmd *cobra.Command, b bench.Bench, o bench.Options) (*bench.Result, error) {
	p := progress.Start(cmd.ErrOrStderr(), b.Name)
	defer p.Stop()
	o.Output = p
	o.Progress, o.Warn = p.Update, func(text string) { warn(p, text) }
	return b.Execute(p.Context(cmd.Context()), o)
}

// chooseBench returns the bench that the argument or --bench names. It returns an error if
// both or neither are given. `flag` is the value of --bench.
func chooseBench(ctx context.Context, flag string, args []string) (bench.Bench, error) {
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

// addRunFlags adds to a command the flags that choose how a bench is run. The returned
// function returns the options that the flags choose.
func addRunFlags(cmd *cobra.Command) func() (bench.Options, error) {
	var o bench.Options
	flags := cmd.Flags()
	data := choiceFlag(cmd, "data", "off computes times only", "on", "off")
	check := choiceFlag(cmd, "check", "report unordered accesses of different PEs", "none", "race")
	fidelity := fidelityFlag(cmd)
	threads := threadsFlag(cmd)
	flags.StringVar(&o.Log, "log", "", "save the op log to `FILE`, for kernbench replay")
	traceFlag(cmd, &o.Trace)
	flags.StringVar(&o.Folder, "out", "", "`FOLDER` for the files of a bench (default: its own)")
	flags.BoolVar(&o.Resume, "resume", false, "keep the results in the folder; also MILESTONE_FAST=1")
	strictFlag(cmd, &o.Strict)
	flags.BoolVar(&o.PerRank, "per-rank", false, "also print the time of launches and collectives on each rank")
	limit := flags.Duration("limit", 10*time.Second, "stop a run after this simulated `TIME`")
	flags.DurationVar(&o.Stall, "stall", 10*time.Second, "stop a kernel that calls no function of the tile language for this wall-clock `TIME`")
	return func() (_ bench.Options, err error) {
		o.NoData, o.Race, o.Flit = *data == "off", *check == "race", *fidelity == "flit"
		o.Limit = torch.Time(limit.Nanoseconds()) * simtime.Nanosecond
		o.Threads, err = threads()
		return o, cmp.Or(err, errors.Join(file.CheckNew("--log", o.Log), file.CheckNew("--trace", o.Trace)), refuse(cmd,
			misuse{"stall", o.Stall < time.Millisecond, fmt.Sprintf("%v is too short: write at least 1ms", o.Stall)},
			misuse{"limit", *limit <= 0 || *limit > maxLimit, fmt.Sprintf("%v is not from 1ns to %v", *limit, maxLimit)}))
	}
}

// traceFlag adds --trace to a command. The flag sets *name.
func traceFlag(cmd *cobra.Command, name *string) {
	cmd.Flags().StringVar(name, "trace", "", "record the activity of engines and links to `FILE`, for kernbench trace and Perfetto; .gz compresses")
}

// maxLimit is the largest value of --limit. The simulated clock can count that far.
const maxLimit = 2 * time.Hour

// maxThreads is the largest value of --threads and --workers, far more than a computer has
// cores.
const maxThreads = 1024

// threadsFlag adds --threads to a command. The returned function returns the value of the
// flag, or an error if it is invalid.
func threadsFlag(cmd *cobra.Command) func() (int, error) {
	var n int
	intFlag(cmd, &n, "threads", 0, "number `N` of threads, 0 for one on each core; results do not depend on it")
	return func() (int, error) {
		if n < 0 || n > maxThreads {
			return 0, fmt.Errorf("--threads %d: write 0 to %d", n, maxThreads)
		}
		return n, nil
	}
}

// oneArg returns a check that the command has exactly one argument. `what` names the
// argument in the error. `missing` is the error if there is no argument.
func oneArg(what, missing string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return errors.New(missing + seeHelp(cmd))
		}
		return atMostOne(what)(cmd, args)
	}
}

// atMostOne returns a check that the command has at most one argument. `what` names the
// argument in the error.
func atMostOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return fmt.Errorf("unexpected argument %q: give one %s%s", args[1], what, seeHelp(cmd))
		}
		return nil
	}
}
