// Package table writes tables of results.
package table

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/kernbench/kernbench/internal/printable"
)

// WriteTable writes rows under a header in aligned columns, two spaces apart.
// Columns of numbers are aligned on the right, others on the left. Every row
// has as many cells as the header. Cells are escaped: each stays in its line.
func WriteTable(w io.Writer, header []string, rows [][]string) error {
	lines := make([][]string, 0, 1+len(rows))
	for _, row := range append([][]string{header}, rows...) {
		line := make([]string, len(row))
		for i, cell := range row {
			line[i] = printable.Line(cell)
		}
		lines = append(lines, line)
	}
	header, rows = lines[0], lines[1:]
	width, numeric := make([]int, len(header)), make([]bool, len(header))
	for i, h := range header {
		width[i], numeric[i] = utf8.RuneCountInString(h), len(rows) > 0
	}
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
			numeric[i] = numeric[i] && strings.Trim(cell, "-+.0123456789eE%") == ""
		}
	}
	var b strings.Builder
	for _, row := range lines {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if numeric[i] {
				line.WriteString(pad + cell + "  ")
			} else {
				line.WriteString(cell + pad + "  ")
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteJSON writes a value as indented JSON.
func WriteJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // link names have arrows
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}
