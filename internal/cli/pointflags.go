package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kernbench/kernbench/internal/experiment"
	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/page"
	"github.com/kernbench/kernbench/internal/plot"
	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/internal/progress"
	"github.com/kernbench/kernbench/internal/version"
	"github.com/kernbench/kernbench/table"
)

// pointFlags has the flags of a command that runs the points of an experiment.
type pointFlags struct {
	experiment.Options
	cmd           *cobra.Command
	shard, report *string
}

// addPointFlags adds to a command the flags of pointFlags. defaultOut describes the default
// of --out in the help.
func addPointFlags(cmd *cobra.Command, defaultOut string) *pointFlags {
	flags, f := cmd.Flags(), &pointFlags{cmd: cmd}
	flags.StringVar(&f.File, "out", "", "`FILE` for the results, .jsonl (default: "+defaultOut+")")
	flags.BoolVar(&f.Resume, "resume", false, "keep the points that --out has")
	flags.BoolVar(&f.Replace, "replace", false, "overwrite the points that --out has")
	strictFlag(cmd, &f.Strict)
	f.report = flags.String("report", "", "`FILE` for a page, .html, with a table, figures, the configuration and the command")
	f.shard = flags.String("shard", "", "run a part of the points, `I/N`: 2/4 is the second of four")
	return f
}

// options returns the options that the flags choose. The field File is the value of --out,
// or "" if the flag was not given.
func (f *pointFlags) options() (o experiment.Options, err error) {
	o = f.Options
	if o.Shard, err = experiment.ParseShard(*f.shard); err != nil {
		return o, fmt.Errorf("--shard: %w", err)
	}
	notHTML := !slices.Contains([]string{".html", ".htm"}, filepath.Ext(*f.report))
	return o, refuse(f.cmd,
		misuse{"shard", o.Shard.N == 0, `"": write I/N, such as 2/4`},
		misuse{"resume", o.Resume && o.Replace, "and --replace: give one"},
		misuse{"strict", o.Strict && !o.Resume, "is for --resume: add it"},
		misuse{"report", *f.report != "" && notHTML, *f.report + ": the report is a page: write a name that ends in .html"},
		misuse{"out", filepath.Ext(o.File) != ".jsonl", o.File + wantJSONL})
}

// startPoints completes the options before points run: it sets the text that identifies the
// build of the program, and the functions that show progress and warnings. It starts and
// returns the display of progress. `name` is the name of the command in the display.
func startPoints(cmd *cobra.Command, name string, o *experiment.Options) (p *progress.Display, err error) {
	if o.Program, err = version.Program(); err != nil {
		return nil, fmt.Errorf("find out which program this is: %w", err)
	}
	p = progress.Start(cmd.ErrOrStderr(), name)
	o.Progress, o.Warn = p.Update, func(text string) { warn(p, text) }
	return p, nil
}

// finishPoints returns the error with which a command ends, given err, the error of running
// its points. It returns nil if err only says that some points failed, because the rows of
// the other points can be shown. For another error, it also prints a hint to continue with
// --resume if the finished points are in a file and the error is not about that file.
func finishPoints(w io.Writer, o experiment.Options, err error) error {
	switch {
	case err == nil, errors.As(err, new(*experiment.Failed)):
		return nil
	case o.File != "" && !errors.As(err, new(*experiment.FileError)) && !errors.As(err, new(*experiment.ReplacedError)):
		fmt.Fprintf(w, "kernbench: points that have ended are in %s: continue with --resume\n", printable.Line(o.File))
	}
	return err
}

// pointsError returns the error of a command if points failed, or if `ok` is false because
// values are wrong. `wrong` has an error for each wrong value. pointsError returns nil if
// no points failed and `ok` is true.
func pointsError(o experiment.Options, failed *experiment.Failed, ok bool, wrong []error) error {
	switch {
	case failed == nil && ok:
		return nil
	case failed == nil:
		return &exitError{exitWrong, errors.Join(limitErrors(wrong)...)}
	}
	errs := append(limitErrors(wrong), limitErrors(failed.Unwrap())...)
	if o.File != "" {
		errs = append(errs, fmt.Errorf("%d of %d points failed; the others are in %s: --resume runs the failed ones again", len(failed.Points), failed.Total, o.File))
	}
	return &exitError{exitFailed, errors.Join(errs...)}
}

// limitErrors returns the first 20 errors, and an error with the number of the others.
func limitErrors(errs []error) []error {
	const most = 20
	if len(errs) <= most {
		return errs
	}
	return append(errs[:most:most], fmt.Errorf("and %d more", len(errs)-most))
}

// wantJSONL is the text of an error after the name of a file that does not end in .jsonl;
// other commands would not read it.
const wantJSONL = ": the results are lines of JSON: write a name that ends in .jsonl"

// writeReport writes an HTML page with a table of results, figures of the table and the
// command line. It writes nothing if name is empty.
func writeReport(cmd *cobra.Command, name string, p page.Page, t *table.Table) error {
	if name == "" {
		return nil
	}
	html, err := plot.Results(p, t, commandLine(cmd))
	if err != nil {
		return err
	}
	if err = file.Write(name, html); err != nil {
		err = badInput(fmt.Errorf("--report: %w", err))
	}
	return err
}

// commandLine returns the command with its arguments and the flags that were given, quoted
// for a shell.
func commandLine(cmd *cobra.Command) string {
	words := append(strings.Fields(cmd.CommandPath()), cmd.Flags().Args()...)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Hidden { // an old name: the flag with the current name is set, too
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			words = append(words, "--"+f.Name+"="+v)
		}
	})
	for i, w := range words {
		words[i] = printable.ShellWord(w)
	}
	return strings.Join(words, " ")
}
