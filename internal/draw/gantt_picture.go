package draw

import (
	"math"

	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/simtime"
)

// Sizes of a Gantt chart in pixels.
const (
	ganttRows   = 400                // maximum number of rows of all panels together
	ganttLabels = 220.0              // maximum width of labels
	ganttGap    = 12.0               // space between labels and bars
	ganttRight  = pageW - pageMargin // right end of the axes

	legendRow = 44.0 // height of the legend, between heading and panels
	legendMid = pageHead + legendRow/2 - 10
	panelHead = 34.0  // height of the title and note of a panel
	panelGap  = 16.0  // space below a panel
	restRow   = 20.0  // height of a line that counts rows left out
	axisRow   = 40.0  // height of the numbers of an axis
	tickGap   = 110.0 // minimum distance of ticks

	rowHigh, rowLow = 28.0, 13.0 // largest and smallest height of a row
)

// activityFills holds the colours of bars.
var activityFills = [NumActivities]colour{Building: huePurple, Scheduling: hueOrange, Computing: hueGreen, Communicating: hueBlue}

// draw draws the panels one below another. The picture is as high as needed. Bars contain
// the names of their tasks where the names fit, and have names and times as tooltips.
func (g *Gantt) draw(c *canvas) error {
	s := newGanttSheet(g)
	c.heading(pageW, s.h, g.Title, g.Subtitle)
	s.drawLegend(c, g.SeparateAxes)
	for _, a := range s.axes {
		for _, p := range a.panels {
			s.drawPanel(c, a, p)
		}
		s.drawAxis(c, a)
	}
	return nil
}

// ganttSheet is a laid-out Gantt chart.
type ganttSheet struct {
	axes        []*placedAxis
	x, h        float64 // x coordinate of the left end of the axes; height of the picture
	rowHeight   float64 // height of a row
	minSeparate tenths  // smallest width of bars that are drawn separately
}

// placedAxis is a laid-out time axis below the panels that share it.
type placedAxis struct {
	panels []*placedPanel
	span   simtime.Time
	ticks  []timeTick
	unit   string // unit of the ticks
	x, y   float64
}

// placedPanel is a laid-out panel.
type placedPanel struct {
	*GanttPanel
	rows   []GanttRow
	rest   []string
	y, end float64 // top and bottom of the rows
}

// newGanttSheet lays out a Gantt chart: it chooses the rows to show, their height, and the
// positions of panels and axes.
func newGanttSheet(g *Gantt) *ganttSheet {
	s := &ganttSheet{}
	rows, rest, labels := 0, 0, 0.0
	for _, shared := range g.Axes() {
		a := &placedAxis{span: shared.Span()}
		for i := range shared {
			p := &placedPanel{GanttPanel: &shared[i]}
			p.rows, p.rest = p.Fold(max(ganttRows/len(g.Panels), 1))
			rows, rest = rows+len(p.rows), rest+len(p.rest)
			for _, r := range p.rows {
				labels = max(labels, style{size: sizeText}.width(r.Label))
			}
			a.panels = append(a.panels, p)
		}
		s.axes = append(s.axes, a)
	}
	s.x = math.Ceil(pageMargin + min(labels, ganttLabels) + ganttGap)
	// Rows fill a page, unless there are too few or too many of them.
	fixed := pageHead + legendRow + float64(len(g.Panels))*(panelHead+panelGap) + float64(rest)*restRow + float64(len(s.axes))*axisRow
	s.rowHeight = min(max(math.Floor((pageH-fixed)/float64(max(rows, 1))), rowLow), rowHigh)
	s.h = pageHead + legendRow
	for _, a := range s.axes {
		s.place(a)
	}
	s.minSeparate = s.minSeparateWidth()
	return s
}

// place lays out an axis and its panels below the previous axis.
func (s *ganttSheet) place(a *placedAxis) {
	a.x = s.x
	a.ticks, a.unit = timeTicks(a.span, int((ganttRight-a.x)/tickGap))
	for _, p := range a.panels {
		p.y = s.h + panelHead
		p.end = p.y + float64(len(p.rows))*s.rowHeight
		s.h = p.end + float64(len(p.rest))*restRow + panelGap
	}
	a.y = s.h - panelGap/2
	s.h += axisRow
}

// tenths is a length in tenths of a pixel, the precision of bars.
type tenths int

func (t tenths) pixels() float64 { return float64(t) / 10 }

// at returns the distance of a time from the left end of the axis.
func (a *placedAxis) at(t simtime.Time) tenths {
	if a.span == 0 {
		return 0
	}
	return tenths(simtime.MulDiv(uint64(max(t, 0)), uint64((ganttRight-a.x)*10), uint64(a.span)))
}

