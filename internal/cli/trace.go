package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/internal/trace/analysis"
	"github.com/kernbench/kernbench/internal/version"
)

// traced is what `kernbench trace --format json` prints.
type traced struct {
	Version string `json:"version"` // of kernbench, now
	File    string `json:"file"`
	*analysis.Report
}

func traceCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trace FILE",
		Short: "Say where the time of a recorded run went",
		Long: `Trace reads a trace that --trace has recorded, lists its longest launches, and prints of
the first of these, or of --launch N:

  the critical path: the chain of activities that took as long as the launch, each begun
  by the one before; summed up by kind, then step by step, and the PEs it visits
  the slowest PE, what it spent its time on, for whom it waited, beside the median PE
  how busy the engines of PEs were, as shares of the launch's time
  how busy links were meanwhile, and how long the heads of trains waited for them

docs/traces.md has the format, and what the kinds of latency on the path are. A file
that breaks the rules of the format is refused, with the first mistakes. The same file
opens in ui.perfetto.dev and in chrome://tracing.

--format json has all of the path, with trace (recorded by which version, with which
topology), events, launches, longest, launch, path (kinds, segments, visits), slowest
(cpu, engines, waited_from, text), engines and links (kinds, busiest, most_queued).`,
		Example: `  kernbench run qkv_gemm --trace run.json
  kernbench trace run.json
  kernbench trace run.json --launch 0 --all
  kernbench trace run.json.gz --top 3 --format json`,
		Args: oneArg("FILE", "no file: name a trace, as kernbench run --trace records it"),
	}
	var launch, top int
	intFlag(cmd, &launch, "launch", analysis.Longest, "`N`umber of the launch to tell of, or -1 for the longest")
	intFlag(cmd, &top, "top", 10, "launches, links, and PEs waited for, to list")
	all := cmd.Flags().Bool("all", false, "the whole path, not only its ends")
	format := formatFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if top < 0 {
			return badInput(fmt.Errorf("--top %d: write how many to list", top))
		}
		if err := new(files).reads("trace", args[0]).check(); err != nil {
			return err
		}
		t, err := analysis.Open(cmd.Context(), args[0])
		if err == nil {
			r := traced{Version: version.Version, File: args[0]}
			if r.Report, err = t.Analyse(int64(launch), top); err == nil {
				return printResult(cmd, *format, r, func(w io.Writer) error { return writeTrace(w, &r, *all) })
			}
		}
		var list []error
		for _, e := range flatten(err) {
			list = append(list, fmt.Errorf("trace %s: %w", args[0], e))
		}
		return badInput(errors.Join(list...))
	}
	return cmd
}
