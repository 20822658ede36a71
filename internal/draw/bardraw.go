package draw

import (
	"cmp"
	"math"
	"slices"
)

// barDrawer has the bars of a chart on its canvas.
type barDrawer struct {
	*canvas
	Bars
	y       ruler
	plot    rect
	slot    float64 // width of a group with what lies between
	maxBars int     // bars side by side in a group
}

// rect returns the place of a bar. All are of a width, and those of a group around its middle.
func (d barDrawer) rect(b bar) rect {
	width := d.slot * 0.8 / float64(d.maxBars)
	if d.maxBars == 1 {
		width = min(d.slot*0.62, 120)
	}
	x := d.groupMiddle(b) + width*(float64(b.index)-float64(b.total)/2)
	between, top := min(1.5, width/8), d.y.at(max(b.value, d.y.lo)) // log(0) is not on the axis
	return rect{x + between, top, width - 2*between, d.plot.bottom() - top}
}

// groupMiddle returns the x of the middle of the group of a bar.
func (d barDrawer) groupMiddle(b bar) float64 { return d.plot.x + d.slot*(float64(b.group)+0.5) }

// drawBars draws the bars with their values, which are all written in the same way.
func (d barDrawer) drawBars(bars []bar) {
	horizontal, vertical := true, true
	for _, b := range bars {
		if b.bound {
			continue
		}
		space := d.rect(b).w
		if b.total == 1 { // a bar that is alone has the room of its group
			space = d.slot
		}
		horizontal = horizontal && tickText.width(valueText(d.Y.Format, b.value)) <= space+1
		vertical = vertical && space >= sizeTick-2
	}
	for _, b := range bars {
		d.group(tooltip(d.Series[b.series].Name, cmp.Or(d.X, "group")+": "+d.Groups[b.group], d.Y.tooltip("y", b.value)), func() {
			if b.bound { // a line across the group
				y, half := d.y.at(b.value), d.slot*0.45
				d.look(b.series).drawCurve(d.canvas, point{d.groupMiddle(b) - half, y}, point{d.groupMiddle(b) + half, y})
				return
			}
			d.shape(box(d.rect(b), 0), d.paint(b.series))
			switch {
			case horizontal:
				s, r := style{size: sizeTick, anchor: atMiddle}, d.rect(b)
				d.textOnPaper(s, point{r.centre().x, r.y - s.size*0.75}, valueText(d.Y.Format, b.value)) // lines of the grid end there
			case vertical:
				d.drawValueUpright(b)
			}
		})
	}
}

// textOnPaper writes centred text on a patch of paper, which hides what would make it hard to read.
func (c *canvas) textOnPaper(s style, at point, text string) {
	w, h := s.width(text)+2, s.size
	if s.turn == upwards {
		w, h = h, w
	}
	c.box(rectAround(at, w, h), paper)
	c.text(s, at, text)
}

// drawValueUpright writes the value of a bar along it: above it, or at its top inside, on paper if the
// bar is hatched.
func (d barDrawer) drawValueUpright(b bar) {
	s, text, r := style{size: sizeTick, turn: upwards, anchor: atMiddle}, valueText(d.Y.Format, b.value), d.rect(b)
	half := s.width(text)/2 + 4
	if r.y-2*half+4 >= d.plot.y-tickText.lineHeight() {
		d.text(s, point{r.centre().x, r.y - half}, text)
		return
	}
	look, at := d.paint(b.series), point{r.centre().x, r.y + half}
	if look.hatch != plain {
		d.textOnPaper(s, at, text)
		return
	}
	s.colour = look.fill.readable()
	d.text(s, at, text)
}

// groupNames is how groups are named below a plot: in lines, or upwards if there is no room for
// that.
type groupNames struct {
	text          [][]string
	lines         int     // the most that a name takes
	uprightHeight float64 // the longest name, if they are written upwards
	interval      int     // groups that share the room of a name
}

// maxUprightName is the most that a name takes that is written upwards.
const maxUprightName = 160

// layoutNames returns the names of groups of a width.
func layoutNames(names []string, slot float64) groupNames {
	for _, within := range []bool{false, true} {
		set := groupNames{interval: 1}
		for _, name := range names {
			lines := tickText.wrap(name, slot-gap, within)
			set.text = append(set.text, lines)
			set.lines = max(set.lines, len(lines))
		}
		if tickText.widest(slices.Concat(set.text...)...) <= slot-gap/2 && set.lines <= 3 {
			return set
		}
	}
	upwards := groupNames{interval: labelInterval(slot)}
	for _, name := range names {
		name = tickText.cut(name, maxUprightName)
		upwards.text = append(upwards.text, []string{name})
		upwards.uprightHeight = max(upwards.uprightHeight, tickText.width(name))
	}
	return upwards
}

// labelInterval returns how many rows of a height share one label: one that all lines of text fit in.
func labelInterval(height float64) int { return int(math.Ceil((sizeTick + 1) / height)) }

// height returns the room of the names below the ticks.
func (n groupNames) height() float64 {
	return float64(n.lines)*tickText.lineHeight() + n.uprightHeight + gap/2
}

// drawGroupNames writes names below a plot.
func (c *canvas) drawGroupNames(names groupNames, plot rect) {
	slot := plot.w / float64(len(names.text))
	for g := 0; g < len(names.text); g += names.interval {
		at := point{plot.x + slot*(float64(g)+0.5), plot.bottom() + tickMajor}
		if names.uprightHeight > 0 {
			c.text(style{size: sizeTick, anchor: atEnd, turn: upwards}, at, names.text[g][0])
			continue
		}
		for i, line := range names.text[g] {
			c.text(style{size: sizeTick, anchor: atMiddle}, point{at.x, at.y + gap/2 + sizeTick/2 + tickText.lineHeight()*float64(i)}, line)
		}
	}
}
