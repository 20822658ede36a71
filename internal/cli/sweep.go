package cli

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/internal/experiment"
	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/setup"
	"github.com/kernbench/kernbench/internal/sweep"
)

func sweepCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sweep FILE",
		Short: "Run a bench at all points of a grid of settings",
		Long: `Sweep runs a bench at every point of a grid that a YAML file describes: systems,
settings as of --set, parameters of the bench. It checks all points before it runs
the first. Points run at the same time, on one thread each; the results do not depend
on how many do. A line on standard error shows how many have ended and about how long
the others will take.

A point that has ended is written to --out at once. --resume continues an interrupted
or killed sweep without repeating finished points; --replace begins anew. --shard I/N
runs every N-th point, for several machines; kernbench merge joins their files.

The file goes before ./topology.yaml, ./ccl.yaml and ./tasks.yaml, and flags go before
the file. Files that it names are relative to it. docs/use/sweeps.md has all its keys.

The exit status is 1 if values are wrong and 3 if points failed; other points are kept.

--format json has one object: sweep, bench, file, ok, total (points of the shard),
points of point, settings and row, and schema (the columns of settings, row, metrics
and rows). With --dry-run it is a list of point and settings.`,
		Example: `  kernbench sweep sweep.yaml
  kernbench sweep sweep.yaml --dry-run
  kernbench sweep sweep.yaml --out bandwidth.jsonl --resume
  kernbench sweep sweep.yaml --shard 2/4 --set sip.ucie.bandwidth=256GB/s`,
		Args: oneArg("FILE", "no FILE: name one"),
	}
	flags := addConfigFlags(cmd, setup.Program...)
	format := formatFlag(cmd, "csv")
	points := addPointFlags(cmd, "the name of the sweep with .jsonl, in the current folder")
	dry := cmd.Flags().Bool("dry-run", false, "check all points and print those that would run")
	var workers int
	intFlag(cmd, &workers, "workers", 0, "points to run side by side, 0 for one on each core; results do not depend on it")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o, err := points.options()
		if err == nil {
			err = refuse(cmd,
				misuse{"dry-run", *dry && (o.Resume || o.Replace || *points.report != ""), "looks at no results: leave out --resume, --replace and --report"},
				misuse{"workers", workers < 0 || workers > mostThreads, fmt.Sprintf("%d: write 0 to %d", workers, mostThreads)})
		}
		if err != nil {
			return badInput(err)
		}
		plan, err := sweep.New(cmd.Context(), args[0], flags.Choice)
		if err != nil {
			return badInput(err)
		}
		if !*dry {
			o.File = cmp.Or(o.File, sweep.DefaultOut(args[0], o.Shard))
			plan.Uses.Writes("--out", o.File).Writes("--report", *points.report)
		}
		if err := plan.Uses.Check(); err != nil {
			return err
		}
		if *dry {
			return plan.WritePoints(cmd.OutOrStdout(), o.Shard, *format)
		}
		o.Workers = workers
		shown, err := runPoints(cmd, "sweep", &o)
		if err != nil {
			return err
		}
		r, err := plan.Run(cmd.Context(), o)
		shown.Stop()
		if err := endPoints(cmd.ErrOrStderr(), o, err); err != nil {
			return err
		}
		if err := printResult(cmd, *format, r); err != nil {
			return err
		}
		about, t := r.Page()
		if err := writeReport(cmd, *points.report, about, t); err != nil {
			return err
		}
		return badPoints(o, r.Failed, r.OK, r.Wrong)
	}
	return cmd
}

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
	var o experiment.MergeOptions
	cmd.Flags().BoolVar(&o.Partial, "partial", false, "points may be missing")
	strictFlag(cmd, &o.Strict)
	return prints(cmd, func(cmd *cobra.Command, args []string) (result, error) {
		if filepath.Ext(args[0]) != ".jsonl" {
			return nil, badInput(errors.New("OUT " + args[0] + wantJSONL))
		}
		if err := new(file.Uses).Reads("shard", args[1:]...).Updates("OUT", args[0]).Check(); err != nil {
			return nil, err
		}
		m, err := experiment.Merge(cmd.Context(), args[0], o, args[1:]...)
		if err == nil && len(m.Programs) > 1 {
			warn(cmd.ErrOrStderr(), fmt.Sprintf("the points are of different builds of the program (%s): --strict refuses them", strings.Join(m.Programs, ", ")))
		}
		return m, err
	})
}
