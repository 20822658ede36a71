package chart

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/plot/vg"
)

// BarSeries is the bars of one colour.
type BarSeries struct {
	Name   string
	Values []float64 // one for each group; NaN is no bar
}

// Bars is a chart of bars in groups, one for each series, which carry their value.
type Bars struct {
	Title, Note string
	X           string // what the groups are, below them
	Y           Axis
	Groups      []string
	Series      []BarSeries
	Stacked     bool       // one bar for a group, of the series on top of each other
	Break       [2]float64 // the part of the y axis that is left out; zero for none
}

func (b Bars) heading() string { return b.Title }

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
}

func (b bar) value() float64 { return b.to - b.from }

// layout is the bars there are, group by group, from the bottom up.
func (b Bars) layout() []bar {
	var bars []bar
	for g := range b.Groups {
		first, sum := len(bars), 0.0
		for s, series := range b.Series {
			if v := series.Values[g]; !math.IsNaN(v) {
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
	}
	return bars
}

// span is the y axis, with some room above the highest bar for its value.
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

// step is that of the ticks of a broken axis.
func (b Bars) step(highest float64) float64 {
	return niceStep(b.Y.Min, b.Break[0]+max(highest-b.Break[1], 0), mostSteps-2)
}

func ends(bars []bar) []float64 {
	var ends []float64
	for _, b := range bars {
		ends = append(ends, b.to)
	}
	return ends
}

func (b Bars) draw(p pen) {
	var legend []entry
	if len(b.Series) > 1 {
		for i, s := range b.Series {
			legend = append(legend, swatch(s.Name, colour(i)))
		}
	}
	plot := p.frame(b.Title, b.Note, legend)
	bars := b.layout()
	y := ruler{label: b.Y.Label}
	y.lo, y.hi = b.span(bars)
	y.log, y.skip = b.Y.Log, b.Break
	y.ticks = b.ticks(bars, y)
	plot.Min.X += y.leftWidth()

	slot := (plot.Max.X - plot.Min.X) / vg.Length(len(b.Groups))
	names := namesBelow(b.Groups, slot)
	height := tickMajor + vg.Length(names.lines)*tickText.lineHeight() + names.up
	if b.X != "" {
		height += gap/2 + labelText.lineHeight()
	}
	plot.Min.Y += height
	y.from, y.to = plot.Min.Y, plot.Max.Y-tickText.lineHeight() // values of the highest bars
	p.left(y, vg.Rectangle{Min: plot.Min, Max: vg.Point{X: plot.Max.X, Y: y.to}})
	for g := range b.Groups {
		p.groupName(names, g, vg.Point{X: plot.Min.X + slot*(vg.Length(g)+0.5), Y: plot.Min.Y})
	}
	p.below(b.X, plot, height)
	d := barDrawer{pen: p, Bars: b, y: y, left: plot.Min.X, slot: slot}
	for _, bar := range bars {
		d.most = max(d.most, bar.of)
	}
	d.all(bars)
	p.line(axisLine, 1, nil, plot.Min, vg.Point{X: plot.Max.X, Y: plot.Min.Y})
	if y.broken() {
		d.slashes(plot.Min.X-6, plot.Min.X+6)
	}
}

// ticks are those of the y axis; a broken one has its own on either side.
func (b Bars) ticks(bars []bar, y ruler) []tick {
	values := ends(bars)
	if !b.broken() || b.Y.Ticks != nil {
		return b.Y.ticks(y.lo, y.hi, values, mostSteps)
	}
	_, highest := bounds(values)
	step := b.step(highest)
	ts := append(multiples(y.lo, b.Break[0], step), multiples(b.Break[1], y.hi, step)...)
	b.Y.label(ts, false)
	return ts
}
