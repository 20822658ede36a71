package results

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
)

// Table is rows of cells, as written where they come from. Every row has a cell for each
// column; one that has nothing to say there has an empty one.
type Table struct {
	Columns  []string
	Rows     [][]string
	Settings int // how many of the first columns are settings of a sweep
	Missing  int // how many points of the sweep have no row
}

// Column is the index of a column. The error of a name that there is not lists those that
// there are.
func (t *Table) Column(name string) (int, error) {
	if i := slices.Index(t.Columns, name); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("no column %q: there are %s%s", name, strings.Join(t.Columns, ", "), config.DidYouMean(name, t.Columns))
}

// Number is a cell as a number, if it is a finite one.
func (t *Table) Number(row, col int) (float64, bool) { return finite(t.Rows[row][col]) }

// words reports whether a column has texts such as "64 GB/s" and no numbers: a setting, in the
// CSV of a sweep, whatever its name.
func (t *Table) words(col int) bool {
	some := false
	for i, row := range t.Rows {
		if _, is := t.Number(i, col); is {
			return false
		}
		some = some || row[col] != ""
	}
	return some
}

func finite(cell string) (float64, bool) {
	x, err := strconv.ParseFloat(cell, 64)
	return x, err == nil && !math.IsNaN(x) && !math.IsInf(x, 0)
}

// WriteCSV writes a table that [Read] reads back.
func WriteCSV(w io.Writer, t *Table) error {
	var b bytes.Buffer
	for _, row := range append([][]string{t.Columns}, t.Rows...) {
		for i, cell := range row {
			if i > 0 {
				b.WriteByte(',')
			}
			// An empty line is none, and one with # a comment: both only if the first cell is not quoted.
			if strings.ContainsAny(cell, ",\"\r\n") || strings.HasPrefix(cell, "#") || cell == "" && len(row) == 1 {
				cell = `"` + strings.ReplaceAll(cell, `"`, `""`) + `"`
			}
			b.WriteString(cell)
		}
		b.WriteByte('\n')
	}
	_, err := w.Write(b.Bytes())
	return err
}
