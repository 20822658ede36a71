package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/replay"
)

func replayCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Recompute the values of a saved run",
		Long: `Replay reads an op log that kernbench run --log saved, computes all values again
from the log only, and compares what the host reads with what it read in the
run. It prints a digest of the bytes read in the run. A run with --data=off has
read nothing, so there is nothing to compare. The exit status is 1 if bytes
differ.

--format json prints an object with the keys version, file, recorded (version
and configuration of the run), ok, operations, launches, host_reads,
reads_compared, bytes_compared and digest.`,
		Example: `  kernbench run qkv_gemm --log qkv.oplog
  kernbench replay qkv.oplog
  kernbench replay qkv.oplog --threads 1 --format json`,
		Args: oneArg("FILE", "no file: name an op log, as kernbench run --log saves it"),
	}
	threads := threadsFlag(cmd)
	return setRun(cmd, func(cmd *cobra.Command, args []string) (result, error) {
		n, err := threads()
		if err != nil {
			return nil, badInput(err)
		}
		if err := new(file.Uses).Reads("op log", args[0]).Check(); err != nil {
			return nil, err
		}
		r, err := replay.File(cmd.Context(), args[0], n)
		if err != nil {
			return nil, badInput(fmt.Errorf("replay %s: %w", args[0], err))
		}
		return r, nil
	})
}
