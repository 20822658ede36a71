package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/internal/experiment"
	"github.com/kernbench/kernbench/internal/file"
)

func mergeCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "merge OUT FILE...",
		Short: "Put the shards of a sweep together",
		Long: `Merge puts the files together that kernbench sweep or kernbench coll has written with
--shard: OUT is byte for byte what the whole sweep would have written.

Files of different sweeps are refused, and so are damaged files, points with different
rows, and points that are in none of the files. --partial leaves those out: the same
command with --resume --out OUT runs them. OUT may be one of the files. An OUT that is damaged,
of another sweep, or has points that no file has is not overwritten. Points of different
builds of the program are merged with a warning, or refused with --strict.

--format json has one object: file, points (of the whole sweep) and missing (the numbers of
points left out).`,
		Example: `  kernbench merge sweep.jsonl sweep.*-of-4.jsonl
  kernbench merge --partial sweep.jsonl sweep.1-of-4.jsonl sweep.3-of-4.jsonl`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return fmt.Errorf("name the file to write, and those to put together%s", seeHelp(cmd))
			}
			return nil
		},
	}
	partial := cmd.Flags().Bool("partial", false, "points may be missing")
	strict := strictFlag(cmd)
	format := formatFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := wantJSONL("OUT", args[0]); err != nil {
			return badInput(err)
		}
		if err := new(file.Uses).Reads("shard", args[1:]...).Updates("OUT", args[0]).Check(); err != nil {
			return err
		}
		m, err := experiment.Merge(cmd.Context(), args[0], experiment.MergeOptions{Partial: *partial, Strict: *strict}, args[1:]...)
		switch {
		case errors.As(err, new(*experiment.WriteError)):
			return err
		case err != nil && len(m.Missing) > 0 && !*partial:
			return badInput(fmt.Errorf("%w; run those, or merge with --partial", err))
		case err != nil:
			return badInput(err)
		}
		if len(m.Programs) > 1 {
			warn(cmd.ErrOrStderr(), fmt.Sprintf("the points are of different builds of the program (%s): --strict refuses them", strings.Join(m.Programs, ", ")))
		}
		return printResult(cmd, *format, m)
	}
	return cmd
}
