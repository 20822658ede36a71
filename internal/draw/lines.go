package draw

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/lists"
)

// Series is one line of a [Lines].
type Series struct {
	Name    string
	X, Y    []float64 // the same number of both, in the order of the line
	Bound   bool      // a limit or a formula, drawn dashed and without marks
	Scatter bool      // drawn as marks without a line, like any series whose x values go back and forth
}

// Lines is a chart of lines over numbers.
//
// Names are at the ends of lines if there is space, otherwise in a legend. More than 12
// lines are drawn in several panels with the same axes.
//
// If there are as many bounds as other series, the i-th bound belongs to the i-th other
// series: it has the same colour and is in the same panel. Otherwise bounds are grey, and
// each panel has all of them.
type Lines struct {
	Title, Subtitle, Note string
	X, Y                  Axis
	Series                []Series
}

// check returns an error if the chart has no series, or a series has values that cannot be
// drawn.
func (l Lines) check() error {
	if len(l.Series) == 0 {
		return errors.New("no series: a chart of lines needs one")
	}
	for _, s := range l.Series {
		if len(s.X) != len(s.Y) || len(s.X) == 0 {
			return fmt.Errorf("series %q has %d x and %d y: give as many of both, and at least one", s.Name, len(s.X), len(s.Y))
		}
		x, y := fmt.Sprintf("x of series %q", s.Name), fmt.Sprintf("y of series %q", s.Name)
		if err := cmp.Or(l.X.check(x, s.X), l.Y.check(y, s.Y)); err != nil {
			return err
		}
	}
	x, y := l.rulers()
	return errors.Join(x.check("x"), y.check("y"))
}

// plotInset keeps marks away from the ends of the x axis.
const plotInset = 14.0

// draw lays the line chart out on a canvas.
func (l Lines) draw(c *canvas) error {
	c.startPage(slideW, slideH, l.Title, l.Subtitle)
	if err := l.check(); err != nil {
		return err
	}
	if panels := l.panels(); len(panels) > 1 {
		l.drawPanels(c, panels)
		return nil
	}
	looks, named := l.looks(l.Series), l.namedAtEnd()
	var legend []entry
	width := 0.0
	for i, s := range l.Series {
		if named[i] {
			width = max(width, leader+nameSample+gap+style{size: sizeLegend}.width(s.Name))
		} else if len(l.Series) > 1 || s.Bound { // the title and the axis explain a single line
			legend = append(legend, entry{s.Name, 30, looks[i].drawSample})
		}
	}
	x, y := l.rulers()
	plot := c.drawFrame(l.Title, l.Subtitle, l.Note, legend).inset(0, 0, width, bottomHeight(l.X.text()))
	y.fitVertical(plot, maxSteps)
	left := y.leftWidth()
	plot = plot.inset(left, 0, 0, 0)
	xAt, yAt := l.drawPlot(c, plot, x, y, l.Series, true, true)
	l.drawNames(c, plot, xAt, yAt, named)
	c.labelBottom(l.X.text(), plot, bottomHeight(l.X.text()))
	c.labelLeft(l.Y.text(), plot, left)
	return nil
}

// rulers returns the x and y axes of all series, without positions on the canvas.
func (l Lines) rulers() (x, y ruler) {
	var xs, ys []float64
	for _, s := range l.Series {
		xs, ys = append(xs, s.X...), append(ys, s.Y...)
	}
	return newRuler(l.X, xs, false), newRuler(l.Y, ys, true)
}

// drawPlot draws series and their axes in the rectangle `plot`. It writes the numbers of
// the x axis if xNumbers is set, and the numbers of the y axis if yNumbers is set. It
// returns the scales that map values of x and y to coordinates.
func (l Lines) drawPlot(c *canvas, plot rect, x, y ruler, series []Series, xNumbers, yNumbers bool) (xAt, yAt scale) {
	y.fitVertical(plot, maxSteps)
	x.from, x.to = plot.x+plotInset, plot.right()-plotInset
	x.fit(16, func(t tick) float64 { return tickText.width(t.label) + 12 })
	c.drawLeftAxis(y, plot, yNumbers)
	c.drawBottomAxis(x, plot, xNumbers)
	for i, k := range l.looks(series) {
		l.drawSeries(c, x.scale, y.scale, series[i], k)
	}
	return x.scale, y.scale
}

// drawSeries draws one series. Its points and its line have tooltips.
func (l Lines) drawSeries(c *canvas, x, y scale, s Series, k look) {
	points := positions(s, x, y)
	value := func(i int) []string { return []string{l.X.tooltip("x", s.X[i]), l.Y.tooltip("y", s.Y[i])} }
	if len(points) > 1 && !k.scatter {
		whole := []string{s.Name}
		for i := 0; k.bound && i < min(len(points), 20); i++ { // a bound has no marks with tooltips
			whole = append(whole, strings.Join(value(i), ", "))
		}
		c.group(tooltip(whole...), func() { k.drawCurve(c, points...) })
	}
	if k.bound && len(points) > 1 {
		return
	}
	for i, at := range points {
		c.group(tooltip(append([]string{s.Name}, value(i)...)...), func() { c.mark(k.mark, k.colour, at) })
	}
}

// positions returns the points of a series as positions on the canvas.
func positions(s Series, x, y scale) []point {
	return lists.Make(len(s.X), func(i int) point { return point{x.at(s.X[i]), y.at(s.Y[i])} })
}

