package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/internal/compare"
	"github.com/kernbench/kernbench/internal/progress"
	"github.com/kernbench/kernbench/internal/version"
	"github.com/kernbench/kernbench/table"
)

// compareReference prints a reference with our own numbers, or the list of references.
func compareReference(cmd *cobra.Command, name, format string) error {
	if name == "" {
		return listReferences(cmd.OutOrStdout(), format)
	}
	if _, err := compare.GetReference(name); err != nil {
		return badInput(err)
	}
	p := progress.Start(cmd.ErrOrStderr(), name)
	m, err := compare.Measure(cmd.Context(), name)
	p.Stop()
	if err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	switch format {
	case "csv":
		return m.Rows.WriteCSV(w)
	case "json":
		return table.WriteJSON(w, struct {
			*compare.Measured
			Version string `json:"version"`
		}{m, version.Version})
	}
	fmt.Fprintf(w, "# reference: %s, %s\n", m.Name, m.Title)
	writeKnown(w, "# ", m.Reference)
	writeLines(w, "# ours on", m.Systems)
	fmt.Fprintln(w)
	if err := m.Rows.WriteText(w); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\ndifferent: %s\n", m.Difference)
	return err
}

// writeKnown writes what is known of a reference, and what is not.
func writeKnown(w io.Writer, indent string, r *compare.Reference) {
	writeLines(w, indent+"source", r.Source)
	writeLines(w, indent+"date", []string{r.Date})
	writeLines(w, indent+"about", r.About)
	writeLines(w, indent+"not known", r.Unknown)
}

func writeLines(w io.Writer, word string, lines []string) {
	for _, line := range lines {
		fmt.Fprintf(w, "%s: %s\n", word, line)
	}
}

type referenceRow struct {
	Name   string `json:"reference" table:",setting"`
	Title  string `json:"title" table:",result"`
	Date   string `json:"date" table:",result"`
	Source string `json:"source" table:",result"`
}

func listReferences(w io.Writer, format string) error {
	var list []*compare.Reference
	var rows []referenceRow
	for _, name := range compare.References() {
		r, err := compare.GetReference(name)
		if err != nil {
			return err
		}
		list = append(list, r)
		rows = append(rows, referenceRow{name, r.Title, r.Date, strings.Join(r.Source, "; ")})
	}
	switch format {
	case "json":
		return table.WriteJSON(w, struct {
			References []*compare.Reference `json:"references"`
		}{list})
	case "csv":
		t, err := table.From(rows)
		if err != nil {
			return err
		}
		return t.WriteCSV(w)
	}
	for i, r := range list {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s: %s\n", r.Name, r.Title)
		writeKnown(w, "  ", r)
	}
	return nil
}
