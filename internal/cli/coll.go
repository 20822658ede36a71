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
		Long: `Coll measures a collective once for each size and prints a table like that of
nccl-tests:

    size       bytes: the larger of what a rank sends and what it receives,
               rounded down to whole elements for each rank
    count      elements in size bytes, or in the part of one rank if the
               collective divides the data among ranks
    type       dtype of the elements
    redop      reduction, or none
    root       rank of the root, or -1
    time       mean time from the common start to the end of the last PE
    algbw      size divided by time
    busbw      algbw times 2(n-1)/n for all_reduce, (n-1)/n for all_gather,
               reduce_scatter and all_to_all, 1 for others; comparable with
               the bandwidth of links
    #wrong     wrong elements on all ranks, N/A if values are not compared
    algorithm  algorithm that ran
    %bound     the lower bound divided by the time; 100 is optimal
    bound      what sets the lower bound: the links at the edge of a region
               (cut), the links into all regions of a kind (volume), or the
               longest route (latency)

The collectives are all_reduce, reduce, broadcast, all_gather, reduce_scatter,
all_to_all, gather, scatter, sendrecv (each rank to the next) and barrier.

On a machine with several SIPs a rank is a SIP, whose first PE has the tensors;
otherwise, and with --ranks-per pe, a rank is a PE. With --partial, the tensor
of a SIP is the sum of addends, one on the first PE of each cube; size is the
size of one addend, and n in busbw is the number of addends.

--algo all measures every algorithm at every size, marks the fastest with an
asterisk and counts how often each one was fastest. An algorithm has a row with
a reason instead of a time if it does not fit in memory, if its predicted time
is more than 30 times that of the best, or if it fails. A failure does not stop
other rows, but the exit status is 3.

With --values integers, every reduction is exact in any order, and results are
compared bit for bit. With --values reals, inputs are between -1 and 1, and
results may differ by the rounding errors of n-1 additions. --check 0 and --data
off compute no values and are faster.

--per-rank adds a table with the column pe_exec, the time of each rank from the
common start to the end of its last PE. --trace records a single row.

--on shm measures real ranks: processes that share memory, each bound to a core
if there are enough cores. Buffers are filled again before each iteration; an
iteration starts with a barrier and takes as long as its slowest rank. Real
ranks support all collectives except sendrecv; the reductions sum, prod, min,
max and avg, which rounds integers towards zero; the dtypes f16, bf16, f32, f64,
i32 and i64; and --algo auto, direct and, for all_reduce and reduce,
direct_one_phase. They have no lower bound. Their rows are printed at the end
and not kept.

--format json prints an object with the keys collective, ranks, ranks_per, rows,
avg_busbw, wrong, file, config and schema (units and roles of the columns). With
--algo all it has the key wins (how often each algorithm was fastest) instead of
avg_busbw.

In JSON and CSV, the column time is called time_us, #wrong is called wrong, and
%bound is called bound_share. The column bound_us is the lower bound, and
bound_kind is cut, volume, latency or none. --algo all adds the columns best
(true for the fastest algorithm) and error (why an algorithm has no time).
--per-rank adds pe_exec_ns.`,
		Example: `  kernbench coll all_reduce
  kernbench coll all_reduce -b 1K -e 16M -f 4 --topology ring6 --algo ring
  kernbench coll all_reduce --topology torus2x3 --partial --algo all -e 64K
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
			o, err := flags.realOptions(c)
			if err != nil {
				return badInput(err)
			}
			return measure(cmd, o, *flags.points.report, *format)
		}
		on, err := system.Load(cmd.Context())
		if err != nil {
			return badInput(err)
		}
		o, err := flags.simulatedOptions(c, on.System, on.CCL)
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

// measure measures collectives as `o` says and prints the rows in the given format. Text
// and CSV rows are printed as soon as they are measured. `report` is the name of an HTML
// page to write; "" for none.
func measure(cmd *cobra.Command, o collperf.Options, report, format string) error {
	p, err := startPoints(cmd, o.Collective.String(), &o.Experiment)
	if err != nil {
		return err
	}
	defer p.Stop()
	printer := collperf.Printer{Options: o, W: p.Writer(cmd.OutOrStdout()), Format: format}
	sum, err := printer.Run(p.Context(cmd.Context()))
	if err := finishPoints(p, o.Experiment, err); err != nil {
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
	return pointsError(o.Experiment, sum.Failed, wrong == nil, wrong)
}
