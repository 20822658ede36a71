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

// Series is the points of a line, of bars of a colour, or of a row of a heat map.
type Series struct {
	Name   string  `json:"name"`
	Column string  `json:"column"` // of y
	Points []Point `json:"points"`
	bound  bool
	factor float64 // to the unit of the first measured column
}

// Point is a cell of y and its place.
type Point struct {
	X any     `json:"x"` // a number, or the cell if it is none
	Y float64 `json:"y"`
}

// data is the rows and columns of a table that are drawn.
type data struct {
	*table.Table
	x      int
	ys, by []int
	rows   []int
	bare   bool // values of --by stand on an axis that says what they are
	series []Series
	notOK  int // points of rows whose checks failed
}

// matching returns the rows that have one of the values of each column that is asked for.
func (d *data) matching(conditions []string) ([]int, error) {
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

// shortList returns a few of a list.
func shortList(values []string) string {
	const few = 8
	if len(values) > few {
		return strings.Join(values[:few], ", ") + fmt.Sprintf(" and %d more", len(values)-few)
	}
	return strings.Join(values, ", ")
}

// A figure is a slide of 1280×720 pixels: more marks than maxMarks lie over one another, and
// more series than maxSeries leave no room beside their legend. The limits also bound the time
// and the memory to draw a figure, and its size: a mark is less than 1 KB of SVG.
const (
	maxMarks  = 10_000 // points, bars or cells
	maxSeries = 100    // of lines and bars
)

// count refuses more points than a figure has room for, before any is made.
func (d *data) count() error {
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

// countCells refuses more cells than a heat map has room for.
func (d *data) countCells() error {
	columns, rows := d.Distinct([]int{d.x}, d.rows), d.Distinct(d.by, d.rows)
	if n := columns * rows; n > maxMarks {
		return fmt.Errorf("%d × %d = %d cells, and a figure has at most %d: take fewer rows with --where, or other columns for -x and --by", columns, rows, n, maxMarks)
	}
	return nil
}

// read cuts the rows into series.
func (d *data) read(kind string) error {
	for _, y := range d.ys[1:] {
		if a, b := d.Columns[d.ys[0]], d.Columns[y]; !a.Unit.Same(b.Unit) {
			return fmt.Errorf("-y: %s and %s have different units: draw a picture of each", a.Name, b.Name)
		}
	}
	if err := cmp.Or(d.fits(), d.cut()); err != nil {
		return err
	}
	if n := len(d.series); n > maxSeries && kind != Heat {
		return fmt.Errorf("%d series, and a figure has at most %d: take fewer rows with --where, or another column for --by", n, maxSeries)
	}
	if kind == Lines {
		return d.sort()
	}
	return nil
}

// fits refuses numbers that no label has room for.
func (d *data) fits() error {
	const least, most = 1e-18, 1e18
	columns := append([]int{d.x}, d.ys...)
	for _, c := range d.by {
		if d.Columns[c].Unit != "" { // others are told as they are written
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

// cut makes series of the rows: in order of the columns, and for each of those in order
// of appearance of the values of --by.
func (d *data) cut() error {
	for _, y := range d.ys {
		from := d
		if d.bound(y) {
			from = d.ofBound(y)
		}
		series, err := from.cutColumn(y)
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

// bound reports whether a column is a bound of another that is drawn. Bounds alone are drawn
// as other columns are.
func (d *data) bound(column int) bool {
	is := func(c int) bool { return d.Columns[c].Role == table.Bound }
	return is(column) && slices.ContainsFunc(d.ys, func(y int) bool { return !is(y) })
}

func (d *data) cutColumn(y int) ([]Series, error) {
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
			name := d.name(d.byText(row, false), y)
			if slices.ContainsFunc(series, func(s Series) bool { return s.Name == name }) {
				name = d.name(d.byText(row, true), y) // numbers that differ in digits which are not told
			}
			series = append(series, Series{Name: name, Column: d.Columns[y].Name, bound: d.bound(y), factor: factor})
		}
		if !d.bound(y) && slices.ContainsFunc(checks, func(c int) bool { return failed(d.Rows[row][c]) }) {
			d.notOK++
		}
		series[i].Points = append(series[i].Points, Point{d.xOf(row), v})
	}
	return series, d.ambiguous(d.clashes(y))
}

// failed reports whether the cell of a check says that values are wrong.
func failed(cell any) bool { return cell != nil && cell != true && table.Text(cell) != "0" }

// ofBound returns the data that a bound is drawn from: without the columns of --by that make
// no difference to it, as the algorithm makes none to the bound of a machine, and with one
// row for each point.
func (d *data) ofBound(y int) *data {
	b := *d
	for _, c := range d.by {
		fewer := slices.DeleteFunc(slices.Clone(b.by), func(o int) bool { return o == c })
		if rows, same := d.oneRow(append(slices.Clone(fewer), d.x), y); same {
			b.by, b.rows = fewer, rows
		}
	}
	return &b
}

// oneRow returns the first of the rows that are alike in some columns, and whether the others
// have the same y.
func (d *data) oneRow(columns []int, y int) (rows []int, same bool) {
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

// xOf returns the x of a row, as a number if it is one.
func (d *data) xOf(row int) any {
	if v, ok := d.Number(row, d.x); ok {
		return v
	}
	return d.Text(row, d.x)
}

// byText names the values of --by of a row: words as they are, and, unless the values are to
// be exact, numbers with what they count.
func (d *data) byText(row int, exact bool) string {
	return strings.Join(lists.Map(d.by, func(c int) string {
		if exact {
			return d.Text(row, c)
		}
		return d.tell(row, c, !d.bare)
	}), ", ")
}

// tell returns a cell for people: a number with its unit, and with the words of its column if
// named; words, and texts such as "64 GB/s", as they are.
func (d *data) tell(row, column int, named bool) string {
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

// name returns the name of a series: the values of --by, and the column unless all others
// are bounds.
func (d *data) name(by string, y int) string {
	words := d.Columns[y].Words()
	alone := !d.bound(y) && !slices.ContainsFunc(d.ys, func(other int) bool { return other != y && !d.bound(other) })
	switch {
	case by == "":
		return words
	case alone:
		return by
	}
	return by + ", " + words
}

// sort puts the points of lines in order of x, all of which have to be numbers.
func (d *data) sort() error {
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
