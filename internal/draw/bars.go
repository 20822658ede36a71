package draw

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// BarSeries is the bars of one colour, or a bound.
type BarSeries struct {
	Name   string
	Values []float64 // one for each group; NaN is no bar
	Bound  bool      // a dashed line across each group instead of a bar
}

// Bars is a chart of bars in groups, one for each series, which carry their value.
type Bars struct {
	Title, Subtitle, Note string
	X                     string // what the groups are, below them
	Y                     Axis
	Groups                []string
	Series                []BarSeries
	Stacked               bool       // one bar for a group, of the series on top of each other
	Break                 [2]float64 // the part of the y axis that is left out; zero for none
}

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
	if bound := slices.IndexFunc(b.Series, func(s BarSeries) bool { return !s.Bound }); bound < 0 {
		return errors.New("no bars: all series are bounds; draw lines")
	} else if _, n := b.count(bound); n > len(barFills) {
		return fmt.Errorf("%d series of bars: more than %d cannot be told apart; leave some out or draw lines", n, len(barFills))
	}
	if len(bars) == 0 {
		return errors.New("no bars: all values are NaN")
	}
	for _, bar := range bars {
		name := fmt.Sprintf("series %q of group %q", b.Series[bar.series].Name, b.Groups[bar.group])
		if bar.value() < 0 {
			return fmt.Errorf("%s: %v is below zero; bars begin there, so draw lines", name, bar.value())
		}
		if err := b.Y.check(name, []float64{bar.value()}); err != nil {
			return err
		}
	}
	switch {
	case b.Stacked && b.Y.Log:
		return errors.New("a stack on a logarithmic axis: its parts could not be compared; draw a linear axis or groups")
	case b.broken():
		return b.checkBreak(bars)
	}
	lo, hi := b.span(bars)
	return checkSpan("y", lo, hi)
}

func (b Bars) checkBreak(bars []bar) error {
	switch {
	case b.Y.Log:
		return errors.New("a break in a logarithmic axis: it has room for all sizes; drop one of the two")
	case !(b.Y.Min < b.Break[0] && b.Break[0] < b.Break[1]):
		return fmt.Errorf("a break from %v to %v: let it begin above %v, where the axis does, and end above that", b.Break[0], b.Break[1], b.Y.Min)
	}
	if lo, hi := b.span(bars); b.Break[1] >= hi {
		return fmt.Errorf("a break from %v to %v does not lie within the axis from %v to %v", b.Break[0], b.Break[1], lo, hi)
	}
	for _, bar := range bars {
		if b.Break[0] < bar.to && bar.to < b.Break[1] {
			return fmt.Errorf("the bar of series %q and group %q ends at %v, within the break from %v to %v: move that",
				b.Series[bar.series].Name, b.Groups[bar.group], bar.to, b.Break[0], b.Break[1])
		}
	}
	return nil
}

// bar is a value and where it is drawn.
type bar struct {
	group, series int
	from, to      float64
	place, of     int  // which of the bars side by side in its group
	top           bool // nothing is stacked on it
	bound         bool // a line, at to
}

func (b bar) value() float64 { return b.to - b.from }

// layout returns the bars there are, group by group from the bottom up, each group with its
// bounds at the end.
func (b Bars) layout() []bar {
	var bars []bar
	for g := range b.Groups {
		first, sum := len(bars), 0.0
		for s, series := range b.Series {
			if v := series.Values[g]; !math.IsNaN(v) && !series.Bound {
				bars = append(bars, bar{group: g, series: s, from: sum, to: sum + v})
				if b.Stacked {
					sum += v
				}
			}
		}
		group := bars[first:]
		for i := range group {
			group[i].place, group[i].of, group[i].top = i, len(group), true
			if b.Stacked {
				group[i].place, group[i].of, group[i].top = 0, 1, i == len(group)-1
			}
		}
		for s, series := range b.Series {
			if v := series.Values[g]; !math.IsNaN(v) && series.Bound {
				bars = append(bars, bar{group: g, series: s, to: v, bound: true})
			}
		}
	}
	return bars
}

