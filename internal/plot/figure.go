package plot

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kernbench/kernbench/internal/draw"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/table"
)

// title returns a title with the words of the columns that are drawn: "Time by message size
// and algorithm".
func (d *data) title() string {
	text := d.words(d.measures()) + " by " + d.words(append([]int{d.x}, d.by...))
	first, size := utf8.DecodeRuneInString(text)
	if first == utf8.RuneError {
		return text
	}
	return string(unicode.ToUpper(first)) + text[size:]
}

// words returns the names of columns in words: "a, b and c".
func (d *data) words(columns []int) string {
	return printable.List(lists.Map(columns, func(c int) string { return d.Columns[c].Words() }))
}

// measures returns the y columns that are not drawn as bounds.
func (d *data) measures() []int { return slices.DeleteFunc(slices.Clone(d.ys), d.isBound) }

// subtitle returns the text `about`, followed by the settings that have the same value in
// all drawn rows. It leaves out empty values and the columns of -x and --by.
func (d *data) subtitle(about string) string {
	var parts []string
	if about != "" {
		parts = append(parts, about)
	}
	for _, c := range d.With(table.Setting) {
		used := c == d.x || slices.Contains(d.by, c)
		if used || d.Distinct([]int{c}, d.rows) > 1 || d.Text(d.rows[0], c) == "" {
			continue
		}
		if part := d.formatCell(d.rows[0], c, true); !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}

// drawLines draws the series as lines. If the request does not choose logarithmic axes, the
// x axis is logarithmic if the x values have a wide range. The y axis is logarithmic if
// both the x values and the y values have a wide range.
func (f *Figure) drawLines(d *data) {
	xs, ys := collect(d.series, func(_ Series, p Point) float64 { return p.X.(float64) }), d.yValues()
	logX := f.Log == "x" || f.Log == "xy" || f.Log == "" && wideRange(xs)
	logY := f.Log == "y" || f.Log == "xy" || f.Log == "" && wideRange(xs) && wideRange(ys)
	l := draw.Lines{Title: f.Title, Subtitle: d.subtitle(f.About), Note: f.Note}
	var toX, toY float64
	l.X, toX = d.axis([]int{d.x}, xs, logX)
	l.Y, toY = d.axis(d.measures(), ys, logY)
	for _, s := range d.series {
		line := draw.Series{Name: s.Name, Bound: s.bound}
		for _, p := range s.Points {
			line.X, line.Y = append(line.X, p.X.(float64)*toX), append(line.Y, p.Y*s.factor*toY)
		}
		l.Series = append(l.Series, line)
	}
	f.Figure, f.Log = l, axesText(logX, logY)
}

// drawBars draws the series as bars, with a group for each x.
func (f *Figure) drawBars(d *data) {
	y, factor := d.axis(d.measures(), d.yValues(), f.Log == "y")
	xs, names := d.xValues()
	b := draw.Bars{Title: f.Title, Subtitle: d.subtitle(f.About), Note: f.Note, X: d.Columns[d.x].Words(), Y: y, Groups: names}
	b.Series = lists.Make(len(d.series), func(i int) draw.BarSeries {
		return draw.BarSeries{Name: d.series[i].Name, Values: d.series[i].valuesAt(xs, factor), Bound: d.series[i].bound}
	})
	f.Figure, f.Log = b, axesText(false, y.Log)
}

// drawHeat draws the series as rows of a heat map, with a column for each x.
func (f *Figure) drawHeat(d *data) {
	y, factor := d.axis(d.measures(), d.yValues(), false)
	xs, names := d.xValues()
	h := draw.HeatMap{Title: f.Title, Subtitle: d.subtitle(f.About), Note: f.Note, X: d.Columns[d.x].Words(), Y: d.words(d.by), Columns: names, Unit: y.Unit}
	h.Log = f.Log == "y" || f.Log == "" && wideRange(d.yValues())
	h.Rows = lists.Map(d.series, func(s Series) string { return s.Name })
	h.Values = lists.Make(len(d.series), func(i int) []float64 { return d.series[i].valuesAt(xs, factor) })
	f.Figure, f.Log = h, axesText(false, h.Log)
}

// axis returns the axis of the given columns, which have the same unit, and the factor that
// converts values to the unit of the axis. On a logarithmic axis, the text of each tick
// includes a unit. On a linear axis, all ticks have the same unit.
func (d *data) axis(columns []int, values []float64, log bool) (draw.Axis, float64) {
	unit := d.Columns[columns[0]].Unit
	a := draw.Axis{Label: d.words(columns), Log: log, Unit: string(unit)}
	switch suited := unit.Suit(slices.Max(values)); {
	case !unit.Scales():
	case log:
		a.Unit, a.Format = "", unit.Format
	default:
		a.Unit = string(suited)
		return a, unit.To(suited)
	}
	return a, 1
}

// wideRange reports whether all values are positive and the largest is at least 16 times
// the smallest. Sizes that double have such a range, and so do times that grow with the
// sizes.
func wideRange(values []float64) bool {
	lo, hi := slices.Min(values), slices.Max(values)
	return lo > 0 && hi >= 16*lo
}

// axesText returns the value of --log that selects logarithmic axes: x, y, xy or none.
func axesText(x, y bool) string {
	return map[[2]bool]string{{}: "none", {true, false}: "x", {false, true}: "y", {true, true}: "xy"}[[2]bool{x, y}]
}

// xValues returns the distinct values of x, and a text for each value. Numbers are sorted,
// and words are in the order in which they appear.
func (d *data) xValues() (xs []any, names []string) {
	name := map[any]string{}
	for _, row := range d.rows {
		x := d.xValue(row)
		if _, seen := name[x]; !seen {
			name[x] = d.formatCell(row, d.x, false)
			xs = append(xs, x)
		}
	}
	if d.numeric(d.x) {
		slices.SortFunc(xs, func(a, b any) int { return cmp.Compare(a.(float64), b.(float64)) })
	}
	return xs, lists.Map(xs, func(x any) string { return name[x] })
}

// valuesAt returns the value of the series at each x, or NaN where the series has none.
// Each value is multiplied by s.factor and by `factor`.
func (s Series) valuesAt(xs []any, factor float64) []float64 {
	byX := make(map[any]float64, len(s.Points))
	for _, p := range s.Points {
		byX[p.X] = p.Y
	}
	return lists.Make(len(xs), func(i int) float64 {
		if y, ok := byX[xs[i]]; ok {
			return y * s.factor * factor
		}
		return math.NaN()
	})
}

// yValues returns the values of all series, in the unit of the first measured column.
func (d *data) yValues() []float64 {
	return collect(d.series, func(s Series, p Point) float64 { return p.Y * s.factor })
}

// collect calls `number` for each point of each series and returns the results.
func collect(series []Series, number func(Series, Point) float64) (values []float64) {
	for _, s := range series {
		for _, p := range s.Points {
			values = append(values, number(s, p))
		}
	}
	return values
}

// maxFigures is the largest number of figures that show a table.
const maxFigures = 3

// Figures returns at most maxFigures figures that show what was measured in a table. Each
// figure shows a column with the role lower or higher whose values differ, with its bounds.
// The request gives the rows to draw, and the texts above and below the figures.
func Figures(t *table.Table, r Request) (figures []*Figure) {
	all := &data{Table: t, rows: lists.Count(0, len(t.Rows))}
	for _, y := range all.measuredColumns() {
		r.Y = all.NamesOf(all.withBounds(y))
		f, err := Draw(t, r)
		if err != nil || !f.varies() {
			continue // the column cannot be drawn, or all its values are equal
		}
		if figures = append(figures, f); len(figures) == maxFigures {
			break
		}
	}
	return figures
}

// varies reports whether the measured values of a figure differ from each other.
func (f *Figure) varies() bool {
	measured := slices.DeleteFunc(slices.Clone(f.Series), func(s Series) bool { return s.bound })
	values := collect(measured, func(_ Series, p Point) float64 { return p.Y })
	return len(values) > 1 && slices.Min(values) < slices.Max(values)
}

// The kinds of figures.
const (
	Lines = "lines"
	Bars  = "bars"
	Heat  = "heat"
)

// Request selects the columns and rows of a table to draw. Draw chooses the fields that are
// empty.
type Request struct {
	X     string
	Y, By []string
	Where []string // COLUMN=VALUE conditions for the rows to draw
	Kind  string
	Log   string // logarithmic axes: x, y, xy or none
	Title string
	About string // start of the subtitle, before the settings that are the same in all rows
	Note  string // text below the picture, such as the name of the file
}

// Figure is a drawing of some columns.
type Figure struct {
	draw.Figure
	Request          // the request with all chosen fields
	Chosen  []string // flags that were chosen, such as "-x size"
	NotOK   int      // number of points of rows whose checks failed
	Series  []Series
}

// Draw draws the columns of the table t that the request r names. It chooses the columns
// and the kind of figure that the request leaves open.
func Draw(t *table.Table, r Request) (*Figure, error) {
	switch {
	case len(t.Rows) == 0:
		return nil, errors.New("it has no rows: there is nothing to draw")
	case r.Kind == Heat && len(r.Y) > 1:
		return nil, errors.New("--kind heat takes one column -y")
	}
	f := &Figure{Request: r}
	d := &data{Table: t, x: -1, byOnAxis: r.Kind == Heat}
	if err := f.choose(d); err != nil {
		return nil, err
	}
	if err := d.readSeries(f.Kind); err != nil {
		return nil, err
	}
	f.Series, f.NotOK = d.series, d.notOK
	f.Title = cmp.Or(f.Title, d.title())
	if len(f.Where) > 0 {
		f.Note += ": " + strings.Join(f.Where, ", ")
	}
	map[string]func(*Figure, *data){Lines: (*Figure).drawLines, Bars: (*Figure).drawBars, Heat: (*Figure).drawHeat}[f.Kind](f, d)
	return f, nil
}
