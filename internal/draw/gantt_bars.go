package draw

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/simtime"
)

// Widths of bars.
const (
	speck    tenths = 5  // bars narrower than this are drawn together
	isolated tenths = 20 // a narrow bar with this distance to the next bar is widened to a speck
	wide     tenths = 30 // bars of at least this width are shortened, to separate them from the next bar
	barGap   tenths = 7  // length by which wide bars are shortened
)

// separateBytes and stripBytes are the approximate sizes in an SVG file of a bar that is
// drawn separately and of a bar in a strip. maxBytes limits the sum over all bars.
const separateBytes, stripBytes, maxBytes = 200, 10, 800_000

// minSeparateWidth returns the smallest width of bars that are drawn separately, with
// tooltips. It is wide enough that the file stays small enough for a browser.
func (s *ganttSheet) minSeparateWidth() tenths {
	var widths []tenths
	for _, a := range s.axes {
		for _, p := range a.panels {
			for _, r := range p.rows {
				for _, b := range r.Bars {
					widths = append(widths, a.width(b))
				}
			}
		}
	}
	slices.Sort(widths)
	for least := speck; ; least *= 2 {
		narrow, _ := slices.BinarySearch(widths, least)
		own := len(widths) - narrow
		if own == 0 || own*separateBytes+narrow*stripBytes <= maxBytes {
			return least
		}
	}
}

// width returns the width of a bar on the axis.
func (a *placedAxis) width(b GanttBar) tenths { return a.at(b.To) - a.at(b.From) }

// drawRow draws the bars of a row: wide bars separately, and for each activity a strip of
// its narrow bars.
func (s *ganttSheet) drawRow(c *canvas, a *placedAxis, r GanttRow, y float64) {
	var strips [NumActivities]strip
	for i := 0; i < len(r.Bars); {
		b := r.Bars[i]
		switch w := a.width(b); {
		case w >= s.minSeparate:
			s.drawBar(c, a, b, y)
			i++
		case w >= speck:
			strips[b.Activity].add(a.at(b.From), a.at(b.From)+shownWidth(w))
			strips[b.Activity].count(b)
			i++
		default:
			i += a.addNarrow(&strips, r.Bars[i:])
		}
	}
	for activity := range strips {
		strips[activity].draw(c, Activity(activity), point{a.x, y + s.barHeight()/2}, s.barHeight())
	}
}

// shownWidth returns the width at which a bar of width w is drawn. Wide bars are shortened
// to separate them from the next bar.
func shownWidth(w tenths) tenths {
	if w >= wide {
		return w - barGap
	}
	return w
}

// addNarrow adds bars[0] to the strips, together with the narrow bars that start within the
// same 0.5 pixels (a speck). It returns the number of added bars. Each activity gets a
// segment as long as its bars, so that the picture shows how busy the row was. If no other
// bar follows soon, the activity with the most time gets the whole speck, so that the
// activity is visible.
func (a *placedAxis) addNarrow(strips *[NumActivities]strip, bars []GanttBar) int {
	var times [NumActivities]simtime.Time
	start, n := a.at(bars[0].From), 0
	for n < len(bars) && a.width(bars[n]) < speck && a.at(bars[n].From) < start+speck {
		times[bars[n].Activity] += bars[n].To - bars[n].From
		strips[bars[n].Activity].count(bars[n])
		n++
	}
	alone := n == len(bars) || a.at(bars[n].From) >= start+isolated
	if alone && a.at(bars[n-1].To) < start+speck {
		most := bars[0].Activity
		for activity := range NumActivities {
			if times[activity] > times[most] {
				most = activity
			}
		}
		strips[most].add(start, start+speck)
		return n
	}
	from := bars[0].From
	for activity, t := range times {
		strips[activity].add(a.at(from), a.at(from+t))
		from += t
	}
	return n
}

// drawBar draws a bar separately. It writes the name of the bar inside if the name fits.
func (s *ganttSheet) drawBar(c *canvas, a *placedAxis, b GanttBar, y float64) {
	fill, r := activityFills[b.Activity], rect{a.pointAt(b.From, y).x, y, shownWidth(a.width(b)).pixels(), s.barHeight()}
	c.group(fmt.Sprintf("%s\n%v, %s to %s", b.Text, b.Activity, b.From.Text(), b.To.Text()), func() {
		c.box(r, fill)
		for _, size := range []float64{sizeDetail, sizeMin + 1} {
			text := style{size: size, anchor: atMiddle, colour: fill.readable()}
			if text.lineHeight() <= r.h && text.width(b.Text)+8 <= r.w {
				c.text(text, r.centre(), b.Text)
				break
			}
		}
	})
}

// strip is the bars of one activity in a row that are too narrow to be drawn separately. It
// is drawn as a dashed line, because that takes the fewest bytes.
type strip struct {
	from, to tenths // ends of the line; a segment that touches the end extends the last dash
	dashes   []float64
	bars     int
	time     simtime.Time
}

// count includes a bar in the numbers that the tooltip shows: the number of bars and their
// total time.
func (t *strip) count(b GanttBar) {
	t.bars++
	t.time += b.To - b.From
}

// add appends a segment to the dashed line. A segment that touches or overlaps the last
// dash makes this dash longer.
func (t *strip) add(from, to tenths) {
	switch {
	case to <= max(from, t.to):
		return
	case len(t.dashes) == 0:
		t.from, t.dashes = from, []float64{(to - from).pixels()}
	case from > t.to:
		t.dashes = append(t.dashes, (from - t.to).pixels(), (to - from).pixels())
	default:
		t.dashes[len(t.dashes)-1] += (to - t.to).pixels()
	}
	t.to = to
}

// draw draws the strip as a dashed line. `start` is the left end of the row at half height.
// `width` is the width of the line, which equals the height of bars.
func (t *strip) draw(c *canvas, a Activity, start point, width float64) {
	if len(t.dashes) == 0 {
		return
	}
	c.group(fmt.Sprintf("%d × %v, %s in all", t.bars, a, t.time.Text()), func() {
		c.shape(line(start.add(point{t.from.pixels(), 0}), start.add(point{t.to.pixels(), 0})), paint{line: activityFills[a], width: width, dashes: t.dashes})
	})
}
