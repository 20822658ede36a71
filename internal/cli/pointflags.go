package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/internal/experiment"
	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/internal/version"
)

// pointFlags are the flags of a command that runs the points of an experiment.
type pointFlags struct {
	cmd                     *cobra.Command
	out, part, report       *string
	resume, replace, strict *bool
}

// addPointFlags gives a command the flags; which says what --out is by default.
func addPointFlags(cmd *cobra.Command, which string) *pointFlags {
	flags := cmd.Flags()
	return &pointFlags{
		cmd:     cmd,
		out:     flags.String("out", "", "`FILE` for the results, lines of JSON (default: "+which+")"),
		resume:  flags.Bool("resume", false, "take over the points that --out has already"),
		replace: flags.Bool("replace", false, "begin anew where --out has points"),
		strict:  strictFlag(cmd),
		report:  addReport(cmd),
		part:    flags.String("shard", "", "run a part of the points, as `I/N`: 2/4 is the second of four"),
	}
}

// options returns what the flags choose, the file as it was given.
func (f *pointFlags) options() (o experiment.Options, err error) {
	o = experiment.Options{File: *f.out, Resume: *f.resume, Replace: *f.replace, Strict: *f.strict}
	if o.Shard, err = experiment.ParseShard(*f.part); err != nil {
		return o, fmt.Errorf("--shard: %w", err)
	}
	err = refuse(f.cmd,
		misuse{"shard", o.Shard.N == 0, `"": write I/N, such as 2/4`},
		misuse{"resume", o.Resume && o.Replace, "and --replace: give one"},
		misuse{"strict", o.Strict && !o.Resume, "is for --resume: add it"})
	if err == nil {
		err = checkReport(*f.report)
	}
	if err == nil && f.cmd.Flags().Changed("out") {
		err = wantJSONL("--out", o.File)
	}
	return o, err
}

// runPoints begins to show the progress of points, and names the program that runs them.
func runPoints(cmd *cobra.Command, name string, o *experiment.Options) (p *progress, err error) {
	if o.Program, err = version.Program(); err != nil {
		return nil, fmt.Errorf("find out which program this is: %w", err)
	}
	p = startProgress(cmd.ErrOrStderr(), name)
	o.Progress, o.Warn = p.tell, func(text string) { warn(p, text) }
	return p, nil
}

// endPoints returns the error that a command ends with whose points ended with an error. It
// returns nil for points that failed: the rows of the others can be shown.
func endPoints(w io.Writer, o experiment.Options, err error) error {
	switch {
	case err == nil, errors.As(err, new(*experiment.Failed)):
		return nil
	case errors.As(err, new(*experiment.FileError)):
		return badInput(err)
	case o.File != "" && !errors.As(err, new(*experiment.ReplacedError)):
		fmt.Fprintf(w, "kernbench: points that have ended are in %s: go on with --resume\n", printable.Line(o.File))
	}
	return err
}

// badPoints returns the error of a command some of whose points failed, or have wrong values. It
// returns nil if none did.
func badPoints(o experiment.Options, failed *experiment.Failed, ok bool, wrong []error) error {
	switch {
	case failed == nil && ok:
		return nil
	case failed == nil:
		return &exitError{exitWrong, errors.Join(few(wrong)...)}
	}
	errs := append(few(wrong), few(failed.Unwrap())...)
	if o.File != "" {
		errs = append(errs, fmt.Errorf("%d of %d points failed; the others are in %s: --resume runs the failed ones again", len(failed.Points), failed.Total, o.File))
	}
	return &exitError{exitFailed, errors.Join(errs...)}
}

// few returns the first errors of many.
func few(errs []error) []error {
	const most = 20
	if len(errs) <= most {
		return errs
	}
	return append(errs[:most:most], fmt.Errorf("and %d more", len(errs)-most))
}

// wantJSONL refuses names of results that no other command would read.
func wantJSONL(what, name string) error {
	if filepath.Ext(name) != ".jsonl" {
		return fmt.Errorf("%s %s: the results are lines of JSON: write a name that ends in .jsonl", what, name)
	}
	return nil
}
