package cli

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/table"
)

// plotSeries is the points of a line, of bars of a colour, or of a row of a heat map.
type plotSeries struct {
	Name   string      `json:"name"`
	Column string      `json:"column"` // of y
	Points []plotPoint `json:"points"`
	bound  bool
}

// plotPoint is a cell of y and what it is drawn over.
type plotPoint struct {
	X any     `json:"x"` // a number, or the cell if it is none
	Y float64 `json:"y"`
}

// plotData is the rows of a table that are drawn.
type plotData struct {
	table  *table.Table
	x      int
	ys, by []int
	rows   []int
	bare   bool // values of --by stand on an axis that says what they are
	series []plotSeries
	notOK  int // points that were measured, and whose rows say that values are wrong
}

// read picks rows and columns, and cuts them into series.
func (r *plotRequest) read(t *table.Table) (*plotData, error) {
	if len(t.Rows) == 0 {
		return nil, errors.New("it has no rows: there is nothing to draw")
	}
	d := &plotData{table: t, bare: r.kind == "heat"}
	xs, err := columns(t, []string{r.x})
	if err != nil {
		return nil, fmt.Errorf("-x: %w", err)
	}
	d.x = xs[0]
	if d.ys, err = columns(t, r.y); err != nil {
		return nil, fmt.Errorf("-y: %w", err)
	}
	if d.by, err = columns(t, r.by); err != nil {
		return nil, fmt.Errorf("--by: %w", err)
	}
	if d.rows, err = matching(t, r.where); err != nil {
		return nil, fmt.Errorf("--where: %w", err)
	}
	if err := d.count(r.kind); err != nil {
		return nil, err
	}
	if err := d.fits(); err != nil {
		return nil, err
	}
	if err := d.cut(); err != nil {
		return nil, err
	}
	if n := len(d.series); n > maxPlotSeries && r.kind != "heat" {
		return nil, fmt.Errorf("%d series, and a figure has at most %d: take fewer rows with --where, or another column for --by", n, maxPlotSeries)
	}
	if r.kind == "lines" {
		return d, d.sort()
	}
	return d, nil
}

func columns(t *table.Table, names []string) ([]int, error) {
	var found []int
	for _, name := range names {
		c, err := t.Find(name)
		if err != nil {
			return nil, err
		}
		found = append(found, c)
	}
	return found, nil
}

