package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/internal/draw"
	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/internal/report"
	"github.com/kernbench/kernbench/internal/results"
)

// plotRequest is what the flags of `kernbench plot` say.
type plotRequest struct {
	x           string
	y, by       []string
	where       []string // COL=VALUE
	kind, log   string
	title, file string // file: the picture
}

// plotted is what `kernbench plot --format json` prints.
type plotted struct {
	Version string       `json:"version"` // of kernbench
	File    string       `json:"file"`
	Kind    string       `json:"kind"`
	X       string       `json:"x"`
	Y       []string     `json:"y"`
	Log     string       `json:"log"` // the logarithmic axes, or none
	Out     string       `json:"out"`
	NotOK   int          `json:"not_ok"` // points with ok false
	Series  []plotSeries `json:"series"`
}

func plotCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plot FILE",
		Short: "Draw columns of a file of results",
		Long: `Plot draws columns of a file that the tool wrote: CSV, the JSON of run and coll, and the
JSONL of sweeps. The picture is an SVG or a PNG of 1280×720, the size of a slide.

--kind lines has a line for each value of the columns of --by, and for each column of -y,
over the numbers of -x. bars has groups of bars instead, and takes words for -x. heat
colours a table whose columns are the values of -x, whose rows are those of --by and
whose cells are of one column -y.

--where takes the rows with that value of a column, of several for the same column those
with any of them. Rows with an empty cell are left out of lines and bars. Several rows for
the same x of one line, bar or cell are an error, which names the columns that would tell
them apart. Rows whose ok is false are drawn, and a message says how many points that are.
A figure has at most 10000 points, bars or cells, and at most 100 lines or 14 series of
bars: more are refused, with their number. More than 12 lines are drawn in several panels
with the same axes.

Columns that end in _ns, _us, _ms, _s, _gbs or bytes are labelled with their unit, and so are
those that begin with bytes. Those that begin with bound, roofline, formula, ideal, theory or
reference are theory, and dashed, unless they end in share or ratio; one that is the same
for all of --by is drawn once. Of lines, the x axis is logarithmic if the largest x is at
least 16 times the smallest, and the y axis if that holds for both. The colours of a heat
map are if it holds for them. --log says otherwise, y being the colours; bars are linear
unless it does.

--format json has the version, file, kind, x, y, the logarithmic axes (log), the picture (out),
the number of points whose ok is false (not_ok), and series of name, column and points of x and y.`,
		Example: `  kernbench plot summary.csv -x n_elem -y latency_ns,bound_ns --by sip_topology -o latency.svg
  kernbench plot buffer_kind.csv -x n_elem -y latency_ns --by buffer_kind --kind bars -o kinds.png
  kernbench plot sweep.jsonl -x n -y utilization --by m --where k=256 --kind heat -o use.svg
  kernbench coll all_reduce -t ring6 --algo all --format json > coll.json
  kernbench plot coll.json -x size -y time_us --by algorithm -o coll.svg`,
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
	var r plotRequest
	flags := cmd.Flags()
	flags.StringVarP(&r.x, "x", "x", "", "`COLUMN` along the bottom")
	flags.StringSliceVarP(&r.y, "y", "y", nil, "`COLUMN`s that are drawn, several with commas between")
	flags.StringSliceVar(&r.by, "by", nil, "`COLUMN` that tells series apart, or the rows of a heat map")
	flags.StringArrayVar(&r.where, "where", nil, "`COLUMN=VALUE` of the rows to draw; may be given several times")
	flags.StringVar(&r.title, "title", "", "`TEXT` above the picture (default: what is drawn)")
	flags.StringVarP(&r.file, "out", "o", "", "`FILE` to write, .svg or .png")
	log := wordFlag(cmd, "log", "", "logarithmic axes (default: as sizes suggest)", "", []string{"x", "y", "xy", "none"})
	kind := choiceFlag(cmd, "kind", "of picture", "lines", "bars", "heat")
	format := formatFlag(cmd)
	completeColumns(cmd, "x", "y", "by", "where")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r.log, r.kind = *log, *kind
		if err := r.check(); err != nil {
			return badInput(err)
		}
		var use files
		use.reads("results", args[0])
		use.writes("--out", r.file)
		if err := use.check(); err != nil {
			return err
		}
		table, err := readResults(cmd, args[0])
		if err != nil {
			return badInput(err)
		}
		data, err := r.read(table)
		if err != nil {
			return badInput(fmt.Errorf("%s: %w", args[0], err))
		}
		figure, axes := r.figure(data, filepath.Base(args[0]))
		picture, err := draw.Encode(r.file, figure)
		if err != nil {
			return badInput(err)
		}
		if err := file.Write(r.file, picture); err != nil {
			return badInput(err)
		}
		if data.notOK > 0 {
			fmt.Fprintf(cmd.ErrOrStderr(), "kernbench: %s drawn of rows whose ok is false: their values are wrong\n", counted(data.notOK, "point"))
		}
		out := cmd.OutOrStdout()
		if *format == "json" {
			return report.WriteJSON(out, plotted{report.Version, args[0], r.kind, r.x, r.y, axes, r.file, data.notOK, data.series})
		}
		points := 0
		for _, s := range data.series {
			points += len(s.Points)
		}
		fmt.Fprintf(out, "%s: %d series, %d points\n", r.file, len(data.series), points)
		return nil
	}
	return cmd
}

