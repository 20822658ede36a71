package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/internal/reference"
	"github.com/kernbench/kernbench/internal/results"
	"github.com/kernbench/kernbench/internal/table"
	"github.com/kernbench/kernbench/internal/version"
)

// compareReference prints ours beside a reference, or which references there are.
func compareReference(cmd *cobra.Command, name, format string) error {
	if name == "" {
		return listReferences(cmd.OutOrStdout(), format)
	}
	if _, err := reference.Get(name); err != nil {
		return badInput(err)
	}
	p := startProgress(cmd.ErrOrStderr(), name)
	b, err := reference.Run(cmd.Context(), name)
	p.stop()
	if err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	switch format {
	case "csv":
		return results.WriteCSV(w, b.Table)
	case "json":
		return table.WriteJSON(w, besideJSON(b))
	}
	fmt.Fprintf(w, "# reference: %s, %s\n", b.Name, b.Title)
	writeKnown(w, "# ", b.Reference)
	writeLines(w, "# ours on", b.Systems)
	fmt.Fprintln(w)
	if err := table.WriteTable(w, b.Table.Columns, b.Table.Rows); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\ndifferent: %s\n", b.Difference)
	return err
}

// writeKnown writes what is known of a reference, and what is not.
func writeKnown(w io.Writer, indent string, r *reference.Reference) {
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

func listReferences(w io.Writer, format string) error {
	var list []*reference.Reference
	t := &results.Table{Columns: []string{"reference", "title", "date", "source"}}
	for _, name := range reference.Names() {
		r, err := reference.Get(name)
		if err != nil {
			return err
		}
		list = append(list, r)
		t.Rows = append(t.Rows, []string{name, r.Title, r.Date, strings.Join(r.Source, "; ")})
	}
	switch format {
	case "json":
		return table.WriteJSON(w, struct {
			References []*reference.Reference `json:"references"`
		}{list})
	case "csv":
		return results.WriteCSV(w, t)
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

// besideJSON is ours beside a reference, in JSON.
func besideJSON(b *reference.Beside) any {
	rows := make([]json.RawMessage, len(b.Table.Rows))
	for i := range rows {
		rows[i] = rowJSON(b.Table, i)
	}
	return struct {
		*reference.Beside
		Rows    []json.RawMessage `json:"rows"`
		Version string            `json:"version"`
	}{b, rows, version.Version}
}

// rowJSON is a row as an object in the order of its columns, numbers as numbers.
func rowJSON(t *results.Table, row int) json.RawMessage {
	var b strings.Builder
	for i, column := range t.Columns {
		cell := t.Rows[row][i]
		if _, isNumber := t.Number(row, i); !isNumber {
			cell = quoted(cell)
		}
		fmt.Fprintf(&b, "%c%s:%s", "{,"[min(i, 1)], quoted(column), cell)
	}
	return json.RawMessage(b.String() + "}")
}

func quoted(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err) // a text
	}
	return string(raw)
}
