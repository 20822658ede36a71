package table

import (
	"encoding/json"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kernbench/kernbench/internal/printable"
)

// WriteText writes the table for people: times, whole numbers and numbers of up to six
// digits as they are, other fractions to six digits, and - for nothing.
func (t *Table) WriteText(w io.Writer) error {
	rows := make([][]string, len(t.Rows))
	for i := range t.Rows {
		for c := range t.Columns {
			rows[i] = append(rows[i], t.Show(i, c))
		}
	}
	return WriteTable(w, t.Names(), rows)
}

// Show returns a cell as people read it.
func (t *Table) Show(row, col int) string {
	number, is := t.Rows[row][col].(json.Number)
	x, err := number.Float64()
	switch text := t.Text(row, col); {
	case text == "":
		return "-"
	case !is || err != nil || !strings.ContainsAny(text, ".e") || units[t.Columns[col].Unit].quantity == "time":
		return text
	case len(strings.Trim(text, "-0.")) <= 6 && math.Abs(x) >= 1e-4: // with its point
		return text
	}
	return strconv.FormatFloat(x, 'g', 6, 64)
}

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