// check refuses what no file could make up for.
func (r *plotRequest) check() error {
	var missing []string
	for _, f := range []struct {
		flag string
		set  bool
	}{{"-x COLUMN", r.x != ""}, {"-y COLUMN", len(r.y) > 0}, {"-o FIG.svg or FIG.png", r.file != ""}} {
		if !f.set {
			missing = append(missing, f.flag)
		}
	}
	switch {
	case len(missing) > 0:
		return fmt.Errorf("say what to draw and where: %s", strings.Join(missing, ", "))
	case draw.CheckName(r.file) != nil:
		return fmt.Errorf("-o %w", draw.CheckName(r.file))
	case r.kind == "heat" && (len(r.by) == 0 || len(r.y) != 1):
		return errors.New("--kind heat takes one column -y, and the rows of its table from --by COLUMN")
	case r.kind != "lines" && strings.Contains(r.log, "x"):
		return fmt.Errorf("--log %s says nothing to --kind %s: drop it", r.log, r.kind)
	}
	return oneUnit(r.y)
}

// readResults reads a table, with a warning if it is of a sweep that has not ended.
func readResults(cmd *cobra.Command, path string) (*results.Table, error) {
	t, err := results.Read(cmd.Context(), path)
	if err == nil {
		warnMissing(cmd, path, t)
	}
	return t, err
}

// warnMissing warns of the points that a sweep has no rows of.
func warnMissing(cmd *cobra.Command, path string, t *results.Table) {
	if t.Missing > 0 {
		warn(cmd.ErrOrStderr(), fmt.Sprintf("%s has no rows of %s: kernbench sweep --resume runs what is missing", path, counted(t.Missing, "point")))
	}
}

// completeColumns teaches the shell the columns of the file that is named already.
func completeColumns(cmd *cobra.Command, flags ...string) {
	for _, flag := range flags {
		err := cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			table, err := results.Read(cmd.Context(), args[0])
			if err != nil {
				return nil, cobra.ShellCompDirectiveError
			}
			// The shell would obey what is not printable.
			table.Columns = slices.DeleteFunc(table.Columns, func(c string) bool { return printable.Line(c) != c })
			if flag != "where" {
				return table.Columns, cobra.ShellCompDirectiveNoFileComp
			}
			var words []string
			for _, c := range table.Columns {
				words = append(words, c+"=")
			}
			return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		})
		if err != nil {
			panic(err) // no such flag, or completed twice
		}
	}
}
