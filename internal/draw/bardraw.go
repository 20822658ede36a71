package draw

import (
	"cmp"
	"math"
	"slices"
)

// barDrawer draws the bars of a chart on its canvas.
type barDrawer struct {
	*canvas
	Bars
	y       ruler
	plot    rect
	slot    float64 // width of a group, including the gap to the next group
	maxBars int     // bars next to each other in the largest group
}

// rect returns the rectangle of a bar. All bars have the same width, and the bars of a
// group are centred in the group.
func (d barDrawer) rect(b bar) rect {
	width := d.slot * 0.8 / float64(d.maxBars)
	if d.maxBars == 1 {
		width = min(d.slot*0.62, 120)
	}
	x := d.groupMiddle(b) + width*(float64(b.index)-float64(b.total)/2)
	between, top := min(1.5, width/8), d.y.at(max(b.value, d.y.lo)) // log(0) is not on the axis
	return rect{x + between, top, width - 2*between, d.plot.bottom() - top}
}

// groupMiddle returns the x coordinate of the centre of a bar's group.
func (d barDrawer) groupMiddle(b bar) float64 { return d.plot.x + d.slot*(float64(b.group)+0.5) }

// drawBars draws the bars with their values. All values are written horizontally, all
// vertically, or none is written, depending on the space.
func (d barDrawer) drawBars(bars []bar) {
	horizontal, vertical := true, true
	for _, b := range bars {
		if b.bound {
			continue
		}
		space := d.rect(b).w
		if b.total == 1 { // the only bar of a group has the width of the group
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
				d.textOnPaper(s, point{r.centre().x, r.y - s.size*0.75}, valueText(d.Y.Format, b.value)) // the paper hides the grid lines
			case vertical:
				d.drawValueUpright(b)
			}
		})
	}
}

// textOnPaper writes centred text on a patch that hides the background. The patch has the
// colour of the paper.
func (c *canvas) textOnPaper(s style, at point, text string) {
	w, h := s.width(text)+2, s.size
	if s.turn == upwards {
		w, h = h, w
	}
	c.box(rectAround(at, w, h), paper)
	c.text(s, at, text)
}

// drawValueUpright writes the value of a bar from the bottom up. The value is above the
// bar, or inside the bar at its top if there is no space above. On a hatched bar, the value
// is on a patch in the colour of the paper.
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

// groupNames is the layout of the names of groups below a plot: horizontal in one or more
// lines, or from the bottom up if they are too wide.
type groupNames struct {
	text          [][]string
	lines         int     // largest number of lines of a name
	uprightHeight float64 // length of the longest upright name; 0 if names are horizontal
	interval      int     // every interval-th group has its name written
}

// maxUprightName is the maximum length of an upright name in pixels.
const maxUprightName = 160

// layoutNames lays out the names of groups. `slot` is the width of a group. The names are
// horizontal, in at most three lines each, if they fit in this width. Otherwise they are
// upright, long names are cut, and only every n-th group has a name if groups are narrow.
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

// labelInterval returns the smallest n such that n rows together are at least as high as a
// label. Only every n-th row then has a label. `height` is the height of a row. For upright
// labels, columns take the place of rows.
func labelInterval(height float64) int { return int(math.Ceil((sizeTick + 1) / height)) }

// height returns the height of the space that the names take below the ticks, in pixels.
func (n groupNames) height() float64 {
	return float64(n.lines)*tickText.lineHeight() + n.uprightHeight + gap/2
}

// drawGroupNames writes the names below a plot.
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
