package figure

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/draw"
	"github.com/kernbench/kernbench/internal/printable"
)

// Sizes of a Gantt chart.
const (
	ganttRows   = 400               // of all panels together, at most
	ganttLabels = 220               // wide, at most
	ganttGap    = 12                // between labels and bars
	ganttRight  = slideW - 2*margin // end of the axes

	legendRow = 44 // of the legend, between heading and panels
	legendMid = header + legendRow/2 - 10
	panelHead = 34  // title and note
	panelGap  = 16  // below a panel
	restRow   = 20  // a line about rows that are not drawn
	axisRow   = 40  // numbers of an axis
	tickGap   = 110 // from one to the next, at least

	rowHigh, rowLow = 28, 13 // of few rows and of many
)

// activityPaints is how bars are filled, and the colour of text on them.
var activityPaints = [draw.NumActivities]struct{ fill, text string }{
	draw.Building:      {paints[control].line, paper},
	draw.Scheduling:    {paints[die].line, ink},
	draw.Computing:     {paints[compute].line, paper},
	draw.Communicating: {paints[fabric].line, paper},
}

const (
	idleFill = "#eeeeee"
	gridLine = "#dcdcdc"
)

// Gantt draws a chart of schedules, one below the other on a common axis of time
// or each on its own, as SVG: 1600 wide, as high as it needs. Bars have the names of
// their tasks where they fit, and as tooltips with their times.
func Gantt(g *draw.Gantt) []byte {
	c := newChart(g)
	s := &svg{}
	s.page(slideW, c.h, g.Title, g.Subtitle)
	s.shape("rect", "width", slideW, "height", c.h, "fill", paper)
	s.labels(heading(
		cut(g.Title, room(slideW-2*margin, sizeTitle, true)),
		cut(g.Subtitle, room(slideW-2*margin, sizeHead, false))))
	s.activities(c.x)
	if g.Apart {
		s.label(label{at: point{ganttRight, legendMid}, text: "each panel has its own axis of time", size: sizeText, right: true, colour: faint})
	}
	for i := range c.axes {
		a := &c.axes[i]
		for _, p := range a.panels {
			s.panel(c, a, p)
		}
		s.axis(c, a)
	}
	s.close("svg")
	return s.b.Bytes()
}

// chart is a laid-out Gantt chart.
type chart struct {
	axes  []axis
	x     int    // left end of the axes
	row   int    // height of a row
	h     int    // of the picture
	least tenths // width of a bar that is drawn by itself
}

// panel is a laid-out panel.
type panel struct {
	*draw.GanttPanel
	rows []draw.GanttRow
	rest []string
	y    int // top
}

func newChart(g *draw.Gantt) *chart {
	c := &chart{}
	rows, rest, labels := 0, 0, 0
	for _, shared := range g.Axes() {
		a := axis{span: shared.Span()}
		for i := range shared {
			p := panel{GanttPanel: &shared[i]}
			p.rows, p.rest = p.Fold(max(ganttRows/len(g.Panels), 1))
			rows, rest = rows+len(p.rows), rest+len(p.rest)
			for _, r := range p.rows {
				labels = max(labels, width(r.Label, sizeText, false))
			}
			a.panels = append(a.panels, p)
		}
		c.axes = append(c.axes, a)
	}
	c.x = margin + min(labels, ganttLabels) + ganttGap
	// Rows fill a slide, unless they are too few or too many for one.
	fixed := header + legendRow + len(g.Panels)*(panelHead+panelGap) + rest*restRow + len(c.axes)*axisRow
	c.row = min(max((slideH-fixed)/max(rows, 1), rowLow), rowHigh)
	c.h = header + legendRow
	for i := range c.axes {
		c.place(&c.axes[i])
	}
	c.least = c.leastOwn()
	return c
}

// place lays out an axis and its panels below what there is.
func (c *chart) place(a *axis) {
	a.w = ganttRight - c.x
	a.ticks, a.unit = draw.Ticks(a.span, a.w/tickGap)
	for i := range a.panels {
		p := &a.panels[i]
		p.y = c.h
		c.h = p.bottom(c) + len(p.rest)*restRow + panelGap
	}
	a.y = c.h - panelGap/2
	c.h += axisRow
}

// top and bottom are those of the rows.
func (p panel) top() int            { return p.y + panelHead }
func (p panel) bottom(c *chart) int { return p.top() + len(p.rows)*c.row }

// bar is how high bars are, an even number, the rest of a row being space.
func (c *chart) bar() int { return (c.row - max(c.row/7, 2)) / 2 * 2 }

// activities draws the legend, in one line.
func (s *svg) activities(x int) {
	const y = legendMid
	entry := func(fill, text string) {
		s.shape("rect", "x", x, "y", y-8, "width", 28, "height", 16, "rx", 2, "fill", fill)
		s.label(label{at: point{x + 38, y}, text: text, size: sizeText, left: true, colour: ink})
		x += 38 + width(text, sizeText, false) + 28
	}
	for a := range draw.NumActivities {
		entry(activityPaints[a].fill, a.String())
	}
	entry(idleFill, "idle")
}

// panel draws a panel: its heading, a band for each row as far as the schedule
// goes, the grid over the bands, and the bars over that.
func (s *svg) panel(c *chart, a *axis, p panel) {
	s.open("g")
	mid := p.y + panelHead/2
	note := label{at: point{ganttRight, mid}, text: cut(p.Note, room(a.w/2, sizeText, false)), size: sizeText, right: true, colour: ink}
	title := cut(p.Title, room(a.w-note.bounds().w-ganttGap, sizeHead, true))
	s.labels([]label{{at: point{c.x, mid}, text: title, size: sizeHead, bold: true, left: true, colour: ink}, note})
	var bands strings.Builder
	for i, r := range p.rows {
		middle := p.top() + i*c.row + c.bar()/2
		fmt.Fprintf(&bands, "M%d %dh%s", c.x, middle, a.at(p.Span()))
		size := min(sizeText, c.row*4/lineHeight)
		text := cut(r.Label, room(c.x-margin-ganttGap, size, false))
		s.label(label{at: point{c.x - ganttGap, middle}, text: text, size: size, right: true, colour: ink})
	}
	if len(p.rows) > 0 {
		s.shape("path", "d", bands.String(), "stroke", idleFill, "stroke-width", c.bar())
		s.grid(c, a, p)
	}
	s.bars(c, a, p)
	for i, text := range p.rest {
		s.label(label{at: point{c.x, p.bottom(c) + i*restRow + restRow/2}, text: text, size: sizeText, left: true, colour: faint})
	}
	s.close("g")
}

// cut returns a text as one line of at most n characters.
func cut(text string, n int) string {
	runes := []rune(printable.Line(text))
	if len(runes) > n {
		runes = append(slices.Clip(runes[:max(n-1, 0)]), '…')
	}
	return string(runes)
}
