package draw

import (
	"cmp"
	"math"
)

// barDrawer has the bars of a chart on its canvas.
type barDrawer struct {
	*canvas
	Bars
	y    ruler
	plot rect
	slot float64 // width of a group with what lies between
	most int     // bars side by side in a group
}

// rect returns the place of a bar. All are of a width, and those of a group around its middle.
func (d barDrawer) rect(b bar) rect {
	width := d.slot * 0.8 / float64(d.most)
	if d.most == 1 {
		width = min(d.slot*0.62, 120)
	}
	x := d.middle(b) + width*(float64(b.place)-float64(b.of)/2)
	place := func(v float64) float64 { return d.y.at(min(max(v, d.y.lo), d.y.hi)) } // log(0) is not on the axis
	between, top := min(1.5, width/8), place(b.to)
	return rect{x + between, top, width - 2*between, place(b.from) - top}
}

// middle returns the x of the middle of the group of a bar.
func (d barDrawer) middle(b bar) float64 { return d.plot.x + d.slot*(float64(b.group)+0.5) }

func (d barDrawer) all(bars []bar) {
	level, upright := true, true // values on bars, all in the same way
	for _, b := range bars {
		if b.bound {
			continue
		}
		room := d.room(b)
		level = level && (!b.top || tickText.width(d.text(b.to)) <= room+1)
		upright = upright && room >= sizeTick-2
	}
	for _, b := range bars {
		d.group(d.tip(b), func() {
			if b.bound {
				d.bound(b)
				return
			}
			r := d.rect(b)
			d.shape(box(r, 0), d.paint(b.series))
			if d.y.broken() && b.from < d.Break[0] && b.to > d.Break[1] {
				d.slashes(r.x-2, r.right()+2)
			}
			if d.Stacked {
				d.inside(b, r)
			}
			switch {
			case !b.top:
			case level:
				d.above(b, r)
			case upright:
				d.upright(b, r)
			}
		})
	}
}

// tip returns the tooltip of a bar.
func (d barDrawer) tip(b bar) string {
	return tip(d.Series[b.series].Name, cmp.Or(d.X, "group")+": "+d.Groups[b.group], d.Y.tip("y", b.value()))
}

// bound draws a bound across its group.
func (d barDrawer) bound(b bar) {
	y, half := d.y.at(b.to), d.slot*0.45
	d.look(b.series).curve(d.canvas, d.plot, []point{{d.middle(b) - half, y}, {d.middle(b) + half, y}})
}

// room returns how wide the value of a bar may be. One that is alone has the room of its group.
func (d barDrawer) room(b bar) float64 {
	if b.of == 1 {
		return d.slot
	}
	return d.rect(b).w
}

// text returns the value on a bar.
func (d barDrawer) text(v float64) string {
	if d.Y.Format != nil {
		return d.Y.Format(threeDigits(v))
	}
	return SI(threeDigits(v))
}

// above writes the value of a bar over it, on paper: lines of the grid end there.
func (d barDrawer) above(b bar, r rect) {
	s, text := style{size: sizeTick, anchor: atMiddle}, d.text(b.to)
	d.onPaper(s, point{r.centre().x, r.y - s.size*0.75}, text)
}

// onPaper writes centred text on a patch of paper, which hides what would make it hard to read.
func (c *canvas) onPaper(s style, at point, text string) {
	w, h := s.width(text)+2, s.size
	if s.turn == upwards {
		w, h = h, w
	}
	c.box(rect{at.x - w/2, at.y - h/2, w, h}, paper)
	c.text(s, at, text)
}

// upright writes the value of a bar along it, above it or at its top inside.
func (d barDrawer) upright(b bar, r rect) {
	s, text := style{size: sizeTick, turn: upwards, anchor: atMiddle}, d.text(b.to)
	half := s.width(text)/2 + 4
	if r.y-2*half+4 < d.plot.y-tickText.lineHeight() {
		d.onBar(s, point{r.centre().x, r.y + half}, text, b)
		return
	}
	d.canvas.text(s, point{r.centre().x, r.y - half}, text)
}

// inside writes the value of a part of a stack into it if it fits. The value of a stack of one
// is on top already.
func (d barDrawer) inside(b bar, r rect) {
	s, text := style{size: sizeTick, anchor: atMiddle}, d.text(b.value())
	if b.value() == b.to && b.top || r.h < s.size+2 || s.width(text) > r.w-4 {
		return
	}
	d.onBar(s, r.centre(), text, b)
}

// onBar writes text on a bar so that it can be read, also if the bar is hatched.
func (d barDrawer) onBar(s style, at point, text string, b bar) {
	look := d.paint(b.series)
	if look.hatch != plain {
		d.onPaper(s, at, text)
		return
	}
	s.colour = look.fill.readable()
	d.canvas.text(s, at, text)
}

// slashes cuts what lies at the break of the axis, from one x to another: a white band with
// two slanted edges.
func (d barDrawer) slashes(from, to float64) {
	const slant, half = 3, 3
	y := (d.y.at(d.Break[0]) + d.y.at(d.Break[1])) / 2
	edge := func(dy float64) []point { return []point{{from, y + dy + slant}, {to, y + dy - slant}} }
	upper, lower := edge(-half), edge(half)
	d.shape(polygon(upper[0], upper[1], lower[1], lower[0]), paint{fill: paper})
	d.lines(axisLine, 1.25, upper...)
	d.lines(axisLine, 1.25, lower...)
}

// groupNames is how groups are named below a plot: in lines, or upwards if there is no room for
// that.
type groupNames struct {
	text  [][]string
	lines int     // the most that a name takes
	up    float64 // the longest name, if they are written upwards
	every int     // groups that share the room of a name
}

// mostUp is the most that a name takes that is written upwards.
const mostUp = 160

// namesBelow returns the names of groups of a width.
func namesBelow(names []string, slot float64) groupNames {
	for _, within := range []bool{false, true} {
		set := groupNames{every: 1}
		widest := 0.0
		for _, name := range names {
			lines := tickText.wrap(name, slot-gap, within)
			set.text = append(set.text, lines)
			set.lines = max(set.lines, len(lines))
			for _, line := range lines {
				widest = max(widest, tickText.width(line))
			}
		}
		if widest <= slot-gap/2 && set.lines <= 3 {
			return set
		}
	}
	upwards := groupNames{every: every(slot)}
	for _, name := range names {
		name = tickText.cut(name, mostUp)
		upwards.text = append(upwards.text, []string{name})
		upwards.up = max(upwards.up, tickText.width(name))
	}
	return upwards
}

// every returns how many rows of a height share one label: one that all lines of text fit in.
func every(height float64) int { return int(math.Ceil((sizeTick + 1) / height)) }

// height returns the room of the names below the ticks.
func (n groupNames) height() float64 { return float64(n.lines)*tickText.lineHeight() + n.up + gap/2 }

// groupNames writes names below a plot.
func (c *canvas) groupNames(names groupNames, plot rect) {
	slot := plot.w / float64(len(names.text))
	for g := 0; g < len(names.text); g += names.every {
		at := point{plot.x + slot*(float64(g)+0.5), plot.bottom() + tickMajor}
		if names.up > 0 {
			c.text(style{size: sizeTick, anchor: atEnd, turn: upwards}, at, names.text[g][0])
			continue
		}
		for i, line := range names.text[g] {
			c.text(style{size: sizeTick, anchor: atMiddle}, point{at.x, at.y + gap/2 + sizeTick/2 + tickText.lineHeight()*float64(i)}, line)
		}
	}
}
