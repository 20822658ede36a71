package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/internal/draw"
	"github.com/kernbench/kernbench/internal/experiment"
	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/plot"
	"github.com/kernbench/kernbench/internal/printable"
)

func plotCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plot FILE",
		Short: "Draw columns of a file of results",
		Long: `Plot draws columns of a file of results: CSV; JSON of the commands run, coll,
probe and sweep; or JSONL of experiments. It draws an SVG or a PNG of 1280×720.

The defaults of flags follow from the roles of columns in the file; plot prints
them. A file without roles, for example of another program, needs -x and -y.

--kind lines draws a line for each value of the --by columns and each column of
-y, over the numbers of -x. --kind bars draws groups of bars; -x may be words.
--kind heat colours a table: its columns are the values of -x, its rows those of
--by, and its cells those of -y. Settings with a unit, such as 64 GB/s, are
numbers.

Several --where for the same column select rows with any of the values. Lines
and bars skip rows with an empty cell. Several rows for one point, bar or cell
are an error, which names the columns that distinguish them. Rows whose checks
failed are drawn, and counted in a message. A figure has at most 10000 points,
bars or cells, 100 lines and 14 series of bars.

Bounds are dashed lines. The subtitle has the settings that all rows share. In a
figure of lines, an axis is logarithmic if its largest value is at least 16
times its smallest; y only if x is too. So are the colours of a heat map, which
--log y chooses.

--format json prints an object with the keys version, file, kind, x, y, by, log,
out, not_ok (points whose checks failed) and series (name, column, points).`,
		Example: `  kernbench coll all_reduce -t ring6 --algo all --format json > coll.json
  kernbench plot coll.json -o coll.svg
  kernbench plot summary.csv -x n_elem -y latency_ns,bound_ns -o latency.svg
  kernbench plot buffer_kind.csv -x n_elem -y latency_ns --kind bars -o k.png
  kernbench plot sweep.jsonl -x n -y utilization --by m --where k=256 \
    --kind heat -o use.svg`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return nil
			}
			return fmt.Errorf("%d files: name one file of results, such as summary.csv%s", len(args), seeHelp(cmd))
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"csv", "json", "jsonl"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	var r plot.Request
	flags := cmd.Flags()
	flags.StringVarP(&r.X, "x", "x", "", "`COLUMN` of the x axis (default: the setting with the most numbers)")
	flags.StringSliceVarP(&r.Y, "y", "y", nil, "`COLUMNS` to draw (default: the first measured one and its bounds)")
	flags.StringSliceVar(&r.By, "by", nil, "`COLUMNS` that distinguish series, or the rows of a heat map (default: settings)")
	flags.StringArrayVar(&r.Where, "where", nil, "draw only rows with this `COLUMN=VALUE` (repeatable)")
	flags.StringVar(&r.Title, "title", "", "title of the picture, a `TEXT` (default: what is drawn)")
	out := flags.StringP("out", "o", "", "`FILE` to write, .svg or .png")
	log := wordFlag(cmd, "log", "", "logarithmic axes (default: by the range of values)", "", []string{"x", "y", "xy", "none"})
	kind := wordFlag(cmd, "kind", "", "kind of picture (default: lines for numbers, bars for words)", "", []string{plot.Lines, plot.Bars, plot.Heat})
	completeColumns(cmd, "x", "y", "by", "where")
	return setRun(cmd, func(cmd *cobra.Command, args []string) (result, error) {
		r.Log, r.Kind, r.Note = *log, *kind, filepath.Base(args[0])
		if *out == "" {
			return nil, badInput(errors.New("say where to draw: -o FIG.svg or FIG.png"))
		}
		if err := draw.CheckName(*out); err != nil {
			return nil, badInput(fmt.Errorf("-o %w", err))
		}
		if err := new(file.Uses).Reads("results", args[0]).Writes("--out", *out).Check(); err != nil {
			return nil, err
		}
		tables, missing, err := experiment.ReadFile(cmd.Context(), args[0])
		if err != nil {
			return nil, badInput(err)
		}
		warnMissing(cmd, args[0], missing)
		r.About = tables[0].About
		f, err := plot.Draw(tables[0].Table, r)
		if err != nil {
			return nil, badInput(fmt.Errorf("%s: %w", args[0], err))
		}
		picture, err := draw.Encode(*out, f)
		if err != nil {
			return nil, badInput(err)
		}
		if err := file.Write(*out, picture); err != nil {
			return nil, badInput(err)
		}
		if f.NotOK > 0 {
			fmt.Fprintf(cmd.ErrOrStderr(), "kernbench: %s drawn of rows whose checks failed: their values are wrong\n", printable.Count(f.NotOK, "point"))
		}
		return f.Summary(args[0], *out), nil
	})
}

// warnMissing prints a warning if the sweep file at `path` is incomplete. `points` is the
// number of points whose rows the file lacks, or 0 if the file is complete.
func warnMissing(cmd *cobra.Command, path string, points int) {
	if points > 0 {
		warn(cmd.ErrOrStderr(), fmt.Sprintf("%s has no rows of %s: kernbench sweep --resume runs what is missing", path, printable.Count(points, "point")))
	}
}

// completeColumns makes the shell complete the values of flags with the names of the
// columns in the file that the command line names.
func completeColumns(cmd *cobra.Command, flags ...string) {
	for _, flag := range flags {
		err := cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			tables, _, err := experiment.ReadFile(cmd.Context(), args[0])
			if err != nil {
				return nil, cobra.ShellCompDirectiveError
			}
			// The terminal could interpret unprintable characters as commands.
			words := slices.DeleteFunc(tables[0].Names(), func(c string) bool { return printable.Line(c) != c })
			if flag != "where" {
				return words, cobra.ShellCompDirectiveNoFileComp
			}
			for i := range words {
				words[i] += "="
			}
			return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		})
		if err != nil {
			panic(err) // no such flag, or completed twice
		}
	}
}