// pointAt returns the point on the page for a time and a y coordinate.
func (a *placedAxis) pointAt(t simtime.Time, y float64) point {
	return point{a.x + a.at(t).pixels(), y}
}

// barHeight returns the height of bars, an even number of pixels. The rest of the height of
// a row stays empty.
func (s *ganttSheet) barHeight() float64 {
	return math.Floor((s.rowHeight-max(s.rowHeight/7, 2))/2) * 2
}

// drawLegend draws the meaning of the colours in one line.
func (s *ganttSheet) drawLegend(c *canvas, separateAxes bool) {
	text, x := style{size: sizeText}, s.x
	entry := func(fill colour, word string) {
		c.shape(box(rect{x, legendMid - 8, 28, 16}, 2), paint{fill: fill})
		c.text(text, point{x + 38, legendMid}, word)
		x += 38 + text.width(word) + 28
	}
	for a, fill := range activityFills {
		entry(fill, Activity(a).String())
	}
	entry(empty, "idle")
	if separateAxes {
		c.text(style{size: sizeText, anchor: atEnd, colour: faint}, point{ganttRight, legendMid}, "each panel has its own axis of time")
	}
}

// drawPanel draws the heading of a panel and a band for each row, as long as the schedule.
// It draws the grid over the bands, and the bars over the grid.
func (s *ganttSheet) drawPanel(c *canvas, a *placedAxis, p *placedPanel) {
	mid, noteStyle, title := p.y-panelHead/2, style{size: sizeText, anchor: atEnd}, style{size: sizeHead, bold: true}
	note := noteStyle.cut(p.Note, (ganttRight-s.x)/2)
	c.text(noteStyle, point{ganttRight, mid}, note)
	c.text(title, point{s.x, mid}, title.cut(p.Title, ganttRight-s.x-noteStyle.width(note)-ganttGap))
	var bands path
	label := style{size: min(sizeText, math.Floor(s.rowHeight*0.8)), anchor: atEnd}
	for i, r := range p.rows {
		y := p.y + float64(i)*s.rowHeight + s.barHeight()/2
		bands = append(bands, line(point{s.x, y}, a.pointAt(p.Span(), y))...)
		c.text(label, point{s.x - ganttGap, y}, label.cut(r.Label, s.x-pageMargin-ganttGap))
	}
	c.shape(bands, paint{line: empty, width: s.barHeight()})
	if len(p.rows) > 0 {
		for _, t := range a.ticks {
			c.lines(gridMajor, 1, a.pointAt(t.at, p.y), a.pointAt(t.at, p.end))
		}
		c.lines(faint, 1.5, a.pointAt(p.Span(), p.y), a.pointAt(p.Span(), p.end))
	}
	for i, r := range p.rows {
		s.drawRow(c, a, r, p.y+float64(i)*s.rowHeight)
	}
	for i, text := range p.rest {
		c.text(style{size: sizeText, colour: faint}, point{s.x, p.end + (float64(i)+0.5)*restRow}, text)
	}
}

// drawAxis draws the axis below its panels, with ticks and numbers.
func (s *ganttSheet) drawAxis(c *canvas, a *placedAxis) {
	if a.span == 0 {
		return
	}
	c.lines(faint, 1, point{a.x, a.y}, point{ganttRight, a.y})
	for _, t := range a.ticks {
		c.lines(faint, 1, a.pointAt(t.at, a.y), a.pointAt(t.at, a.y+6))
		c.text(style{size: sizeText, anchor: atMiddle}, a.pointAt(t.at, a.y+18), t.text+" "+a.unit)
	}
}

// timeTick is a mark on a time axis.
type timeTick struct {
	at   simtime.Time
	text string // number in the unit of the axis
}

// timeTicks returns the marks of a time axis from 0 to `end`, and the unit of their
// numbers. The step is 1, 2 or 5 times a power of ten. There are at most `limit` steps, and
// at least one if `limit` is 2 or more.
func timeTicks(end simtime.Time, limit int) (ticks []timeTick, unit string) {
	u := end.Unit()
	step := simtime.Femtosecond
	for factor := 0; end/step > simtime.Time(limit); factor++ {
		if factor%3 == 1 {
			step = step / 2 * 5
		} else {
			step *= 2
		}
	}
	return lists.Make(int(end/step)+1, func(n int) timeTick {
		at := simtime.Time(n) * step
		return timeTick{at, u.Number(at)}
	}), u.Name
}
