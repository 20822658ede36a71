package plot

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/table"
)

// Series is the points of a line, of the bars of one colour, or of a row of a heat map.
type Series struct {
	Name   string  `json:"name"`
	Column string  `json:"column"` // name of the column y
	Points []Point `json:"points"`
	bound  bool
	factor float64 // converts values to the unit of the first measured column
}

// Point is a value of y with its x.
type Point struct {
	X any     `json:"x"` // a number, or the text of a cell that is not a number
	Y float64 `json:"y"`
}

// data is the rows and columns of a table that are drawn.
type data struct {
	*table.Table
	x        int   // column of -x
	ys, by   []int // columns of -y and --by
	rows     []int // indices of the rows that are drawn
	byOnAxis bool  // an axis shows the values of --by, so that byText leaves out the words of their columns
	series   []Series
	notOK    int // number of points of rows whose checks failed
}

// matchingRows returns the rows that match all conditions COLUMN=VALUE. Of several
// conditions on one column, one must match. matchingRows returns an error if a condition
// matches no row, or if no row matches all conditions together.
func (d *data) matchingRows(conditions []string) ([]int, error) {
	allowed := map[int][]string{}
	for _, c := range conditions {
		name, value, ok := strings.Cut(c, "=")
		if !ok {
			return nil, fmt.Errorf("%q: write COLUMN=VALUE", c)
		}
		column, err := d.Find(name)
		if err != nil {
			return nil, err
		}
		if values := d.Values(column); !slices.Contains(values, value) {
			return nil, fmt.Errorf("no row has %s: %s is one of %s%s", c, name, shortList(values), config.DidYouMean(value, values))
		}
		allowed[column] = append(allowed[column], value)
	}
	rows := lists.Count(0, len(d.Rows))
	for column, values := range allowed {
		rows = slices.DeleteFunc(rows, func(row int) bool { return !slices.Contains(values, d.Text(row, column)) })
	}
	if len(rows) == 0 {
		return nil, errors.New("no row has all of these values: drop one")
	}
	return rows, nil
}

// shortList joins the first few values of a list, followed by the number of values left
// out.
func shortList(values []string) string {
	const few = 8
	if len(values) > few {
		return strings.Join(values[:few], ", ") + fmt.Sprintf(" and %d more", len(values)-few)
	}
	return strings.Join(values, ", ")
}

// Limits of a figure, which is a slide of 1280×720 pixels. More than maxMarks marks would
// overlap, and more than maxSeries series would leave no space for the plot next to their
// legend. The limits also bound the time and memory that drawing takes, and the size of the
// file: a mark takes less than 1 KB of SVG.
const (
	maxMarks  = 10_000 // points, bars or cells
	maxSeries = 100    // series of lines and bars
)

// checkPoints returns an error if there are more points than a figure can show. It counts
// the points before any point is created.
func (d *data) checkPoints() error {
	points := 0
	for _, row := range d.rows {
		for _, y := range d.ys {
			if d.Rows[row][y] != nil {
				points++
			}
		}
	}
	if points > maxMarks {
		return fmt.Errorf("%d points, and a figure has at most %d: take fewer rows with --where, or fewer columns with -y", points, maxMarks)
	}
	return nil
}

// checkCells returns an error if there are more cells than a heat map can show.
func (d *data) checkCells() error {
	columns, rows := d.Distinct([]int{d.x}, d.rows), d.Distinct(d.by, d.rows)
	if n := columns * rows; n > maxMarks {
		return fmt.Errorf("%d × %d = %d cells, and a figure has at most %d: take fewer rows with --where, or other columns for -x and --by", columns, rows, n, maxMarks)
	}
	return nil
}

// readSeries checks the data and splits the rows into series.
func (d *data) readSeries(kind string) error {
	for _, y := range d.ys[1:] {
		if a, b := d.Columns[d.ys[0]], d.Columns[y]; !a.Unit.Same(b.Unit) {
			return fmt.Errorf("-y: %s and %s have different units: draw a picture of each", a.Name, b.Name)
		}
	}
	if err := cmp.Or(d.checkNumbers(), d.splitRows()); err != nil {
		return err
	}
	if n := len(d.series); n > maxSeries && kind != Heat {
		return fmt.Errorf("%d series, and a figure has at most %d: take fewer rows with --where, or another column for --by", n, maxSeries)
	}
	if kind == Lines {
		return d.sortPoints()
	}
	return nil
}

// checkNumbers returns an error for numbers that are too large or too small for a label.
func (d *data) checkNumbers() error {
	const least, most = 1e-18, 1e18
	columns := append([]int{d.x}, d.ys...)
	for _, c := range d.by {
		if d.Columns[c].Unit != "" { // numbers without a unit are shown as they are in the file
			columns = append(columns, c)
		}
	}
	for _, row := range d.rows {
		for _, c := range columns {
			v, ok := d.Number(row, c)
			if size := math.Abs(v); ok && size != 0 && (size < least || size > most) {
				return fmt.Errorf("row %d has %s = %s, and numbers are drawn from %g to %g: leave such rows out with --where, or draw another column",
					row+1, d.Columns[c].Name, d.Text(row, c), least, most)
			}
		}
	}
	return nil
}

// splitRows splits the rows into series, in the order of the y columns. The series of a
// column are in the order in which the values of --by appear.
func (d *data) splitRows() error {
	for _, y := range d.ys {
		from := d
		if d.isBound(y) {
			from = d.boundData(y)
		}
		series, err := from.splitColumn(y)
		if err != nil {
			return err
		}
		d.series = append(d.series, series...)
	}
	if len(d.series) == 0 {
		return fmt.Errorf("-y: nothing to draw: all cells of %s are empty", d.Columns[d.ys[0]].Name)
	}
	return nil
}

