package draw

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/kernbench/kernbench/internal/lists"
)

// BarSeries is a set of bars with one colour, or a bound.
type BarSeries struct {
	Name   string
	Values []float64 // one for each group; NaN for no bar
	Bound  bool      // draws a dashed line across each group instead of a bar
}

// Bars is a bar chart. Each group has a bar for each series, labelled with its value.
type Bars struct {
	Title, Subtitle, Note string
	X                     string // label of the axis of groups
	Y                     Axis
	Groups                []string
	Series                []BarSeries
}

// check returns an error if there are no bars or too many series, or if values do not match
// the groups or cannot be drawn.
func (b Bars) check() error {
	if len(b.Series) == 0 || len(b.Groups) == 0 {
		return errors.New("no bars: give groups and at least one series")
	}
	for _, s := range b.Series {
		if len(s.Values) != len(b.Groups) {
			return fmt.Errorf("series %q has %d values for %d groups: give one for each, NaN for no bar", s.Name, len(s.Values), len(b.Groups))
		}
	}
	bars := b.layout()
	if first := slices.IndexFunc(b.Series, func(s BarSeries) bool { return !s.Bound }); first < 0 {
		return errors.New("no bars: all series are bounds; draw lines")
	} else if _, n := b.kindIndex(first); n > len(barFills) {
		return fmt.Errorf("%d series of bars: more than %d cannot be told apart; leave some out or draw lines", n, len(barFills))
	}
	if len(bars) == 0 {
		return errors.New("no bars: all values are NaN")
	}
	for _, bar := range bars {
		name := fmt.Sprintf("series %q of group %q", b.Series[bar.series].Name, b.Groups[bar.group])
		if bar.value < 0 {
			return fmt.Errorf("%s: %v is below zero; bars begin there, so draw lines", name, bar.value)
		}
		if err := b.Y.check(name, []float64{bar.value}); err != nil {
			return err
		}
	}
	return b.ruler(bars).check("y")
}

// bar is a value with its position.
type bar struct {
	group, series int
	value         float64
	index, total  int  // position among the bars of its group, and their number
	bound         bool // drawn as a line
}

// layout returns the bars and bounds that have a value, group by group. Within a group,
// bounds follow bars.
func (b Bars) layout() []bar {
	var bars []bar
	for g := range b.Groups {
		var group, bounds []bar
		for s, series := range b.Series {
			switch v := series.Values[g]; {
			case math.IsNaN(v):
			case series.Bound:
				bounds = append(bounds, bar{group: g, series: s, value: v, bound: true})
			default:
				group = append(group, bar{group: g, series: s, value: v, index: len(group)})
			}
		}
		for i := range group {
			group[i].total = len(group)
		}
		bars = slices.Concat(bars, group, bounds)
	}
	return bars
}

// ruler returns the y axis. A linear axis leaves space above the highest bar for the text
// of the bar's value. A logarithmic axis begins below the lowest bar, so that this bar has
// a height.
func (b Bars) ruler(bars []bar) ruler {
	values := lists.Make(len(bars), func(i int) float64 { return bars[i].value })
	if !b.Y.Log {
		return newRuler(b.Y, append(values, slices.Max(values)*1.04), true)
	}
	y := newRuler(b.Y, values, true)
	if y.lo == slices.Min(values) {
		y.lo, _ = roundOut(y.lo*0.9, y.hi) // gives the lowest bar a height
	}
	return y
}

// draw lays the bar chart out on a canvas.
func (b Bars) draw(c *canvas) error {
	c.startPage(slideW, slideH, b.Title, b.Subtitle)
	if err := b.check(); err != nil {
		return err
	}
	area := c.drawFrame(b.Title, b.Subtitle, b.Note, b.legend()).inset(0, tickText.lineHeight(), 0, 0) // leaves space above for the values of the highest bars
	bars := b.layout()
	y := b.ruler(bars)
	var plot rect
	var names groupNames
	var left, height float64
	for range 2 { // the width of the numbers depends on the height of the names, which depends on the remaining width
		names = layoutNames(b.Groups, (area.w-left)/float64(len(b.Groups)))
		height = names.height() + tickMajor + labelHeight(b.X, gap/2)
		plot = area.inset(left, 0, 0, height)
		y.fitVertical(plot, maxSteps)
		left = y.leftWidth()
	}
	plot = area.inset(left, 0, 0, height)
	c.drawLeftAxis(y, plot, true)
	c.labelLeft(b.Y.text(), plot, left)
	c.drawGroupNames(names, plot)
	c.labelBottom(b.X, plot, height)
	d := barDrawer{canvas: c, Bars: b, y: y, plot: plot, slot: plot.w / float64(len(b.Groups))}
	for _, bar := range bars {
		d.maxBars = max(d.maxBars, bar.total)
	}
	d.drawBars(bars)
	c.lines(axisLine, 1, point{plot.x, plot.bottom()}, point{plot.right(), plot.bottom()})
	return nil
}

// legend returns an entry for each series. A single series needs none because the title
// explains it.
func (b Bars) legend() []entry {
	if len(b.Series) == 1 && !b.Series[0].Bound {
		return nil
	}
	return lists.Make(len(b.Series), func(i int) entry {
		if b.Series[i].Bound {
			return entry{b.Series[i].Name, 30, b.look(i).drawSample}
		}
		return entry{b.Series[i].Name, 1.6 * sampleH, func(c *canvas, in rect) { c.shape(box(in, 0), b.paint(i)) }}
	})
}

// paint returns the fill and outline of the bars of a series.
func (b Bars) paint(series int) paint {
	i, n := b.kindIndex(series)
	return barPaint(i, n)
}

// look returns the line style of a series that is a bound.
func (b Bars) look(series int) look {
	i, _ := b.kindIndex(series)
	return boundLook(i, ink)
}

// kindIndex returns the index of a series among the series of its kind (bars or bounds),
// and the number of series of that kind.
func (b Bars) kindIndex(series int) (i, n int) {
	for k, s := range b.Series {
		if s.Bound == b.Series[series].Bound {
			if n++; k < series {
				i++
			}
		}
	}
	return i, n
}
