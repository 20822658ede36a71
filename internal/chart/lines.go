package chart

import (
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Series is one line of a [Lines].
type Series struct {
	Name    string
	X, Y    []float64 // as many of both, in the order of the line
	Theory  bool      // dashed, no markers
	Scatter bool      // markers, no line; so is a series whose x go back and forth
}

// Lines is a chart of lines over numbers.
//
// If there are as many series of theory as others, each has the colour of the
// other of its place; else they are grey.
type Lines struct {
	Title, Note string
	X, Y        Axis
	Series      []Series
}

func (l Lines) heading() string { return l.Title }

func (l Lines) check() error {
	if len(l.Series) == 0 {
		return errors.New("no series: a chart of lines needs one")
	}
	for _, s := range l.Series {
		if len(s.X) != len(s.Y) || len(s.X) == 0 {
			return fmt.Errorf("series %q has %d x and %d y: give as many of both, and at least one", s.Name, len(s.X), len(s.Y))
		}
		if err := l.X.check(fmt.Sprintf("x of series %q", s.Name), s.X); err != nil {
			return err
		}
		if err := l.Y.check(fmt.Sprintf("y of series %q", s.Name), s.Y); err != nil {
			return err
		}
	}
	xs, ys := l.values()
	xLo, xHi := l.X.span(xs, false)
	yLo, yHi := l.Y.span(ys, true)
	return errors.Join(checkSpan("x", xLo, xHi), checkSpan("y", yLo, yHi))
}

// values is those of all series.
func (l Lines) values() (xs, ys []float64) {
	for _, s := range l.Series {
		xs, ys = append(xs, s.X...), append(ys, s.Y...)
	}
	return xs, ys
}

// inset keeps markers off the ends of the x axis.
const inset vg.Length = 14

func (l Lines) draw(p pen) {
	looks := l.looks()
	var legend []entry
	for i, s := range l.Series {
		legend = append(legend, entry{s.Name, 30, looks[i].sample})
	}
	if len(legend) == 1 && !l.Series[0].Theory {
		legend = nil // the title and the axis say it
	}
	plot := p.frame(l.Title, l.Note, legend)

	xs, ys := l.values()
	x, y := ruler{label: l.X.Label}, ruler{label: l.Y.Label}
	x.log, y.log = l.X.Log, l.Y.Log
	plot.Min.Y += bottomHeight(x.label)
	y.lo, y.hi = l.Y.span(ys, true)
	y.from, y.to = plot.Min.Y, plot.Max.Y
	y.ticks = l.Y.ticks(y.lo, y.hi, ys, mostSteps)
	plot.Min.X += y.leftWidth()
	x.lo, x.hi = l.X.span(xs, false)
	x.fit(l.X, xs, plot.Min.X+inset, plot.Max.X-inset)

	p.left(y, plot)
	p.bottom(x, plot)
	for i, s := range l.Series {
		points := make([]vg.Point, len(s.X))
		for k := range s.X {
			points[k] = vg.Point{X: x.at(s.X[k]), Y: y.at(s.Y[k])}
		}
		looks[i].curve(p, plot, points)
	}
}

// look is how a series is drawn.
type look struct {
	marker  int
	colour  color.NRGBA
	dashes  []vg.Length // nil: a measured series, with markers
	scatter bool
}

// dashings tell theories of one colour apart.
var dashings = [][]vg.Length{{9, 5}, {3, 4}, {14, 4, 3, 4}, {14, 4, 3, 4, 3, 4}}

func (l Lines) looks() []look {
	theories := 0
	for _, s := range l.Series {
		if s.Theory {
			theories++
		}
	}
	paired := 2*theories == len(l.Series)
	looks := make([]look, len(l.Series))
	var measured, theory int
	for i, s := range l.Series {
		switch {
		case !s.Theory:
			looks[i] = look{marker: measured, colour: colour(measured), scatter: s.Scatter || !oneWay(s.X)}
			measured++
			continue
		case paired:
			looks[i] = look{colour: colour(theory), dashes: dashings[0]}
		default:
			looks[i] = look{colour: faint, dashes: dashings[theory%len(dashings)]}
		}
		theory++
	}
	return looks
}

// oneWay tells whether a line through points goes to the right, or to the left.
func oneWay(x []float64) bool {
	return slices.IsSorted(x) || slices.IsSortedFunc(x, func(a, b float64) int { return cmp.Compare(b, a) })
}

// curve draws the part of a line that lies in the plot, and its markers.
func (k look) curve(p pen, plot vg.Rectangle, points []vg.Point) {
	canvas := draw.Canvas{Canvas: p, Rectangle: plot}
	if len(points) > 1 && !k.scatter {
		for _, part := range canvas.ClipLinesXY(points) {
			p.line(k.colour, lineWidth, k.dashes, part...)
		}
	}
	if k.dashes != nil && len(points) > 1 {
		return
	}
	for _, at := range points {
		if canvas.Contains(at) {
			p.mark(k.marker, k.colour, at)
		}
	}
}

func (k look) sample(p pen, in vg.Rectangle) {
	y := (in.Min.Y + in.Max.Y) / 2
	if !k.scatter {
		p.line(k.colour, lineWidth, k.dashes, vg.Point{X: in.Min.X, Y: y}, vg.Point{X: in.Max.X, Y: y})
	}
	if k.dashes == nil {
		p.mark(k.marker, k.colour, vg.Point{X: (in.Min.X + in.Max.X) / 2, Y: y})
	}
}
