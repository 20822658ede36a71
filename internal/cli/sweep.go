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
		Short: "Run a bench at every point of a grid of settings",
		Long: `Sweep runs a bench at every point of a grid. A YAML file describes the grid:
machines, settings as for --set, and parameters of the bench. docs/use/sweeps.md
has the keys of the file. All points are checked before the first one runs.
Points run in parallel, on one thread each.

A finished point is written to --out at once. --resume continues an interrupted
or killed sweep without repeating finished points. --shard I/N runs every N-th
point, to divide a sweep over several computers. The command merge merges the
files.

Flags override the file, and the file overrides ./topology.yaml, ./ccl.yaml and
./tasks.yaml. File names in the file are relative to its folder.

A point that fails does not stop the others.

--format json prints an object with the keys sweep, bench, file, ok, total,
points (a list with the keys point, settings and row) and schema. With --dry-run
it prints a list of objects with the keys point and settings.`,
		Example: `  kernbench sweep sweep.yaml
  kernbench sweep sweep.yaml --dry-run
  kernbench sweep sweep.yaml --out bandwidth.jsonl --resume
  kernbench sweep sweep.yaml --shard 2/4 --set sip.ucie.bandwidth=256GB/s`,
		Args: oneArg("FILE", "no FILE: name one"),
	}
	flags := addConfigFlags(cmd, setup.Program...)
	format := formatFlag(cmd, "csv")
	points := addPointFlags(cmd, "./SWEEP.jsonl")
	dry := cmd.Flags().Bool("dry-run", false, "check all points and print them")
	var workers int
	intFlag(cmd, &workers, "workers", 0, "number `N` of points in parallel, 0 for one on each core; results do not depend on it")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o, err := points.options()
		if err == nil {
			err = refuse(cmd,
				misuse{"dry-run", *dry && (o.Resume || o.Replace || *points.report != ""), "looks at no results: leave out --resume, --replace and --report"},
				misuse{"workers", workers < 0 || workers > maxThreads, fmt.Sprintf("%d: write 0 to %d", workers, maxThreads)})
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
		p, err := startPoints(cmd, "sweep", &o)
		if err != nil {
			return err
		}
		r, err := plan.Run(p.Context(cmd.Context()), o)
		p.Stop()
		if err := finishPoints(cmd.ErrOrStderr(), o, err); err != nil {
			return err
		}
		if err := printResult(cmd, *format, r); err != nil {
			return err
		}
		about, t := r.Page()
		if err := writeReport(cmd, *points.report, about, t); err != nil {
			return err
		}
		return pointsError(o, r.Failed, r.OK, r.Wrong)
	}
	return cmd
}

func mergeCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "merge OUT FILE...",
		Short: "Merge the shards of a sweep",
		Long: `Merge merges files that the command sweep or coll wrote with --shard. OUT gets
the same bytes as the file of the whole sweep. OUT may be one of the merged
files.

Merge refuses files of different sweeps, damaged files, points with different
rows, and missing points. With --partial, points may be missing; the command
sweep or coll with --resume --out OUT then runs them. Merge does not overwrite
an OUT that is damaged, belongs to another sweep, or has points that no file
has.

--format json prints an object with the keys file, points (how many the sweep
has) and missing (indices of points).`,
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
	cmd.Flags().BoolVar(&o.Partial, "partial", false, "allow missing points")
	strictFlag(cmd, &o.Strict)
	return setRun(cmd, func(cmd *cobra.Command, args []string) (result, error) {
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
