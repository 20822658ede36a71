package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/internal/exec"
	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/version"
	"github.com/kernbench/kernbench/oplog"
)

// replayed is what `kernbench replay --format json` prints.
type replayed struct {
	Version  string       `json:"version"` // of kernbench, now
	File     string       `json:"file"`
	Recorded oplog.Header `json:"recorded"`
	OK       bool         `json:"ok"`
	Ops      int          `json:"operations"`
	Launches int          `json:"launches"`
	Reads    int          `json:"host_reads"`
	Compared int          `json:"reads_compared"`
	Bytes    int64        `json:"bytes_compared"`
	Digest   string       `json:"digest"` // of those bytes
}

func replayCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Compute the values of a saved run again",
		Long: `Replay reads an op log that kernbench run --log has saved, computes all values again
from the log alone, and compares what the host then reads with what it read in the
run. The digest identifies those bytes: it is the same for runs that read the same.

The exit status is 1 if bytes differ, and 2 if the file is no op log or damaged. A
run with --data=off has read nothing, so that there is nothing to compare.

--format json has file, recorded (by which version, with which configuration), ok,
operations, launches, host_reads, reads_compared, bytes_compared and digest.`,
		Example: `  kernbench run qkv_gemm --log qkv.oplog
  kernbench replay qkv.oplog
  kernbench replay qkv.oplog --threads 1 --format json`,
		Args: oneArg("FILE", "no file: name an op log, as kernbench run --log saves it"),
	}
	format := formatFlag(cmd)
	threads := threadsFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		n, err := threads()
		if err != nil {
			return badInput(err)
		}
		if err := new(file.Uses).Reads("op log", args[0]).Check(); err != nil {
			return err
		}
		h, log, found, err := replay(cmd.Context(), args[0], n)
		if err != nil {
			return badInput(fmt.Errorf("replay %s: %w", args[0], err))
		}
		reads := bench.ReadsOf(log)
		r := replayed{
			Version: version.Version, File: args[0], Recorded: h, OK: len(found.Mismatched) == 0,
			Ops: len(log.Ops), Launches: len(log.Launches),
			Reads: reads.Reads, Compared: reads.Known, Bytes: reads.Bytes, Digest: reads.Digest,
		}
		err = printResult(cmd, *format, &r)
		if err == nil && !r.OK {
			err = mismatch(log, found.Mismatched)
		}
		return err
	}
	return cmd
}

// replay reads a log and computes its values, until ctx ends.
func replay(ctx context.Context, file string, threads int) (h oplog.Header, log *oplog.Log, r exec.Replayed, err error) {
	if h, log, err = oplog.Open(ctx, file); err != nil {
		return h, nil, r, err
	}
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	r, err = exec.Replay(ctx, log, threads)
	return h, log, r, err
}

func (r *replayed) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "# op log: %s, recorded by kernbench %s, topology hash %s\n", r.File, r.Recorded.Tool, r.Recorded.Config)
	if b := r.Recorded.Notes["bench"]; b != "" {
		fmt.Fprintf(w, "# bench: %s\n", b)
	}
	verdict := "no values: the run computed none"
	switch {
	case !r.OK:
		verdict = "values DIFFER from those of the run"
	case r.Compared > 0:
		verdict = "values ok: the same as in the run"
	}
	_, err := fmt.Fprintf(w, "\noperations: %d\nlaunches: %d\nhost reads: %d, of which %d compared\nbytes compared: %d\ndigest: %s\n%s\n",
		r.Ops, r.Launches, r.Reads, r.Compared, r.Bytes, cmp.Or(r.Digest, "-"), verdict)
	return err
}

// shownMismatches bounds the list of reads that differ: the first tells most.
const shownMismatches = 5

// mismatch is the error of a replay that read something else.
func mismatch(log *oplog.Log, ids []oplog.ID) error {
	all := wordsOf(ids[:min(len(ids), shownMismatches)], func(id oplog.ID) string { return log.Describe(id) + " read other bytes than in the run" })
	if more := len(ids) - shownMismatches; more > 0 {
		all = append(all, fmt.Sprintf("and %d more host reads differ", more))
	}
	return wrong(all...)
}