// isBound reports whether a column is drawn as a bound: its role is bound, and at least one
// drawn column has another role. If all drawn columns have the role bound, they are drawn
// like measured columns.
func (d *data) isBound(column int) bool {
	is := func(c int) bool { return d.Columns[c].Role == table.Bound }
	return is(column) && slices.ContainsFunc(d.ys, func(y int) bool { return !is(y) })
}

// splitColumn splits the rows into the series of column y. It also counts the rows whose
// checks failed, in d.notOK.
func (d *data) splitColumn(y int) ([]Series, error) {
	var series []Series
	index := map[string]int{}
	checks := d.With(table.Check)
	factor := d.Columns[y].Unit.To(d.Columns[d.measures()[0]].Unit)
	for _, row := range d.rows {
		if d.Rows[row][y] == nil {
			continue
		}
		v, ok := d.Number(row, y)
		if !ok {
			return nil, fmt.Errorf("-y: row %d has %s = %q, which is no number to draw: leave such rows out with --where, or draw another column",
				row+1, d.Columns[y].Name, d.Text(row, y))
		}
		by := d.Key(row, d.by)
		i, ok := index[by]
		if !ok {
			i = len(series)
			index[by] = i
			name := d.seriesName(d.byText(row, false), y)
			if slices.ContainsFunc(series, func(s Series) bool { return s.Name == name }) {
				name = d.seriesName(d.byText(row, true), y) // formatted numbers differ only in digits that are not shown
			}
			series = append(series, Series{Name: name, Column: d.Columns[y].Name, bound: d.isBound(y), factor: factor})
		}
		if !d.isBound(y) && slices.ContainsFunc(checks, func(c int) bool { return failed(d.Rows[row][c]) }) {
			d.notOK++
		}
		series[i].Points = append(series[i].Points, Point{d.xValue(row), v})
	}
	return series, d.ambiguityError(d.clashes(y))
}

// failed reports whether a cell in a column with the role check says that values are wrong.
// An empty cell, true and 0 mean that the values are right.
func failed(cell any) bool { return cell != nil && cell != true && table.Text(cell) != "0" }

// boundData returns the data that a bound is drawn from. It leaves out the columns of --by
// that do not change the bound: for example, the column of algorithms if the bound depends
// only on the machine. It keeps one row for each point.
func (d *data) boundData(y int) *data {
	b := *d
	for _, c := range d.by {
		fewer := slices.DeleteFunc(slices.Clone(b.by), func(o int) bool { return o == c })
		if rows, same := d.uniqueRows(append(slices.Clone(fewer), d.x), y); same {
			b.by, b.rows = fewer, rows
		}
	}
	return &b
}

// uniqueRows groups the rows that are equal in the given columns, and returns the first row
// of each group. `same` reports whether the rows of each group are also equal in column y.
// If not, `rows` is nil.
func (d *data) uniqueRows(columns []int, y int) (rows []int, same bool) {
	first := map[string]string{}
	for _, row := range d.rows {
		key, text := d.Key(row, columns), d.Text(row, y)
		known, seen := first[key]
		if seen && known != text {
			return nil, false
		}
		if !seen {
			first[key], rows = text, append(rows, row)
		}
	}
	return rows, true
}

// xValue returns the value of column x in a row: a float64 if the cell is a number,
// otherwise the text of the cell.
func (d *data) xValue(row int) any {
	if v, ok := d.Number(row, d.x); ok {
		return v
	}
	return d.Text(row, d.x)
}

// byText returns the values of a row in the columns of --by, joined to one text. If `exact`
// is set, the values are as in the file. Otherwise formatCell formats them.
func (d *data) byText(row int, exact bool) string {
	return strings.Join(lists.Map(d.by, func(c int) string {
		if exact {
			return d.Text(row, c)
		}
		return d.formatCell(row, c, !d.byOnAxis)
	}), ", ")
}

// formatCell formats a cell for readers. A number gets its unit and, if `named` is set, the
// label or name of its column in front. Words, and texts such as "64 GB/s", do not change.
func (d *data) formatCell(row, column int, named bool) string {
	c, text := d.Columns[column], d.Text(row, column)
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	if c.Unit != "" {
		text = c.Unit.Format(v)
	}
	if named {
		text = c.Words() + " " + text
	}
	return text
}

// seriesName returns the name of a series: the values of --by, followed by the words of
// column y. Without --by, the name is only the words. If y is the only measured column, the
// name is only the values.
func (d *data) seriesName(by string, y int) string {
	words := d.Columns[y].Words()
	alone := !d.isBound(y) && !slices.ContainsFunc(d.ys, func(other int) bool { return other != y && !d.isBound(other) })
	switch {
	case by == "":
		return words
	case alone:
		return by
	}
	return by + ", " + words
}

// sortPoints sorts the points of lines by x. It returns an error if an x is not a number.
func (d *data) sortPoints() error {
	for _, s := range d.series {
		for _, p := range s.Points {
			if word, ok := p.X.(string); ok {
				return fmt.Errorf("-x: column %s has %q, and lines need numbers: draw --kind bars, or another column", d.Columns[d.x].Name, word)
			}
		}
		slices.SortFunc(s.Points, func(a, b Point) int { return cmp.Compare(a.X.(float64), b.X.(float64)) })
	}
	return nil
}
