package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/internal/compare"
	"github.com/kernbench/kernbench/internal/experiment"
	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/table"
)

func compareCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "What changed between two results, or ours beside numbers of others",
		Long: `Compare reads two files of results and prints what changed from A to B: CSV, JSON of
run, coll, probe and sweep, JSONL of experiments, or two folders of CSV files, as the
milestones write, whose files are compared by name.

The files say what their columns are: settings, by which rows are matched, results of
which less or more is better, checks, bounds and other results. Versions and hashes are
not compared. In files that do not say, as those of other programs, columns of words are
settings, and nothing is better or worse unless --lower or --higher names the column;
both flags also override what a file says. --key and --value name other columns to match
rows by and to compare. Rows of one file with the same keys are one if they are alike in
all columns, and else refused, with the columns that would tell them apart.

--threshold 2% lets all columns change by that much, --threshold latency_ns=0.5% one of
them, but never a check. The default is 0: same inputs, same numbers. Differences are
computed exactly.

The exit status is 1 if a value got worse by more than its threshold, or B lacks a
value, a row, a column or a file of A, and 2 if no row is in both; 0 otherwise. --format
json has a, b, ok, tables (name, keys, values, matched, missing, added, lost and new
columns, count of verdicts, cells), missing_files and new_files.

--reference puts our numbers beside those of others, which it measures now: without a
name it lists the references and their sources. --format json has reference, title,
source, date, about, unknown, columns (of theirs), systems, difference, schema and rows.`,
		Example: `  kernbench compare before.csv after.csv
  kernbench compare before.json after.json --threshold 2%
  kernbench compare old/ccl new/ccl --threshold latency_ns=1% --format csv
  kernbench compare ring.csv torus.csv --key n_elem --value latency_ns --all
  kernbench compare mine.csv yours.csv --lower seconds --higher requests
  kernbench compare --reference
  kernbench compare --reference tenstorrent_blackhole`,
	}
	var (
		ours   = cmd.Flags().Bool("reference", false, "put ours beside the numbers of others that the argument names")
		limits = cmd.Flags().StringArray("threshold", nil, "how much may change, `SHARE` or COLUMN=SHARE (default 0)")
		keys   = cmd.Flags().StringSlice("key", nil, "`COLUMNS` to match rows by (default: the settings)")
		values = cmd.Flags().StringSlice("value", nil, "`COLUMNS` to compare (default: all others)")
		lower  = cmd.Flags().StringSlice("lower", nil, "`COLUMNS` of which less is better (default: as the files say)")
		higher = cmd.Flags().StringSlice("higher", nil, "`COLUMNS` of which more is better (default: as the files say)")
		all    = cmd.Flags().Bool("all", false, "print what is equal too")
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
			return compareReference(cmd, strings.Join(args, ""), *format)
		}
		o := compare.Options{A: args[0], B: args[1], Keys: *keys, Values: *values, Lower: *lower, Higher: *higher}
		for _, text := range *limits {
			if err := o.Thresholds.Set(text); err != nil {
				return badInput(err)
			}
		}
		return compareFiles(cmd, args[0], args[1], o, *format, *all)
	}
	return cmd
}

// compareFiles compares two files or folders.
func compareFiles(cmd *cobra.Command, a, b string, o compare.Options, format string, all bool) error {
	if err := new(files).reads("A", a).reads("B", b).check(); err != nil {
		return err
	}
	tablesA, missingA, errA := experiment.ReadTables(cmd.Context(), a)
	tablesB, missingB, errB := experiment.ReadTables(cmd.Context(), b)
	if err := errors.Join(errA, errB); err != nil {
		return badInput(err)
	}
	warnMissing(cmd, a, missingA)
	warnMissing(cmd, b, missingB)
	sum, err := compare.All(tablesA, tablesB, o)
	if err != nil {
		return badInput(fmt.Errorf("%s and %s: %w", a, b, err))
	}
	for _, t := range sum.Tables {
		for _, name := range t.Unknown {
			warn(cmd.ErrOrStderr(), fmt.Sprintf("nothing says whether less or more %s is better: write --lower %[1]s or --higher %[1]s", printable.Line(name)))
		}
	}
	if err := printCompared(cmd.OutOrStdout(), a, b, sum, format, all); err != nil {
		return err
	}
	if sum.Matched() == 0 {
		return badInput(fmt.Errorf("nothing was compared: %s", unmatched(sum, a, b)))
	}
	if sum.Bad() {
		return wrong(trouble(sum, a, b))
	}
	return nil
}

// trouble says what is bad about B, in a sentence.
func trouble(s *compare.Sum, a, b string) string {
	worse, rows, columns := 0, 0, 0
	for _, n := range s.Tables {
		worse, rows, columns = worse+n.Count[compare.Worse], rows+len(n.Missing), columns+len(n.Lost)
	}
	var lacks []string
	for i, n := range []int{rows, columns, len(s.Missing)} {
		if n > 0 {
			lacks = append(lacks, printable.Count(n, []string{"row", "column", "file"}[i]))
		}
	}
	missing, than := strings.Join(lacks, ", "), fmt.Sprintf("%s is worse than %s in %s", b, a, printable.Count(worse, "value"))
	switch {
	case worse == 0:
		return fmt.Sprintf("%s lacks %s of %s", b, missing, a)
	case missing != "":
		return fmt.Sprintf("%s, and lacks %s of it", than, missing)
	}
	return than
}

