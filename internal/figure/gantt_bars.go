package figure

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/draw"
	"github.com/kernbench/kernbench/internal/sim"
)

// tenths is a length in tenths of a pixel.
type tenths int

// String is the length in pixels.
func (t tenths) String() string { return strconv.FormatFloat(float64(t)/10, 'f', -1, 64) }

const (
	speck  tenths = 5  // narrower bars share one
	lonely tenths = 20 // from a bar to the next, if there is one
	wide   tenths = 30 // a bar that ends earlier, to be told from the next,
	apart  tenths = 7  // by so much

	// What a bar comes to in the file, by itself and in a strip, and all at most.
	ownBytes, stripBytes, allBytes = 200, 8, 800_000
)

// leastOwn is the width from which on bars are drawn by themselves: such that they
// have tooltips as long as a browser can take the file.
func (c *chart) leastOwn() tenths {
	for least := speck; ; least *= 2 {
		own, all := 0, 0
		for i := range c.axes {
			o, n := c.axes[i].count(least)
			own, all = own+o, all+n
		}
		if own == 0 || own*ownBytes+(all-own)*stripBytes <= allBytes {
			return least
		}
	}
}

// count is how many bars there are, and how many of them have a width or more.
func (a *axis) count(least tenths) (own, all int) {
	for _, p := range a.panels {
		for _, r := range p.rows {
			all += len(r.Bars)
			for _, b := range r.Bars {
				if a.width(b) >= least {
					own++
				}
			}
		}
	}
	return own, all
}

// bars draws those of a panel. Strips have a group in which the unit to the right is
// a tenth of a pixel, which keeps the numbers of their paths short.
func (s *svg) bars(c *chart, a *axis, p panel) {
	strips := make([]*[draw.NumActivities]strip, len(p.rows))
	for i, r := range p.rows {
		strips[i] = s.row(c, a, r, p.top()+i*c.row)
	}
	s.open("g", "transform", fmt.Sprintf("translate(%d %d) scale(.1 1)", c.x, p.top()), "fill", "none", "stroke-width", c.bar())
	for i, row := range strips {
		for activity := range row {
			s.strip(&row[activity], draw.Activity(activity), i*c.row+c.bar()/2)
		}
	}
	s.close("g")
}

// row draws the bars of a row that are wide enough, and leaves the others in strips.
func (s *svg) row(c *chart, a *axis, r draw.GanttRow, y int) *[draw.NumActivities]strip {
	var strips [draw.NumActivities]strip
	for i := 0; i < len(r.Bars); {
		b := r.Bars[i]
		switch w := a.width(b); {
		case w >= c.least:
			s.bar(c, a, b, y)
			i++
		case w >= speck:
			strips[b.Activity].add(a.at(b.From), a.at(b.From)+drawn(w))
			strips[b.Activity].count(b)
			i++
		default:
			i += a.share(&strips, r.Bars[i:])
		}
	}
	return &strips
}

// drawn is the width that a bar of a width has in the picture.
func drawn(w tenths) tenths {
	if w >= wide {
		return w - apart
	}
	return w
}

// share draws the first of some bars, and those after it that begin in the same
// speck and are as narrow: of each activity one segment as long as they are
// together, so that what one sees is how busy the row was. Where nothing follows
// soon they get the whole speck, so that one sees them at all. It returns
// how many bars there were.
func (a *axis) share(strips *[draw.NumActivities]strip, bars []draw.GanttBar) int {
	var times [draw.NumActivities]sim.Time
	start, n := a.at(bars[0].From), 0
	for n < len(bars) && a.width(bars[n]) < speck && a.at(bars[n].From) < start+speck {
		times[bars[n].Activity] += bars[n].To - bars[n].From
		strips[bars[n].Activity].count(bars[n])
		n++
	}
	alone := n == len(bars) || a.at(bars[n].From) >= start+lonely
	if alone && a.at(bars[n-1].To) < start+speck {
		most := bars[0].Activity
		for activity := range draw.NumActivities {
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

// bar draws a bar by itself.
func (s *svg) bar(c *chart, a *axis, b draw.GanttBar, y int) {
	paint, h, w := activityPaints[b.Activity], c.bar(), drawn(a.width(b))
	x := tenths(c.x*10) + a.at(b.From)
	s.open("g")
	s.leaf("title", fmt.Sprintf("%s\n%v, %s to %s", b.Text, b.Activity, b.From.Text(), b.To.Text()))
	s.shape("rect", "x", x, "y", y, "width", w, "height", h, "fill", paint.fill)
	for _, size := range []int{sizeMore, sizeMin + 1} {
		if size*lineHeight/4 <= h && width(b.Text, size, false)+8 <= int(w)/10 {
			s.label(label{at: point{int(x+w/2) / 10, y + h/2}, text: b.Text, size: size, colour: paint.text})
			break
		}
	}
	s.close("g")
}

// strip is the bars of one activity in a row that are too narrow to be drawn by
// themselves.
type strip struct {
	path     strings.Builder
	pen      tenths // end of the path
	from, to tenths // the segment after that; one that touches it makes it longer
	bars     int
	time     sim.Time
}

func (t *strip) count(b draw.GanttBar) {
	t.bars++
	t.time += b.To - b.From
}

func (t *strip) add(from, to tenths) {
	if from > t.to {
		t.flush()
		t.from = from
	}
	t.to = to
}

// flush moves the segment into the path.
func (t *strip) flush() {
	if t.to > t.from {
		fmt.Fprintf(&t.path, "m%d 0h%d", int(t.from-t.pen), int(t.to-t.from))
		t.pen = t.to
	}
}

// strip draws the bars as one line as thick as they are high, through the middle
// of their row.
func (s *svg) strip(t *strip, a draw.Activity, middle int) {
	t.flush()
	if t.path.Len() == 0 {
		return
	}
	s.open("path", "d", fmt.Sprintf("M0 %d%s", middle, t.path.String()), "stroke", activityPaints[a].fill)
	s.leaf("title", fmt.Sprintf("%d × %v, %s in all", t.bars, a, t.time.Text()))
	s.close("path")
}
