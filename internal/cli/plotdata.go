package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/results"
)

// plotSeries is the points of a line, of bars of a colour, or of a row of a heat map.
type plotSeries struct {
	Name   string      `json:"name"`
	Column string      `json:"column"` // of y
	Points []plotPoint `json:"points"`
}

// plotPoint is a cell of y and what it is drawn over.
type plotPoint struct {
	X any     `json:"x"` // a number, or the cell if it is none
	Y float64 `json:"y"`
}

// plotData is the rows of a table that are drawn.
type plotData struct {
	table  *results.Table
	x      int
	ys, by []int
	rows   []int
	bare   bool // values of --by stand on an axis that says what they are
	series []plotSeries
}

// read picks rows and columns, and cuts them into series.
func (r *plotRequest) read(t *results.Table) (*plotData, error) {
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
	if err := d.cut(); err != nil {
		return nil, err
	}
	if r.kind == "lines" {
		return d, d.sort()
	}
	return d, nil
}

func columns(t *results.Table, names []string) ([]int, error) {
	var found []int
	for _, name := range names {
		c, err := t.Column(name)
		if err != nil {
			return nil, err
		}
		found = append(found, c)
	}
	return found, nil
}

// matching is the rows that have one of the values of each column that is asked for.
func matching(t *results.Table, conditions []string) ([]int, error) {
	allowed := map[int][]string{}
	for _, c := range conditions {
		name, value, ok := strings.Cut(c, "=")
		if !ok {
			return nil, fmt.Errorf("%q: write COLUMN=VALUE", c)
		}
		column, err := t.Column(name)
		if err != nil {
			return nil, err
		}
		if values := valuesOf(t, column); !slices.Contains(values, value) {
			return nil, fmt.Errorf("no row has %s: %s is one of %s%s", c, name, shortList(values), didYouMean(value, values))
		}
		allowed[column] = append(allowed[column], value)
	}
	var rows []int
	for i, row := range t.Rows {
		fits := true
		for column, values := range allowed {
			fits = fits && slices.Contains(values, row[column])
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

// valuesOf is the values of a column, in order of appearance.
func valuesOf(t *results.Table, column int) []string {
	var values []string
	seen := map[string]bool{}
	for _, row := range t.Rows {
		if v := row[column]; !seen[v] {
			seen[v] = true
			values = append(values, v)
		}
	}
	return values
}

// shortList is a few of a list.
func shortList(values []string) string {
	const few = 8
	if len(values) > few {
		return strings.Join(values[:few], ", ") + fmt.Sprintf(" and %d more", len(values)-few)
	}
	return strings.Join(values, ", ")
}

// cut makes series of the rows: in order of the columns, and for each of those in order
// of appearance of the values of --by.
func (d *plotData) cut() error {
	for _, y := range d.ys {
		series, err := d.cutColumn(y)
		if err != nil {
			return err
		}
		if isTheory(d.table.Columns[y]) && alike(series) {
			series = series[:1]
			series[0].Name = quantityOf(d.table.Columns[y]).label
		}
		d.series = append(d.series, series...)
	}
	if len(d.series) == 0 {
		return fmt.Errorf("-y: nothing to draw: all cells of %s are empty", d.table.Columns[d.ys[0]])
	}
	return nil
}

func (d *plotData) cutColumn(y int) ([]plotSeries, error) {
	var series []plotSeries
	index := map[string]int{}
	places := map[plotPlace][]int{}
	for _, row := range d.rows {
		cell := d.table.Rows[row][y]
		if cell == "" {
			continue
		}
		v, ok := d.table.Number(row, y)
		if !ok {
			return nil, fmt.Errorf("-y: row %d has %s = %q, which is no number to draw: leave such rows out with --where, or draw another column",
				row+1, d.table.Columns[y], cell)
		}
		by := d.byText(row)
		i, ok := index[by]
		if !ok {
			i = len(series)
			index[by] = i
			series = append(series, plotSeries{Name: d.name(by, y), Column: d.table.Columns[y]})
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
	return d.table.Rows[row][d.x]
}

// byText names the values of --by of a row: words as they are, numbers with what they
// count.
func (d *plotData) byText(row int) string {
	var parts []string
	for _, c := range d.by {
		text := d.table.Rows[row][c]
		if v, ok := d.table.Number(row, c); ok {
			q := quantityOf(d.table.Columns[c])
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
	label := quantityOf(d.table.Columns[y]).label
	alone := !isTheory(d.table.Columns[y])
	for _, other := range d.ys {
		alone = alone && (other == y || isTheory(d.table.Columns[other]))
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
				return fmt.Errorf("-x: column %s has %q, and lines need numbers: draw --kind bars, or another column", d.table.Columns[d.x], word)
			}
		}
		slices.SortStableFunc(s.Points, func(a, b plotPoint) int {
			if a.X.(float64) < b.X.(float64) {
				return -1
			}
			return 1
		})
	}
	return nil
}