// unmatched says why no row of A is in B, and what to do.
func unmatched(s *compare.Sum, a, b string) string {
	t := s.Tables[0]
	switch {
	case len(t.Missing) == 0:
		return fmt.Sprintf("%s has no rows: compare another file", a)
	case len(t.Added) == 0:
		return fmt.Sprintf("%s has no rows: compare another file", b)
	}
	return fmt.Sprintf("no row has the same %s in both: name the columns to match rows by with --key", strings.Join(t.Keys, ", "))
}

// compared is the output of `kernbench compare --format json`.
type compared struct {
	A  string `json:"a"`
	B  string `json:"b"`
	OK bool   `json:"ok"`
	*compare.Sum
}

// printCompared prints a comparison, with all what is equal too.
func printCompared(w io.Writer, a, b string, sum *compare.Sum, format string, all bool) error {
	if !all {
		for _, t := range sum.Tables {
			t.Cells = slices.DeleteFunc(t.Cells, func(c compare.Cell) bool { return c.Verdict == compare.Equal })
		}
	}
	switch format {
	case "json":
		return table.WriteJSON(w, compared{a, b, sum.Matched() > 0 && !sum.Bad(), sum})
	case "csv":
		return compareCSV(w, sum)
	}
	for i, t := range sum.Tables {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := compareText(w, t); err != nil {
			return err
		}
	}
	for _, name := range sum.Missing {
		fmt.Fprintf(w, "missing file: %s\n", name)
	}
	for _, name := range sum.Added {
		fmt.Fprintf(w, "new file: %s\n", name)
	}
	return nil
}

// compareText prints the table of what changed, what is there only once, and a summary.
func compareText(w io.Writer, t compare.Named) error {
	if t.Name != "" {
		fmt.Fprintf(w, "# %s\n", t.Name)
	}
	if len(t.Cells) > 0 {
		writeRows(w, []string{"row", "column", "a", "b", "change", "verdict"}, t.Cells, func(c compare.Cell) []string {
			return []string{c.Row, c.Column, c.A, c.B, changeText(c.Change), string(c.Verdict)}
		})
		fmt.Fprintln(w)
	}
	for _, list := range []struct {
		word  string
		names []string
	}{{"missing", t.Missing}, {"new", t.Added}, {"missing column", t.Lost}, {"new column", t.New}} {
		for _, name := range list.names {
			fmt.Fprintf(w, "%s: %s\n", list.word, name)
		}
	}
	if t.Matched == 0 {
		fmt.Fprintln(w, "no row of A is in B: say with --key what to match them by")
	}
	var counts []string
	for _, v := range []compare.Verdict{compare.Worse, compare.Better, compare.Changed, compare.Equal} {
		counts = append(counts, fmt.Sprintf("%d %s", t.Count[v], v))
	}
	by := ""
	if len(t.Keys) > 0 {
		by = " by " + strings.Join(t.Keys, ", ")
	}
	_, err := fmt.Fprintf(w, "%s matched%s: %s; %d missing, %d new\n", printable.Count(t.Matched, "row"), by, strings.Join(counts, ", "), len(t.Missing), len(t.Added))
	return err
}

// changeText returns a change in percent, to three digits.
func changeText(percent *float64) string {
	if percent == nil {
		return "-"
	}
	return fmt.Sprintf("%+.3g%%", *percent)
}

// compareCSV writes what changed, and rows, columns and files that only one side has.
func compareCSV(w io.Writer, sum *compare.Sum) error {
	t := &table.Table{}
	for _, name := range []string{"table", "row", "column", "a", "b", "change_percent", "verdict"} {
		t.Columns = append(t.Columns, table.Column{Name: name})
	}
	alone := func(verdict string, at func(name string) []any, names []string) {
		for _, name := range names {
			t.Rows = append(t.Rows, append(at(name), nil, nil, nil, verdict))
		}
	}
	for _, n := range sum.Tables {
		for _, c := range n.Cells {
			var change any
			if c.Change != nil {
				change = strconv.FormatFloat(*c.Change, 'g', -1, 64)
			}
			t.Rows = append(t.Rows, []any{n.Name, c.Row, c.Column, c.A, c.B, change, string(c.Verdict)})
		}
		row := func(name string) []any { return []any{n.Name, name, nil} }
		alone("missing", row, n.Missing)
		alone("new", row, n.Added)
		alone("missing", func(name string) []any { return []any{n.Name, nil, name} }, n.Lost)
	}
	file := func(name string) []any { return []any{name, nil, nil} }
	alone("missing", file, sum.Missing)
	alone("new", file, sum.Added)
	return t.WriteCSV(w)
}
