package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/collperf"
	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/internal/setup"
)

func collCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "coll COLLECTIVE",
		Short: "Measure a collective over a range of sizes, as nccl-tests does",
		Long: `Coll does a collective once for each size and prints a table as nccl-tests does:

    size       the larger of what a rank sends and receives, in bytes, rounded down to
               whole elements for each rank
    count      elements of it, or of the part of each rank if it has such parts
    type       dtype of the elements
    redop      reduction, none if there is none
    root       rank, -1 if there is none
    time       from the common start on the PEs to the end of the last PE, averaged
    algbw      size divided by time
    busbw      algbw times 2(n-1)/n for all_reduce, (n-1)/n for all_gather, reduce_scatter
               and all_to_all, 1 for others: comparable with the bandwidth of links
    #wrong     wrong elements of all ranks, N/A if values are not compared
    algorithm  name of the algorithm
    %bound     the lower bound divided by the time; 100 is optimal
    bound      what sets the bound: the links at the edge of a region (cut), those into all
               regions of a kind (volume), or the longest way (latency)

The collectives are all_reduce, reduce, broadcast, all_gather, reduce_scatter,
all_to_all, gather, scatter, sendrecv (every rank to the next) and barrier.
docs/use/collectives.md tells more.

A rank is a SIP, and the first PE of each has its tensors, if the system has several
SIPs; else, and with --ranks-per pe, a rank is a PE. With --partial each SIP's tensor is
the sum of addends on the first PEs of its cubes. The size is that of one addend, and n
of busbw is the number of addends.

--algo all prints a row of each algorithm for every size, the fastest with an asterisk,
and below how often each was. One that does not fit into memory, takes more than 30
times as long as the best by its formula, or fails has the reason at its end; failures
are exit status 3, after all rows. --algo auto lets the library pick an algorithm for
each size.

--values integers are whole numbers whose reduction is exact in any order, compared bit
for bit; reals lie between -1 and 1, and may be off by the rounding errors of n-1
additions. --check 0 and --data off compute no values and are faster.

Rows are measured at the same time, as many as --threads says; that changes no number.
--out keeps each as soon as it is measured, --resume continues an interrupted
measurement, and --shard i/n measures every n-th row. kernbench merge, plot and compare
read the file. --trace records a single row, for kernbench trace and Perfetto.
--per-rank also prints pe_exec: how long every rank took from the common start to the
end of its last PE.

--on shm measures real ranks: --nranks processes of this computer that share memory,
each bound to a core if there are as many; --on inproc takes goroutines. An iteration
begins with a barrier, after buffers are written again, and takes as long as its slowest
rank; a row is the average over --iters iterations, 20 unless given, after
--warmup-iters more. There are all collectives but sendrecv; sum, prod, min, max and
avg, of integers rounded towards zero; f16, bf16, f32, f64, i32 and i64. --algo is auto,
direct or, of all_reduce and reduce, direct_one_phase. --buffer window puts buffers
where other ranks can reach them, private where they have to be copied. Real ranks have
no bound; their rows are printed when all have been measured, and not kept. Their
pe_exec is the average of each rank; a row averages the slowest rank of each iteration.

Flags that have no effect are refused. --timeout gives up what is not done by then, with
exit status 3.

--format json has one object: collective, ranks, ranks_per, rows, avg_busbw or, of
--algo all, wins, wrong, file, config, and schema (the unit and role of each column of
rows). Rows have the columns above, with time_us for time, bound_share for %bound,
bound_us, bound_kind, the sentence bound and, of --algo all, best and error; with
--per-rank the list pe_exec_ns. Of real ranks there is no ranks_per, and config has on,
nranks, cores, buffer, iters and warmups. --format csv has the same columns, after lines
that begin with # and have their roles, units and labels; with --per-rank it has a line
for each rank, with the columns rank and pe_exec_ns.`,
		Example: `  kernbench coll all_reduce
  kernbench coll all_reduce -b 1K -e 16M -f 4 --topology ring6 --algo ring
  kernbench coll all_reduce --topology torus2x3 --partial --algo all -b 1K -e 64K -f 8
  kernbench coll all_reduce --algo all -e 64M --out rows.jsonl --resume
  kernbench coll all_reduce --topology ring6 -b 1M -e 1M --trace ring.json.gz
  kernbench coll all_gather --ranks-per pe --world 8 -d all
  kernbench coll broadcast -r all -b 64K -e 64K --format json
  kernbench coll all_reduce --on shm --nranks 4 -d float -b 1K -e 64M -f 4`,
		ValidArgsFunction: cobra.FixedCompletions(collectiveNames(), cobra.ShellCompDirectiveNoFileComp),
		Args:              oneArg("COLLECTIVE", "no collective: name one of "+strings.Join(collectiveNames(), ", ")),
	}
	system := addConfigFlags(cmd, setup.Topology, setup.CCL)
	format := formatFlag(cmd, "csv")
	flags := addCollFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := ccl.ParseCollective(args[0])
		if err != nil {
			return badInput(fmt.Errorf("%w%s", err, config.DidYouMean(args[0], collectiveNames())))
		}
		config.Renamed(cmd.Context(), args[0], c.String())
		if err := flags.checkEffect(c); err != nil {
			return badInput(err)
		}
		if *flags.on != onSim {
			o, err := flags.real(c)
			if err != nil {
				return badInput(err)
			}
			return measure(cmd, o, *flags.points.report, *format)
		}
		on, err := system.Load(cmd.Context())
		if err != nil {
			return badInput(err)
		}
		o, err := flags.simulated(c, on.System, on.CCL)
		if err != nil {
			return badInput(err)
		}
		use := on.AddTo(new(file.Uses)).Writes("--trace", o.Trace).Writes("--out", o.Experiment.File).Writes("--report", *flags.points.report)
		if err := use.Check(); err != nil {
			return err
		}
		return measure(cmd, o, *flags.points.report, *format)
	}
	return cmd
}

func collectiveNames() []string { return lists.Map(ccl.Collectives(), ccl.Collective.String) }

// measure runs a measurement and prints it, rows of text and CSV as they come.
func measure(cmd *cobra.Command, o collperf.Options, report, format string) error {
	p, err := runPoints(cmd, o.Collective.String(), &o.Experiment)
	if err != nil {
		return err
	}
	defer p.Stop()
	printer := collperf.Printer{Options: o, W: p.Beside(cmd.OutOrStdout()), Format: format}
	sum, err := printer.Run(cmd.Context())
	if err := endPoints(p, o.Experiment, err); err != nil {
		return err
	}
	if err := printer.Foot(); err != nil {
		return err
	}
	about, t, err := printer.Page()
	if err == nil {
		err = writeReport(cmd, report, about, t)
	}
	if err != nil {
		return err
	}
	var wrong []error
	if sum.Wrong > 0 {
		wrong = []error{fmt.Errorf("%d wrong values", sum.Wrong)}
	}
	return badPoints(o.Experiment, sum.Failed, wrong == nil, wrong)
}
