package cli

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/results"
	"github.com/kernbench/kernbench/internal/table"
)

// compareStyle is how a comparison is printed.
type compareStyle struct {
	format string
	all    bool // what is equal too
}

// compared is what `kernbench compare --format json` prints.
type compared struct {
	A  string `json:"a"`
	B  string `json:"b"`
	OK bool   `json:"ok"`
	*results.Sum
}

func (s compareStyle) print(w io.Writer, a, b string, sum *results.Sum) error {
	if !s.all {
		for _, t := range sum.Tables {
			t.Cells = slices.DeleteFunc(t.Cells, func(c results.Cell) bool { return c.Verdict == results.Equal })
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
func compareText(w io.Writer, t results.Named) error {
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
	for _, v := range []results.Verdict{results.Worse, results.Better, results.Changed, results.Equal} {
		counts = append(counts, fmt.Sprintf("%d %s", t.Count[v], v))
	}
	by := ""
	if len(t.Keys) > 0 {
		by = " by " + strings.Join(t.Keys, ", ")
	}
	_, err := fmt.Fprintf(w, "%s matched%s: %s; %d missing, %d new\n", counted(t.Matched, "row"), by, strings.Join(counts, ", "), len(t.Missing), len(t.Added))
	return err
}

// changeText is a change in percent, to three digits.
func changeText(percent *float64) string {
	if percent == nil {
		return "-"
	}
	return fmt.Sprintf("%+.3g%%", *percent)
}

// compareCSV writes what changed, and rows and files that are there only once.
func compareCSV(w io.Writer, sum *results.Sum) error {
	t := &results.Table{Columns: []string{"table", "row", "column", "a", "b", "change_percent", "verdict"}}
	for _, n := range sum.Tables {
		for _, c := range n.Cells {
			change := ""
			if c.Change != nil {
				change = strconv.FormatFloat(*c.Change, 'g', -1, 64)
			}
			t.Rows = append(t.Rows, []string{n.Name, c.Row, c.Column, c.A, c.B, change, string(c.Verdict)})
		}
		for _, row := range n.Missing {
			t.Rows = append(t.Rows, []string{n.Name, row, "", "", "", "", "missing"})
		}
		for _, row := range n.Added {
			t.Rows = append(t.Rows, []string{n.Name, row, "", "", "", "", "new"})
		}
		for _, column := range n.Lost {
			t.Rows = append(t.Rows, []string{n.Name, "", column, "", "", "", "missing"})
		}
	}
	for _, name := range sum.Missing {
		t.Rows = append(t.Rows, []string{name, "", "", "", "", "", "missing"})
	}
	for _, name := range sum.Added {
		t.Rows = append(t.Rows, []string{name, "", "", "", "", "", "new"})
	}
	return results.WriteCSV(w, t)
}
