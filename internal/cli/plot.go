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
		Long: `Plot draws columns of a file that the tool wrote: CSV, the JSON of run, coll, probe and
sweep, and the JSONL of experiments. The picture is an SVG or a PNG of 1280×720, the
size of a slide.

What is not said is chosen by what the file says of its columns, and printed: -y is the
first column that was measured, with its bounds; -x the setting with the most numbers;
--by the settings that tell the rows apart; --kind lines over numbers, else bars. A file
that says nothing of its columns, as those of other programs, needs -x and -y.

--kind lines has a line for each value of the columns of --by, and for each column of
-y, over the numbers of -x. bars has groups of bars instead, and takes words for -x.
heat colours a table whose columns are the values of -x, whose rows are those of --by
and whose cells are of one column -y. Settings with a unit, such as 64 GB/s, are
numbers.

--where takes the rows with that value of a column, of several for the same column those
with any of them. Rows with an empty cell are left out of lines and bars. Several rows
for the same x of one line, bar or cell are an error, which names the columns that would
tell them apart. Rows whose checks failed are drawn, and counted in a message. A figure
has at most 10000 points, bars or cells, and at most 100 lines or 14 series of bars.

Bounds are dashed lines; one that is the same for all of --by is drawn once. The
subtitle has the settings that are the same in all rows. Of lines, the x axis is
logarithmic if the largest x is at least 16 times the smallest, and the y axis if that
holds for both; colours of a heat map if it holds for them. --log says otherwise, y
being the colours.

--format json has version, file, kind, x, y, by, log (the logarithmic axes), out, not_ok
(points whose checks failed), and series of name, column and points of x and y.`,
		Example: `  kernbench coll all_reduce -t ring6 --algo all --format json > coll.json
  kernbench plot coll.json -o coll.svg
  kernbench plot summary.csv -x n_elem -y latency_ns,bound_ns --by sip_topology -o latency.svg
  kernbench plot buffer_kind.csv -x n_elem -y latency_ns --kind bars -o kinds.png
  kernbench plot sweep.jsonl -x n -y utilization --by m --where k=256 --kind heat -o use.svg`,
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
	flags.StringVarP(&r.X, "x", "x", "", "`COLUMN` along the bottom (default: the setting with the most numbers)")
	flags.StringSliceVarP(&r.Y, "y", "y", nil, "`COLUMN`s to draw, several with commas between (default: the first measured one and its bounds)")
	flags.StringSliceVar(&r.By, "by", nil, "`COLUMN`s that tell series apart, or the rows of a heat map (default: the settings that do)")
	flags.StringArrayVar(&r.Where, "where", nil, "`COLUMN=VALUE` of the rows to draw; may be given several times")
	flags.StringVar(&r.Title, "title", "", "`TEXT` above the picture (default: what is drawn)")
	out := flags.StringP("out", "o", "", "`FILE` to write, .svg or .png")
	log := wordFlag(cmd, "log", "", "logarithmic axes (default: as sizes suggest)", "", []string{"x", "y", "xy", "none"})
	kind := wordFlag(cmd, "kind", "", "kind of picture (default: lines over numbers, bars over words)", "", []string{plot.Lines, plot.Bars, plot.Heat})
	completeColumns(cmd, "x", "y", "by", "where")
	return prints(cmd, func(cmd *cobra.Command, args []string) (result, error) {
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

// warnMissing warns of the points that a sweep has no rows of.
func warnMissing(cmd *cobra.Command, path string, points int) {
	if points > 0 {
		warn(cmd.ErrOrStderr(), fmt.Sprintf("%s has no rows of %s: kernbench sweep --resume runs what is missing", path, printable.Count(points, "point")))
	}
}

// completeColumns teaches the shell the columns of the file that is named already.
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
			// The shell would obey what is not printable.
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