// span returns the ends of the y axis, with some room above the highest bar for its value.
func (b Bars) span(bars []bar) (lo, hi float64) {
	values := ends(bars)
	lowest, highest := bounds(values)
	switch {
	case b.Y.Log:
		lo, hi = b.Y.span(values, true)
		if lo == lowest && b.Y.Min == 0 {
			lo = roundDown(lo * 0.9) // or the lowest bar would have no height
		}
		return lo, hi
	case b.broken() && b.Y.Max == 0:
		step := b.step(highest)
		return b.Y.Min, math.Ceil(highest*1.04/step) * step
	}
	return b.Y.span(append(values, highest*1.04), true)
}

func (b Bars) broken() bool { return b.Break != [2]float64{} }

// step returns the distance of the ticks of a broken axis.
func (b Bars) step(highest float64) float64 {
	return niceStep(b.Y.Min, b.Break[0]+max(highest-b.Break[1], 0), mostSteps-2)
}

// ends returns where bars and bounds end.
func ends(bars []bar) []float64 {
	var ends []float64
	for _, b := range bars {
		ends = append(ends, b.to)
	}
	return ends
}

func (b Bars) draw(c *canvas) error {
	c.page(slideW, slideH, b.Title, b.Subtitle)
	if err := b.check(); err != nil {
		return err
	}
	area := c.frame(b.Title, b.Subtitle, b.Note, b.legend()).inset(0, tickText.lineHeight(), 0, 0) // above are the values of the highest bars
	bars := b.layout()
	y := ruler{label: b.Y.text()}
	y.lo, y.hi = b.span(bars)
	y.log, y.skip = b.Y.Log, b.Break
	var plot rect
	var names groupNames
	var left, height float64
	for range 2 { // the width of numbers depends on the height of names, and that on the width left
		names = namesBelow(b.Groups, (area.w-left)/float64(len(b.Groups)))
		height = names.height() + tickMajor
		if b.X != "" {
			height += gap/2 + labelText.lineHeight()
		}
		plot = area.inset(left, 0, 0, height)
		y.fitUp(plot, func(most int) []tick { return b.ticks(bars, y, most) })
		left = y.leftWidth()
	}
	plot = area.inset(left, 0, 0, height)
	c.left(y, plot, true)
	c.labelLeft(y.label, plot, left)
	c.groupNames(names, plot)
	c.labelBottom(b.X, plot, height)
	d := barDrawer{canvas: c, Bars: b, y: y, plot: plot, slot: plot.w / float64(len(b.Groups))}
	for _, bar := range bars {
		d.most = max(d.most, bar.of)
	}
	d.all(bars)
	c.lines(axisLine, 1, point{plot.x, plot.bottom()}, point{plot.right(), plot.bottom()})
	if y.broken() {
		d.slashes(plot.x-6, plot.x+6)
	}
	return nil
}

// legend returns the entries of series. The title explains a single one.
func (b Bars) legend() []entry {
	if len(b.Series) == 1 && !b.Series[0].Bound {
		return nil
	}
	var legend []entry
	for i, s := range b.Series {
		if s.Bound {
			legend = append(legend, entry{s.Name, 30, b.look(i).sample})
			continue
		}
		legend = append(legend, entry{s.Name, 1.6 * sampleH, func(c *canvas, in rect) { c.shape(box(in, 0), b.paint(i)) }})
	}
	return legend
}

// paint returns the look of the bars of a series: series of bars are counted without bounds.
func (b Bars) paint(series int) paint {
	i, n := b.count(series)
	return barPaint(i, n)
}

// look returns the look of the lines of a bound.
func (b Bars) look(series int) look {
	i, _ := b.count(series)
	return look{colour: ink, dashes: boundDashes[i%len(boundDashes)], bound: true}
}

// count returns which of its kind a series is, bars or bounds, and how many of them there are.
func (b Bars) count(series int) (i, n int) {
	for k, s := range b.Series {
		if s.Bound == b.Series[series].Bound {
			if n++; k < series {
				i++
			}
		}
	}
	return i, n
}

// ticks returns the ticks of the y axis. A broken one has its own on either side.
func (b Bars) ticks(bars []bar, y ruler, most int) []tick {
	values := ends(bars)
	if !b.broken() || b.Y.Ticks != nil {
		return b.Y.ticks(y.lo, y.hi, values, most)
	}
	_, highest := bounds(values)
	step := b.step(highest)
	ts := append(multiples(y.lo, b.Break[0], step), multiples(b.Break[1], y.hi, step)...)
	b.Y.label(ts, false)
	return ts
}
