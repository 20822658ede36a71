package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/internal/compare"
	"github.com/kernbench/kernbench/internal/experiment"
	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/internal/progress"
)

func compareCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Compare two results, or ours with published numbers",
		Long: `Compare prints what changed from file A to file B. The files are CSV; JSON of
the commands run, coll, probe and sweep; JSONL of experiments; or two folders of
CSV files, which are paired by name.

The files give each column one of these roles: a setting (rows with equal
settings are paired), a result that should be low, a result that should be high,
a check, a bound, or another result. Versions and hashes are not compared. In
files without roles, for example of other programs, columns of words are
settings. A changed result of such a file counts as better or worse only if
--lower or --higher names its column. Rows of one file with equal settings must
be equal in all columns; otherwise compare fails and names the columns that
distinguish them.

--threshold 2% ignores a change of up to 2% in any column; --threshold
latency_ns=0.5% sets the limit of one column. Any change of a check counts.
Numbers are compared as exact decimals, without rounding.

The exit status is 1 if a value got worse by more than its threshold, or if B
lacks a value, row, column or file of A. It is 2 if no row is in both files.

--reference simulates what others have published and prints both numbers.
Without a name it lists the references and their sources.

--format json prints one object: a, b, ok, tables, missing_files and new_files;
with --reference: reference, title, source, date, about, unknown, columns,
systems, difference, schema and rows.`,
		Example: `  kernbench compare before.csv after.csv
  kernbench compare before.json after.json --threshold 2%
  kernbench compare old/ccl new/ccl --threshold latency_ns=1% --format csv
  kernbench compare ring.csv torus.csv --key n_elem --value latency_ns --all
  kernbench compare mine.csv yours.csv --lower seconds --higher requests
  kernbench compare --reference tenstorrent_blackhole`,
	}
	var (
		ours   = cmd.Flags().Bool("reference", false, "compare with the published numbers that the argument names")
		limits = cmd.Flags().StringArray("threshold", nil, "allowed change, `SHARE` or COLUMN=SHARE (default 0)")
		keys   = cmd.Flags().StringSlice("key", nil, "`COLUMNS` to pair rows by (default: settings)")
		values = cmd.Flags().StringSlice("value", nil, "`COLUMNS` to compare (default: all others)")
		lower  = cmd.Flags().StringSlice("lower", nil, "`COLUMNS` of which less is better (default: as in the files)")
		higher = cmd.Flags().StringSlice("higher", nil, "`COLUMNS` of which more is better (default: as in the files)")
		all    = cmd.Flags().Bool("all", false, "also print equal values")
		format = formatFlag(cmd, "csv")
	)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if *ours {
			return compare.References(), cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveDefault
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if *ours {
			if err := refuseAll(cmd, "is for two files: leave it out with --reference", "threshold", "key", "value", "lower", "higher", "all"); err != nil {
				return err
			}
			return atMostOne("reference")(cmd, args)
		}
		if len(args) != 2 {
			return fmt.Errorf("%s: name two, A and B, or write --reference%s", printable.Count(len(args), "result"), seeHelp(cmd))
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *ours {
			r, err := reference(cmd, strings.Join(args, ""))
			if err != nil {
				return err
			}
			return printResult(cmd, *format, r)
		}
		o := compare.Options{A: args[0], B: args[1], Keys: *keys, Values: *values, Lower: *lower, Higher: *higher}
		for _, text := range *limits {
			if err := o.Thresholds.Set(text); err != nil {
				return badInput(err)
			}
		}
		return compareFiles(cmd, o, *format, *all)
	}
	return cmd
}

// compareFiles compares the two result files or folders that `o` names and prints the
// comparison. Unless `all` is true, it prints only values that have changed. It returns an
// error if a value of B is worse than in A, if B lacks a part of A, or if nothing could be
// compared.
func compareFiles(cmd *cobra.Command, o compare.Options, format string, all bool) error {
	if err := new(file.Uses).Reads("A", o.A).Reads("B", o.B).Check(); err != nil {
		return err
	}
	tablesA, missingA, errA := experiment.ReadTables(cmd.Context(), o.A)
	tablesB, missingB, errB := experiment.ReadTables(cmd.Context(), o.B)
	if err := errors.Join(errA, errB); err != nil {
		return badInput(err)
	}
	warnMissing(cmd, o.A, missingA)
	warnMissing(cmd, o.B, missingB)
	sum, err := compare.All(tablesA, tablesB, o)
	if err != nil {
		return badInput(fmt.Errorf("%s and %s: %w", o.A, o.B, err))
	}
	for _, t := range sum.Tables {
		for _, name := range t.Unknown {
			warn(cmd.ErrOrStderr(), fmt.Sprintf("nothing says whether less or more %s is better: write --lower %[1]s or --higher %[1]s", printable.Line(name)))
		}
	}
	if !all {
		sum.KeepChanges()
	}
	if err := printResult(cmd, format, sum); err != nil {
		return err
	}
	if sum.Matched() == 0 {
		return badInput(fmt.Errorf("nothing was compared: %s", sum.Unmatched()))
	}
	if sum.Bad() {
		return wrongResult(sum.Trouble())
	}
	return nil
}

// reference runs the measurement that corresponds to the named reference, and returns a
// comparison of the measurement with the reference. If name is empty, it returns the list
// of references.
func reference(cmd *cobra.Command, name string) (result, error) {
	if name == "" {
		return compare.ListReferences()
	}
	if _, err := compare.GetReference(name); err != nil {
		return nil, badInput(err)
	}
	p := progress.Start(cmd.ErrOrStderr(), name)
	defer p.Stop()
	return compare.Measure(p.Context(cmd.Context()), name)
}
