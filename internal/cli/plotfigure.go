package cli

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kernbench/kernbench/internal/draw"
	"github.com/kernbench/kernbench/internal/results"
)

// figure is the picture of what was read, and which of its axes are logarithmic.
func (r *plotRequest) figure(d *plotData, file string) (f draw.Figure, log string) {
	title, note := r.title, file
	if title == "" {
		title = r.describe()
	}
	if len(r.where) > 0 {
		note += ": " + strings.Join(r.where, ", ")
	}
	switch r.kind {
	case "bars":
		return r.bars(d, title, note)
	case "heat":
		return r.heatMap(d, title, note)
	}
	return r.lines(d, title, note)
}

// describe is what is drawn, in a line.
func (r *plotRequest) describe() string {
	over := " over "
	if r.kind != "lines" {
		over = " by "
	}
	text := together(r.y).label + over + quantityOf(r.x).label
	if len(r.by) > 0 {
		text += map[bool]string{true: " and ", false: ", by "}[r.kind == "heat"] + together(r.by).label
	}
	first, size := utf8.DecodeRuneInString(text)
	if first == utf8.RuneError {
		return text
	}
	return string(unicode.ToUpper(first)) + text[size:]
}

func (r *plotRequest) lines(d *plotData, title, note string) (draw.Figure, string) {
	var xs, ys []float64
	for _, s := range d.series {
		for _, p := range s.Points {
			xs, ys = append(xs, p.X.(float64)), append(ys, p.Y)
		}
	}
	logX := r.log == "x" || r.log == "xy" || r.log == "" && farApart(xs)
	logY := r.log == "y" || r.log == "xy" || r.log == "" && farApart(xs) && farApart(ys)
	l := draw.Lines{Title: title, Note: note}
	var toX, toY float64
	l.X, toX = quantityOf(r.x).axis(xs, logX)
	l.Y, toY = together(r.y).axis(ys, logY)
	for _, s := range d.series {
		line := draw.Series{Name: s.Name, Bound: results.Theory(s.Column)}
		for _, p := range s.Points {
			line.X, line.Y = append(line.X, p.X.(float64)*toX), append(line.Y, p.Y*toY)
		}
		l.Series = append(l.Series, line)
	}
	return l, axesText(logX, logY)
}

func (r *plotRequest) bars(d *plotData, title, note string) (draw.Figure, string) {
	y, factor := together(r.y).axis(d.values(), r.log == "y")
	xs, names := d.over()
	b := draw.Bars{Title: title, Note: note, X: quantityOf(r.x).name(), Y: y, Groups: names}
	measured := slices.ContainsFunc(r.y, func(c string) bool { return !results.Theory(c) }) // bounds alone are bars
	for _, s := range d.series {
		b.Series = append(b.Series, draw.BarSeries{Name: s.Name, Values: s.at(xs, factor), Bound: measured && results.Theory(s.Column)})
	}
	return b, axesText(false, y.Log)
}

func (r *plotRequest) heatMap(d *plotData, title, note string) (draw.Figure, string) {
	values := d.values()
	y, factor := quantityOf(r.y[0]).suit(slices.Max(values))
	xs, names := d.over()
	h := draw.HeatMap{Title: title, Note: note, X: quantityOf(r.x).name(), Y: together(r.by).name(), Columns: names, Unit: y.unit}
	h.Log = r.log == "y" || r.log == "" && farApart(values)
	for _, s := range d.series {
		h.Rows = append(h.Rows, s.Name)
		h.Values = append(h.Values, s.at(xs, factor))
	}
	return h, axesText(false, h.Log)
}

// farApart tells sizes that double, or what grows with them, from others.
func farApart(values []float64) bool {
	lo, hi := slices.Min(values), slices.Max(values)
	return lo > 0 && hi >= 16*lo
}

func axesText(x, y bool) string {
	return map[[2]bool]string{{}: "none", {true, false}: "x", {false, true}: "y", {true, true}: "xy"}[[2]bool{x, y}]
}

// over is the values of x, numbers in order and words as they appear, and their names.
func (d *plotData) over() (xs []any, names []string) {
	seen := map[any]bool{}
	numbers := true
	for _, row := range d.rows {
		x := d.xOf(row)
		if _, word := x.(string); word {
			numbers = false
		}
		if !seen[x] {
			seen[x] = true
			xs = append(xs, x)
		}
	}
	if numbers {
		slices.SortFunc(xs, func(a, b any) int { return cmp.Compare(a.(float64), b.(float64)) })
	}
	q := quantityOf(d.table.Columns[d.x])
	for _, x := range xs {
		if v, ok := x.(float64); ok {
			names = append(names, q.text(v, fmt.Sprint(v)))
			continue
		}
		names = append(names, x.(string))
	}
	return xs, names
}

// at returns the values of a series at each x, NaN where it has none.
func (s plotSeries) at(xs []any, factor float64) []float64 {
	byX := make(map[any]float64, len(s.Points))
	for _, p := range s.Points {
		byX[p.X] = p.Y
	}
	values := make([]float64, len(xs))
	for i, x := range xs {
		if y, ok := byX[x]; ok {
			values[i] = y * factor
		} else {
			values[i] = math.NaN()
		}
	}
	return values
}

// values is all that is drawn.
func (d *plotData) values() []float64 {
	var values []float64
	for _, s := range d.series {
		for _, p := range s.Points {
			values = append(values, p.Y)
		}
	}
	return values
}