// tooltip joins the lines of a tooltip, without empty lines.
func tooltip(lines ...string) string {
	return strings.Join(slices.DeleteFunc(lines, func(s string) bool { return s == "" }), "\n")
}

// look describes how a series is drawn.
type look struct {
	mark    int
	colour  colour
	dashes  []float64
	scatter bool
	bound   bool
}

// split divides the series into lines and bounds. `paired` reports whether there are as
// many bounds as lines, so that each line has its own bound.
func (l Lines) split() (lines, bounds []Series, paired bool) {
	lines = slices.DeleteFunc(slices.Clone(l.Series), func(s Series) bool { return s.Bound })
	bounds = slices.DeleteFunc(slices.Clone(l.Series), func(s Series) bool { return !s.Bound })
	return lines, bounds, len(lines) == len(bounds)
}

// looks returns the look of each series of a panel.
func (l Lines) looks(series []Series) []look {
	_, _, paired := l.split()
	looks := make([]look, len(series))
	var measured, bound int
	for i, s := range series {
		switch {
		case !s.Bound:
			dashes := seriesDashes[measured/len(palette)%len(seriesDashes)]
			looks[i] = look{mark: measured, colour: seriesColour(measured), dashes: dashes, scatter: s.Scatter || !monotonic(s.X)}
			measured++
		case paired:
			looks[i] = look{colour: seriesColour(bound), dashes: boundDashes[0], bound: true}
			bound++
		default:
			looks[i] = boundLook(bound, faint)
			bound++
		}
	}
	return looks
}

// boundLook returns the look of the i-th bound. Bounds of one colour differ in their
// dashes.
func boundLook(i int, with colour) look {
	return look{colour: with, dashes: boundDashes[i%len(boundDashes)], bound: true}
}

// monotonic reports whether x never decreases or never increases.
func monotonic(x []float64) bool {
	return slices.IsSorted(x) || slices.IsSortedFunc(x, func(a, b float64) int { return cmp.Compare(b, a) })
}

// drawCurve draws the line of a series through points.
func (k look) drawCurve(c *canvas, points ...point) {
	c.shape(line(points...), paint{line: k.colour, width: lineWidth, dashes: k.dashes})
}

// drawSample draws a short line with a mark, for a legend.
func (k look) drawSample(c *canvas, in rect) {
	y := in.centre().y
	if !k.scatter {
		k.drawCurve(c, point{in.x, y}, point{in.right(), y})
	}
	if !k.bound {
		c.mark(k.mark, k.colour, in.centre())
	}
}

const (
	maxLines    = 12 // maximum number of lines in a chart with one panel
	panelLines  = 4  // number of lines in each of several panels, unless that takes more than maxPanels
	maxPanels   = 12
	panelHeight = 120.0 // minimum height of the plot of a panel
)

// panels returns the series of each panel. A chart of up to [maxLines] lines is one panel.
// In a larger chart, each panel has some of the lines and the bounds of these lines. If the
// chart does not have one bound for each line, each panel has all bounds.
func (l Lines) panels() [][]Series {
	lines, bounds, paired := l.split()
	if len(lines) <= maxLines {
		return [][]Series{l.Series}
	}
	panels := make([][]Series, min((len(lines)+panelLines-1)/panelLines, maxPanels))
	for i := range panels {
		from, end := len(lines)*i/len(panels), len(lines)*(i+1)/len(panels)
		own := bounds
		if paired {
			own = bounds[from:end]
		}
		panels[i] = slices.Concat(lines[from:end], own)
	}
	return panels
}

// drawPanels draws panels with the same axes, each with a legend. Only the panels at the
// left and at the bottom have numbers. The picture is as high as the panels need.
func (l Lines) drawPanels(c *canvas, panels [][]Series) {
	const between = 4 * gap
	columns := 2 + min(len(panels)/5, 1)
	rows := (len(panels) + columns - 1) / columns
	x, y := l.rulers()
	y.fitVertical(rect{h: panelHeight}, maxSteps)
	left, below := y.leftWidth(), bottomHeight(l.X.text())
	w := (slideW - 2*margin - left + between) / float64(columns)
	legends, heights := make([][]entry, len(panels)), make([]float64, len(panels))
	for i, series := range panels {
		looks := l.looks(series)
		legends[i] = lists.Make(len(series), func(k int) entry { return entry{series[k].Name, nameSample, looks[k].drawSample} })
		heights[i] = (&canvas{}).legend(legends[i], rect{w: w - between})
	}
	most := slices.Max(heights)
	c.startPage(slideW, max(slideH, 160+float64(rows)*(most+panelHeight+gap)), l.Title, l.Subtitle)
	area := c.drawFrame(l.Title, l.Subtitle, l.Note, nil).inset(left, 0, 0, below)
	h := (area.h + gap) / float64(rows)
	for i, series := range panels {
		at := rect{area.x + w*float64(i%columns), area.y + h*float64(i/columns), w - between, h - gap}
		c.legend(legends[i], at.inset(0, most-heights[i], 0, 0))
		last := i+columns >= len(panels) // no panel is below this one
		l.drawPlot(c, at.inset(0, most, 0, 0), x, y, series, last, i%columns == 0)
	}
	c.labelBottom(l.X.text(), area, below)
	c.labelLeft(l.Y.text(), area, left)
}
