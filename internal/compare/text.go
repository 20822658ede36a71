package compare

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/table"
)

// KeepChanges removes the cells whose verdict is Equal from all tables.
func (s *Summary) KeepChanges() {
	for _, t := range s.Tables {
		t.Cells = slices.DeleteFunc(t.Cells, func(c Cell) bool { return c.Verdict == Equal })
	}
}

// Trouble returns a sentence that says how many values of B are worse than in A, and how
// many rows, columns and files of A are missing in B. It must be called only if Bad returns
// true.
func (s *Summary) Trouble() string {
	worse, rows, columns := 0, 0, 0
	for _, n := range s.Tables {
		worse, rows, columns = worse+n.Count[Worse], rows+len(n.Missing), columns+len(n.Lost)
	}
	var lacks []string
	for i, n := range []int{rows, columns, len(s.Missing)} {
		if n > 0 {
			lacks = append(lacks, printable.Count(n, []string{"row", "column", "file"}[i]))
		}
	}
	missing, than := strings.Join(lacks, ", "), fmt.Sprintf("%s is worse than %s in %s", s.B, s.A, printable.Count(worse, "value"))
	switch {
	case worse == 0:
		return fmt.Sprintf("%s lacks %s of %s", s.B, missing, s.A)
	case missing != "":
		return fmt.Sprintf("%s, and lacks %s of it", than, missing)
	}
	return than
}

// Unmatched returns a sentence that says why no row of A matches a row of B in the first
// table, and what to do about it.
func (s *Summary) Unmatched() string {
	t := s.Tables[0]
	switch {
	case len(t.Missing) == 0:
		return fmt.Sprintf("%s has no rows: compare another file", s.A)
	case len(t.Added) == 0:
		return fmt.Sprintf("%s has no rows: compare another file", s.B)
	}
	return fmt.Sprintf("no row has the same %s in both: name the columns to match rows by with --key", strings.Join(t.Keys, ", "))
}

// WriteText writes the comparison of each table, and the files that only one side has.
func (s *Summary) WriteText(w io.Writer) error {
	for i, t := range s.Tables {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := t.writeText(w); err != nil {
			return err
		}
	}
	writeLines(w, "missing file", s.Missing)
	writeLines(w, "new file", s.Added)
	return nil
}

// writeText writes the compared cells, the rows and columns that only one side has, and a
// summary.
func (t Named) writeText(w io.Writer) error {
	if t.Name != "" {
		fmt.Fprintf(w, "# %s\n", t.Name)
	}
	if len(t.Cells) > 0 {
		table.WriteList(w, []string{"row", "column", "a", "b", "change", "verdict"}, t.Cells, func(c Cell) []string {
			return []string{c.Row, c.Column, c.A, c.B, changeText(c.Change), string(c.Verdict)}
		})
		fmt.Fprintln(w)
	}
	writeLines(w, "missing", t.Missing)
	writeLines(w, "new", t.Added)
	writeLines(w, "missing column", t.Lost)
	writeLines(w, "new column", t.New)
	if t.Matched == 0 {
		fmt.Fprintln(w, "no row of A is in B: say with --key what to match them by")
	}
	counts := lists.Map([]Verdict{Worse, Better, Changed, Equal}, func(v Verdict) string { return fmt.Sprintf("%d %s", t.Count[v], v) })
	by := ""
	if len(t.Keys) > 0 {
		by = " by " + strings.Join(t.Keys, ", ")
	}
	_, err := fmt.Fprintf(w, "%s matched%s: %s; %d missing, %d new\n", printable.Count(t.Matched, "row"), by, strings.Join(counts, ", "), len(t.Missing), len(t.Added))
	return err
}

// changeText formats a change in percent with three significant digits, or as "-" if it is
// nil.
func changeText(percent *float64) string {
	if percent == nil {
		return "-"
	}
	return fmt.Sprintf("%+.3g%%", *percent)
}

// WriteCSV writes the compared cells, the rows and files that only one side has, and the
// columns of A that are missing in B.
func (s *Summary) WriteCSV(w io.Writer) error {
	names := []string{"table", "row", "column", "a", "b", "change_percent", "verdict"}
	t := &table.Table{Columns: lists.Make(len(names), func(i int) table.Column { return table.Column{Name: names[i]} })}
	addUnmatched := func(verdict string, at func(name string) []any, names []string) {
		for _, name := range names {
			t.Rows = append(t.Rows, append(at(name), nil, nil, nil, verdict))
		}
	}
	for _, n := range s.Tables {
		for _, c := range n.Cells {
			var change any
			if c.Change != nil {
				change = strconv.FormatFloat(*c.Change, 'g', -1, 64)
			}
			t.Rows = append(t.Rows, []any{n.Name, c.Row, c.Column, c.A, c.B, change, string(c.Verdict)})
		}
		row := func(name string) []any { return []any{n.Name, name, nil} }
		addUnmatched("missing", row, n.Missing)
		addUnmatched("new", row, n.Added)
		addUnmatched("missing", func(name string) []any { return []any{n.Name, nil, name} }, n.Lost)
	}
	file := func(name string) []any { return []any{name, nil, nil} }
	addUnmatched("missing", file, s.Missing)
	addUnmatched("new", file, s.Added)
	return t.WriteCSV(w)
}
