package plot

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/experiment"
	"github.com/kernbench/kernbench/internal/table"
)

// Series is the points of a line, of bars of a colour, or of a row of a heat map.
type Series struct {
	Name   string  `json:"name"`
	Column string  `json:"column"` // of y
	Points []Point `json:"points"`
	bound  bool
	factor float64 // to the unit of the first column
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

// find returns the columns of some names.
func (d *data) find(names []string) (columns []int, err error) {
	for _, name := range names {
		c, err := d.Find(name)
		if err != nil {
			return nil, err
		}
		columns = append(columns, c)
	}
	return columns, nil
}

func (d *data) names(columns []int) (names []string) {
	for _, c := range columns {
		names = append(names, d.Columns[c].Name)
	}
	return names
}

// measured returns the columns with numbers of which less or more is better, without those of
// points that their rows repeat.
func (d *data) measured() []int {
	return slices.DeleteFunc(d.With(table.Lower, table.Higher), func(c int) bool {
		return experiment.RepeatsRow(d.Table, d.Columns[c].Name) || !slices.ContainsFunc(d.rows, func(row int) bool { _, ok := d.Number(row, c); return ok })
	})
}

// withBounds returns a column and the bounds that have its unit.
func (d *data) withBounds(y int) []int {
	columns := []int{y}
	for _, c := range d.With(table.Bound) {
		if d.Columns[c].Unit.Same(d.Columns[y].Unit) && !experiment.RepeatsRow(d.Table, d.Columns[c].Name) {
			columns = append(columns, c)
		}
	}
	return columns
}

// widest returns the setting with the most values, of numbers if one has several, -1 if none
// has. The first of several is taken.
func (d *data) widest() int {
	widest, most, numeric := -1, 1, false
	for _, c := range d.settings() {
		n, is := len(d.values(c)), d.numeric(c)
		if n > 1 && (is && !numeric || n > most && is == numeric) {
			widest, most, numeric = c, n, is
		}
	}
	return widest
}

// numeric reports whether the drawn rows have numbers in a column.
func (d *data) numeric(column int) bool {
	return !slices.ContainsFunc(d.rows, func(row int) bool { _, ok := d.Number(row, column); return !ok && d.Rows[row][column] != nil })
}

// values returns the texts that the drawn rows have in some columns, each once.
func (d *data) values(columns ...int) []string {
	var values []string
	seen := map[string]bool{}
	for _, row := range d.rows {
		if v := d.cells(row, columns); !seen[v] {
			seen[v] = true
			values = append(values, v)
		}
	}
	return values
}

// cells returns those of a row in some columns, as one text.
func (d *data) cells(row int, columns []int) string {
	var cells []string
	for _, c := range columns {
		cells = append(cells, d.Text(row, c))
	}
	return strings.Join(cells, "\x00")
}

// settings returns the columns that could tell rows apart and are not drawn: settings, and
// words that nothing says the role of.
func (d *data) settings() (columns []int) {
	for c, column := range d.Columns {
		used := c == d.x || slices.Contains(d.ys, c) || slices.Contains(d.by, c)
		if !used && (column.Role == table.Setting || column.Role == "" && !d.numeric(c)) {
			columns = append(columns, c)
		}
	}
	return columns
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
	var rows []int
	for i := range d.Rows {
		fits := true
		for column, values := range allowed {
			fits = fits && slices.Contains(values, d.Text(i, column))
		}
		if fits {
			rows = append(rows, i)
		}
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
	columns, rows := len(d.values(d.x)), len(d.values(d.by...))
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
	if err := d.fits(); err != nil {
		return err
	}
	if err := d.cut(); err != nil {
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
		series, err := d.cutColumn(y)
		if err != nil {
			return err
		}
		if d.bound(y) && alike(series) {
			series = series[:1]
			series[0].Name = d.Columns[y].Words()
		}
		d.series = append(d.series, series...)
	}
	if len(d.series) == 0 {
		return fmt.Errorf("-y: nothing to draw: all cells of %s are empty", d.Columns[d.ys[0]].Name)
	}
	return nil
}

func (d *data) bound(column int) bool { return d.Columns[column].Role == table.Bound }

func (d *data) cutColumn(y int) ([]Series, error) {
	var series []Series
	index := map[string]int{}
	checks := d.With(table.Check)
	factor := d.Columns[y].Unit.To(d.Columns[d.ys[0]].Unit)
	for _, row := range d.rows {
		if d.Rows[row][y] == nil {
			continue
		}
		v, ok := d.Number(row, y)
		if !ok {
			return nil, fmt.Errorf("-y: row %d has %s = %q, which is no number to draw: leave such rows out with --where, or draw another column",
				row+1, d.Columns[y].Name, d.Text(row, y))
		}
		by := d.cells(row, d.by)
		i, ok := index[by]
		if !ok {
			i = len(series)
			index[by] = i
			name := d.name(d.byText(row), y)
			if slices.ContainsFunc(series, func(s Series) bool { return s.Name == name }) {
				name = d.name(strings.ReplaceAll(by, "\x00", ", "), y) // numbers that differ in digits which are not told
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

// alike reports whether all series have the same points, as the bound of a machine has for
// all algorithms.
func alike(series []Series) bool {
	for _, s := range series {
		if !slices.Equal(s.Points, series[0].Points) {
			return false
		}
	}
	return len(series) > 0
}

// xOf returns the x of a row, as a number if it is one.
func (d *data) xOf(row int) any {
	if v, ok := d.Number(row, d.x); ok {
		return v
	}
	return d.Text(row, d.x)
}

// byText names the values of --by of a row: words as they are, numbers with what they count.
func (d *data) byText(row int) string {
	var parts []string
	for _, c := range d.by {
		parts = append(parts, d.tell(row, c, !d.bare))
	}
	return strings.Join(parts, ", ")
}

// tell returns a cell for people: a number with its unit, and with the words of its column if
// named; words as they are.
func (d *data) tell(row, column int, named bool) string {
	c, text := d.Columns[column], d.Text(row, column)
	v, ok := d.Number(row, column)
	if !ok {
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