// matching is the rows that have one of the values of each column that is asked for.
func matching(t *table.Table, conditions []string) ([]int, error) {
	allowed := map[int][]string{}
	for _, c := range conditions {
		name, value, ok := strings.Cut(c, "=")
		if !ok {
			return nil, fmt.Errorf("%q: write COLUMN=VALUE", c)
		}
		column, err := t.Find(name)
		if err != nil {
			return nil, err
		}
		if values := t.Values(column); !slices.Contains(values, value) {
			return nil, fmt.Errorf("no row has %s: %s is one of %s%s", c, name, shortList(values), config.DidYouMean(value, values))
		}
		allowed[column] = append(allowed[column], value)
	}
	var rows []int
	for i := range t.Rows {
		fits := true
		for column, values := range allowed {
			fits = fits && slices.Contains(values, t.Text(i, column))
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

// A figure is a slide of 1280×720 pixels: more marks than maxPlotMarks lie over one another,
// and more series than maxPlotSeries leave no room beside their legend. The limits also bound
// the time and the memory to draw a figure, and its size: a mark is less than 1 KB of SVG.
const (
	maxPlotMarks  = 10_000 // points, bars or cells
	maxPlotSeries = 100    // of lines and bars
)

// count refuses more marks than a figure has room for, before any is made.
func (d *plotData) count(kind string) error {
	if kind == "heat" {
		columns, rows := map[any]bool{}, map[string]bool{}
		for _, row := range d.rows {
			columns[d.xOf(row)] = true
			rows[d.cells(row, d.by)] = true
		}
		if n := len(columns) * len(rows); n > maxPlotMarks {
			return fmt.Errorf("%d × %d = %d cells, and a figure has at most %d: take fewer rows with --where, or other columns for -x and --by", len(columns), len(rows), n, maxPlotMarks)
		}
		return nil
	}
	points := 0
	for _, row := range d.rows {
		for _, y := range d.ys {
			if d.table.Rows[row][y] != nil {
				points++
			}
		}
	}
	if points > maxPlotMarks {
		return fmt.Errorf("%d points, and a figure has at most %d: take fewer rows with --where, or fewer columns with -y", points, maxPlotMarks)
	}
	return nil
}

// shortList is a few of a list.
func shortList(values []string) string {
	const few = 8
	if len(values) > few {
		return strings.Join(values[:few], ", ") + fmt.Sprintf(" and %d more", len(values)-few)
	}
	return strings.Join(values, ", ")
}

// fits refuses numbers that no label has room for.
func (d *plotData) fits() error {
	const least, most = 1e-18, 1e18
	columns := append([]int{d.x}, d.ys...)
	for _, c := range d.by {
		if quantityOf(d.table.Columns[c].Name).format != nil { // others are told as they are written
			columns = append(columns, c)
		}
	}
	for _, row := range d.rows {
		for _, c := range columns {
			v, ok := d.table.Number(row, c)
			if size := math.Abs(v); ok && size != 0 && (size < least || size > most) {
				return fmt.Errorf("row %d has %s = %s, and numbers are drawn from %g to %g: leave such rows out with --where, or draw another column",
					row+1, d.table.Columns[c].Name, d.table.Text(row, c), least, most)
			}
		}
	}
	return nil
}

// cut makes series of the rows: in order of the columns, and for each of those in order
// of appearance of the values of --by.
func (d *plotData) cut() error {
	for _, y := range d.ys {
		series, err := d.cutColumn(y)
		if err != nil {
			return err
		}
		if d.table.Columns[y].Role == table.Bound && alike(series) {
			series = series[:1]
			series[0].Name = quantityOf(d.table.Columns[y].Name).label
		}
		d.series = append(d.series, series...)
	}
	if len(d.series) == 0 {
		return fmt.Errorf("-y: nothing to draw: all cells of %s are empty", d.table.Columns[d.ys[0]].Name)
	}
	return nil
}

func (d *plotData) cutColumn(y int) ([]plotSeries, error) {
	var series []plotSeries
	index := map[string]int{}
	places := map[plotPlace][]int{}
	verdict := d.table.Index("ok")
	for _, row := range d.rows {
		cell := d.table.Text(row, y)
		if cell == "" {
			continue
		}
		v, ok := d.table.Number(row, y)
		if !ok {
			return nil, fmt.Errorf("-y: row %d has %s = %q, which is no number to draw: leave such rows out with --where, or draw another column",
				row+1, d.table.Columns[y].Name, cell)
		}
		by := d.cells(row, d.by)
		i, ok := index[by]
		if !ok {
			i = len(series)
			index[by] = i
			name := d.name(d.byText(row), y)
			if slices.ContainsFunc(series, func(s plotSeries) bool { return s.Name == name }) {
				name = d.name(strings.ReplaceAll(by, "\x00", ", "), y) // numbers that differ in digits which are not told
			}
			series = append(series, plotSeries{Name: name, Column: d.table.Columns[y].Name, bound: d.table.Columns[y].Role == table.Bound})
		}
		if verdict >= 0 && d.table.Rows[row][verdict] == false && d.table.Columns[y].Role != table.Bound {
			d.notOK++
		}
		x := d.xOf(row)
		series[i].Points = append(series[i].Points, plotPoint{x, v})
		places[plotPlace{by, x}] = append(places[plotPlace{by, x}], row)
	}
	return series, d.ambiguous(places)
}

// alike tells whether all series have the same points, as the bound of a machine has
// for all algorithms.
func alike(series []plotSeries) bool {
	for _, s := range series {
		if !slices.Equal(s.Points, series[0].Points) {
			return false
		}
	}
	return len(series) > 0
}

// xOf is the x of a row, as a number if it is one.
func (d *plotData) xOf(row int) any {
	if v, ok := d.table.Number(row, d.x); ok {
		return v
	}
	return d.table.Text(row, d.x)
}

// cells is those of a row in some columns.
func (d *plotData) cells(row int, columns []int) string {
	var cells []string
	for _, c := range columns {
		cells = append(cells, d.table.Text(row, c))
	}
	return strings.Join(cells, "\x00")
}

// byText names the values of --by of a row: words as they are, numbers with what they
// count.
func (d *plotData) byText(row int) string {
	var parts []string
	for _, c := range d.by {
		text := d.table.Text(row, c)
		if v, ok := d.table.Number(row, c); ok {
			q := quantityOf(d.table.Columns[c].Name)
			text = q.text(v, text)
			if !d.bare {
				text = q.label + " " + text
			}
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// name is that of a series: the values of --by, and the column unless all others are
// theory.
func (d *plotData) name(by string, y int) string {
	label := quantityOf(d.table.Columns[y].Name).label
	alone := d.table.Columns[y].Role != table.Bound
	for _, other := range d.ys {
		alone = alone && (other == y || d.table.Columns[other].Role == table.Bound)
	}
	switch {
	case by == "":
		return label
	case alone:
		return by
	}
	return by + ", " + label
}

// sort puts the points of lines in order of x, all of which have to be numbers.
func (d *plotData) sort() error {
	for _, s := range d.series {
		for _, p := range s.Points {
			if word, ok := p.X.(string); ok {
				return fmt.Errorf("-x: column %s has %q, and lines need numbers: draw --kind bars, or another column", d.table.Columns[d.x].Name, word)
			}
		}
		slices.SortFunc(s.Points, func(a, b plotPoint) int { return cmp.Compare(a.X.(float64), b.X.(float64)) })
	}
	return nil
}
