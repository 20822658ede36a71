package chart

import (
	"gonum.org/v1/plot/vg"
)

// ruler is an axis with its place on the slide.
type ruler struct {
	scale
	ticks []tick
	label string
}

var (
	tickText  = style{size: sizeTick}
	labelText = style{size: sizeLabel}
)

// bottomHeight is the room below the plot for an axis with one line of tick labels.
func bottomHeight(label string) vg.Length {
	h := tickMajor + gap/2 + tickText.lineHeight()
	if label != "" {
		h += gap/2 + labelText.lineHeight()
	}
	return h
}

// leftWidth is the room left of the plot.
func (r ruler) leftWidth() vg.Length {
	var widest vg.Length
	for _, t := range r.ticks {
		widest = max(widest, tickText.width(t.label))
	}
	w := widest + tickMajor + gap/2
	if r.label != "" {
		w += gap + labelText.lineHeight()
	}
	return w
}

// fit has the ruler lie between two places, with as many labels as do not touch.
func (r *ruler) fit(a Axis, values []float64, from, to vg.Length) {
	r.from, r.to = from, to
	for most := 16; most >= 2; most-- {
		r.ticks = a.ticks(r.lo, r.hi, values, most)
		if r.thin(false) {
			return
		}
	}
	r.thin(true)
}

// thin tells whether labels along the x axis are apart, and takes away those that
// are not.
func (r *ruler) thin(drop bool) (apart bool) {
	const space = 12
	var end vg.Length
	first := true
	for i, t := range r.ticks {
		if !t.major {
			continue
		}
		half := tickText.width(t.label) / 2
		if !first && r.at(t.at)-half < end+space {
			if !drop {
				return false
			}
			r.ticks[i].label = ""
			continue
		}
		first, end = false, r.at(t.at)+half
	}
	return true
}

// bottom draws the ruler as x axis below a plot, with its grid.
func (p pen) bottom(r ruler, plot vg.Rectangle) {
	p.grid(r, func(v vg.Length) (from, to vg.Point) {
		return vg.Point{X: v, Y: plot.Min.Y}, vg.Point{X: v, Y: plot.Max.Y}
	})
	for _, t := range r.ticks {
		at := vg.Point{X: r.scale.at(t.at), Y: plot.Min.Y}
		p.line(axisLine, 1, nil, at, vg.Point{X: at.X, Y: at.Y - t.length()})
		s := tickText
		s.across = atMiddle
		p.text(s, vg.Point{X: at.X, Y: at.Y - tickMajor - gap/2 - s.size/2}, t.label)
	}
	p.line(axisLine, 1, nil, plot.Min, vg.Point{X: plot.Max.X, Y: plot.Min.Y})
	p.below(r.label, plot, bottomHeight(r.label))
}

// below writes the label of what lies along the bottom of a plot, some way down.
func (p pen) below(label string, plot vg.Rectangle, height vg.Length) {
	s := labelText
	s.across = atMiddle
	p.text(s, vg.Point{X: (plot.Min.X + plot.Max.X) / 2, Y: plot.Min.Y - height + s.size/2 + 2}, label)
}

// beside writes the label of what lies along the left of a plot, from the bottom up.
func (p pen) beside(label string, plot vg.Rectangle, width vg.Length) {
	s := labelText
	s.across, s.up = atMiddle, true
	p.text(s, vg.Point{X: plot.Min.X - width + s.size/2, Y: (plot.Min.Y + plot.Max.Y) / 2}, label)
}

// left draws the ruler as y axis, with its grid.
func (p pen) left(r ruler, plot vg.Rectangle) {
	p.grid(r, func(v vg.Length) (from, to vg.Point) {
		return vg.Point{X: plot.Min.X, Y: v}, vg.Point{X: plot.Max.X, Y: v}
	})
	for _, t := range r.ticks {
		at := vg.Point{X: plot.Min.X, Y: r.scale.at(t.at)}
		p.line(axisLine, 1, nil, at, vg.Point{X: at.X - t.length(), Y: at.Y})
		s := tickText
		s.across = atEnd
		p.text(s, vg.Point{X: at.X - tickMajor - gap/2, Y: at.Y}, t.label)
	}
	p.line(axisLine, 1, nil, plot.Min, vg.Point{X: plot.Min.X, Y: plot.Max.Y})
	p.beside(r.label, plot, r.leftWidth())
}

// grid draws the lines of minor ticks below those of major ones.
func (p pen) grid(r ruler, ends func(vg.Length) (from, to vg.Point)) {
	for _, major := range []bool{false, true} {
		c := gridMinor
		if major {
			c = gridMajor
		}
		for _, t := range r.ticks {
			if t.major == major {
				from, to := ends(r.scale.at(t.at))
				p.line(c, 1, nil, from, to)
			}
		}
	}
}

func (t tick) length() vg.Length {
	if t.major {
		return tickMajor
	}
	return tickMinor
}
