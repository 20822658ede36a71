package draw

import "math"

// ruler is an axis with its place on the canvas.
type ruler struct {
	scale
	ticks []tick
	label string
}

var (
	tickText  = style{size: sizeTick}
	labelText = style{size: sizeLabel}
)

// bottomHeight returns the room below the plot for an axis with one line of tick labels.
func bottomHeight(label string) float64 {
	h := tickMajor + gap/2 + tickText.lineHeight()
	if label != "" {
		h += gap/2 + labelText.lineHeight()
	}
	return h
}

// tickWidth returns the room left of the plot for the tick labels.
func (r ruler) tickWidth() float64 {
	widest := 0.0
	for _, t := range r.ticks {
		widest = max(widest, tickText.width(t.label))
	}
	return widest + tickMajor + gap/2
}

// leftWidth returns the room left of the plot.
func (r ruler) leftWidth() float64 {
	if r.label == "" {
		return r.tickWidth()
	}
	return r.tickWidth() + gap + labelText.lineHeight()
}

// fitAcross places the ruler between two x, with as many labels as do not touch.
func (r *ruler) fitAcross(a Axis, values []float64, from, to float64) {
	r.from, r.to = from, to
	r.fit(16, func(most int) []tick { return a.ticks(r.lo, r.hi, values, most) }, func(t tick) float64 { return tickText.width(t.label) + 12 })
}

// fitUp places the ruler along the left of a plot, with as many labels as do not touch.
func (r *ruler) fitUp(plot rect, ticks func(most int) []tick) {
	r.from, r.to = plot.bottom(), plot.y
	r.fit(mostSteps, ticks, func(tick) float64 { return sizeTick + 4 })
}

// fit sets the ticks: the most whose labels, which take a size, do not touch.
func (r *ruler) fit(most int, ticks func(most int) []tick, size func(tick) float64) {
	for ; most >= 2; most-- {
		r.ticks = ticks(most)
		if r.thin(false, size) {
			return
		}
	}
	r.thin(true, size)
}

// thin reports whether labels do not touch. With drop it removes those that touch the one
// before.
func (r *ruler) thin(drop bool, size func(tick) float64) (apart bool) {
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

// bottom draws the ruler as x axis below a plot, with its grid, and its numbers if asked for.
func (c *canvas) bottom(r ruler, plot rect, numbers bool) {
	c.grid(r, func(v float64) (from, to point) { return point{v, plot.bottom()}, point{v, plot.y} })
	for _, t := range r.ticks {
		at := point{r.at(t.at), plot.bottom()}
		c.lines(axisLine, 1, at, point{at.x, at.y + t.length()})
		if numbers {
			c.text(style{size: sizeTick, anchor: atMiddle}, point{at.x, at.y + tickMajor + gap/2 + sizeTick/2}, t.label)
		}
	}
	c.lines(axisLine, 1, point{plot.x, plot.bottom()}, point{plot.right(), plot.bottom()})
}

// left draws the ruler as y axis, with its grid, and its numbers if asked for.
func (c *canvas) left(r ruler, plot rect, numbers bool) {
	c.grid(r, func(v float64) (from, to point) { return point{plot.x, v}, point{plot.right(), v} })
	for _, t := range r.ticks {
		at := point{plot.x, r.at(t.at)}
		c.lines(axisLine, 1, at, point{at.x - t.length(), at.y})
		if numbers {
			c.text(style{size: sizeTick, anchor: atEnd}, point{at.x - tickMajor - gap/2, at.y}, t.label)
		}
	}
	c.lines(axisLine, 1, point{plot.x, plot.y}, point{plot.x, plot.bottom()})
}

// labelBottom writes the label of what lies along the bottom of a plot, at the end of a height.
func (c *canvas) labelBottom(label string, plot rect, height float64) {
	s := style{size: sizeLabel, anchor: atMiddle}
	c.text(s, point{plot.centre().x, plot.bottom() + height - s.size/2 - 2}, s.cut(label, plot.w))
}

// labelLeft writes the label of what lies along the left of a plot, from the bottom up, at the
// end of a width.
func (c *canvas) labelLeft(label string, plot rect, width float64) {
	s := style{size: sizeLabel, anchor: atMiddle, turn: upwards}
	c.text(s, point{plot.x - width + s.size/2, plot.centre().y}, s.cut(label, plot.h))
}

// grid draws the lines of minor ticks below those of major ones.
func (c *canvas) grid(r ruler, ends func(float64) (from, to point)) {
	for _, major := range []bool{false, true} {
		with := gridMinor
		if major {
			with = gridMajor
		}
		for _, t := range r.ticks {
			if t.major == major {
				from, to := ends(r.at(t.at))
				c.lines(with, 1, from, to)
			}
		}
	}
}

func (t tick) length() float64 {
	if t.major {
		return tickMajor
	}
	return tickMinor
}
