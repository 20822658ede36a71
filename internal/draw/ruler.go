package draw

import (
	"math"

	"github.com/kernbench/kernbench/internal/lists"
)

// ruler is an axis with its position on the canvas.
type ruler struct {
	scale
	axis   Axis
	values []float64 // values that the axis must show
	ticks  []tick
}

// newRuler returns a ruler that covers all values, without a position on the canvas. If
// fromZero is set, a linear ruler also covers 0.
func newRuler(a Axis, values []float64, fromZero bool) ruler {
	lo, hi := a.span(values, fromZero)
	return ruler{scale: scale{lo: lo, hi: hi, log: a.Log}, axis: a, values: values}
}

var (
	tickText  = style{size: sizeTick}
	labelText = style{size: sizeLabel}
)

// bottomHeight returns the height of the space below the plot that an axis needs for its
// ticks, one line of tick labels and its own label.
func bottomHeight(label string) float64 {
	return tickMajor + gap/2 + tickText.lineHeight() + labelHeight(label, gap/2)
}

// labelHeight returns the height of the label of an axis plus `space`, the distance between
// the label and the ticks. It returns 0 if the label is empty.
func labelHeight(label string, space float64) float64 {
	if label == "" {
		return 0
	}
	return space + labelText.lineHeight()
}

// tickWidth returns the width that the ticks and their labels take at the side of a plot.
func (r ruler) tickWidth() float64 {
	return tickText.widest(lists.Map(r.ticks, func(t tick) string { return t.label })...) + tickMajor + gap/2
}

// leftWidth returns the width of the space that the ticks and the label of the axis need to
// the left of the plot.
func (r ruler) leftWidth() float64 { return r.tickWidth() + labelHeight(r.axis.text(), gap) }

// fitVertical places the ruler along a vertical side of a plot. It labels as many ticks as
// possible, up to `limit`, without labels touching each other.
func (r *ruler) fitVertical(plot rect, limit int) {
	r.from, r.to = plot.bottom(), plot.y
	r.fit(limit, func(tick) float64 { return sizeTick + 4 })
}

// fit sets the ticks. It sets as many as possible, up to `limit`, without labels touching
// each other. If labels touch even when `limit` is 2, fit clears each label that touches
// the previous label. The function `size` returns the length of a label along the ruler.
func (r *ruler) fit(limit int, size func(tick) float64) {
	for ; limit >= 2; limit-- {
		r.ticks = r.axis.ticks(r.lo, r.hi, r.values, limit)
		if r.separateLabels(false, size) {
			return
		}
	}
	r.separateLabels(true, size)
}

// separateLabels reports whether all labels are apart from each other. If `drop` is set, it
// instead clears each label that touches the previous label, and returns true.
func (r *ruler) separateLabels(drop bool, size func(tick) float64) (apart bool) {
	last := -1
	for i, t := range r.ticks {
		if !t.major {
			continue
		}
		if last >= 0 && math.Abs(r.at(t.at)-r.at(r.ticks[last].at)) < (size(t)+size(r.ticks[last]))/2 {
			if !drop {
				return false
			}
			r.ticks[i].label = ""
			continue
		}
		last = i
	}
	return true
}

// drawBottomAxis draws the ruler as the x axis below a plot, with its grid. If `numbers` is
// set, it also writes the labels of the ticks.
func (c *canvas) drawBottomAxis(r ruler, plot rect, numbers bool) {
	at := func(v, out float64) point { return point{v, plot.bottom() + out} }
	c.drawGrid(r, plot.h, at)
	c.drawTicks(r, at, numbers, style{size: sizeTick, anchor: atMiddle}, sizeTick/2)
	c.lines(axisLine, 1, at(plot.x, 0), at(plot.right(), 0))
}

// drawLeftAxis draws the ruler as the y axis, with its grid. If `numbers` is set, it also
// writes the labels of the ticks.
func (c *canvas) drawLeftAxis(r ruler, plot rect, numbers bool) {
	at := func(v, out float64) point { return point{plot.x - out, v} }
	c.drawGrid(r, plot.w, at)
	c.drawTicks(r, at, numbers, style{size: sizeTick, anchor: atEnd}, 0)
	c.lines(axisLine, 1, at(plot.y, 0), at(plot.bottom(), 0))
}

// drawTicks draws the ticks of a ruler, and their labels if `labels` is set. The function
// `at` returns the point whose coordinate along the ruler is v and whose distance from the
// plot is `out`. The parameter `further` is additional space between ticks and labels.
func (c *canvas) drawTicks(r ruler, at func(v, out float64) point, labels bool, s style, further float64) {
	for _, t := range r.ticks {
		v, length := r.at(t.at), tickMinor
		if t.major {
			length = tickMajor
		}
		c.lines(axisLine, 1, at(v, 0), at(v, length))
		if labels {
			c.text(s, at(v, tickMajor+gap/2+further), t.label)
		}
	}
}

// labelBottom writes the label of the bottom axis of a plot. `height` is the distance from
// the plot to the lower edge of the label.
func (c *canvas) labelBottom(label string, plot rect, height float64) {
	s := style{size: sizeLabel, anchor: atMiddle}
	c.text(s, point{plot.centre().x, plot.bottom() + height - s.size/2 - 2}, s.cut(label, plot.w))
}

// labelLeft writes the label of the left axis of a plot, from the bottom up. `width` is the
// distance from the plot to the outer edge of the label.
func (c *canvas) labelLeft(label string, plot rect, width float64) {
	s := style{size: sizeLabel, anchor: atMiddle, turn: upwards}
	c.text(s, point{plot.x - width + s.size/2, plot.centre().y}, s.cut(label, plot.h))
}

// drawGrid draws a grid line across the plot for each tick, first for minor and then for
// major ticks. `depth` is the length of the lines. The function `at` returns points as for
// drawTicks.
func (c *canvas) drawGrid(r ruler, depth float64, at func(v, out float64) point) {
	for i, with := range []colour{gridMinor, gridMajor} {
		for _, t := range r.ticks {
			if t.major == (i == 1) {
				c.lines(with, 1, at(r.at(t.at), 0), at(r.at(t.at), -depth))
			}
		}
	}
}
