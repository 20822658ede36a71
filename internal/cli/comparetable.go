package cli

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/compare"
	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/internal/table"
)

// compareStyle is how a comparison is printed.
type compareStyle struct {
	format string
	all    bool // what is equal too
}

// compared is the output of `kernbench compare --format json`.
type compared struct {
	A  string `json:"a"`
	B  string `json:"b"`
	OK bool   `json:"ok"`
	*compare.Sum
}

func (s compareStyle) print(w io.Writer, a, b string, sum *compare.Sum) error {
	if !s.all {
		for _, t := range sum.Tables {
			t.Cells = slices.DeleteFunc(t.Cells, func(c compare.Cell) bool { return c.Verdict == compare.Equal })
		}
	}
	switch s.format {
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
		var rows [][]string
		for _, c := range t.Cells {
			rows = append(rows, []string{c.Row, c.Column, c.A, c.B, changeText(c.Change), string(c.Verdict)})
		}
		if err := table.WriteTable(w, []string{"row", "column", "a", "b", "change", "verdict"}, rows); err != nil {
			return err
		}
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
