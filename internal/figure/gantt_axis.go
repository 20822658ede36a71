package figure

import (
	"fmt"

	"github.com/kernbench/kernbench/internal/draw"
	"github.com/kernbench/kernbench/internal/sim"
)

// axis is a laid-out axis of time, below the panels that share it.
type axis struct {
	panels []panel
	span   sim.Time
	ticks  []draw.Tick
	unit   string // of the ticks
	w      int    // length
	y      int
}

// at is where a time lies, from the left end of the axis.
func (a *axis) at(t sim.Time) tenths {
	if a.span == 0 {
		return 0
	}
	return tenths(sim.MulDiv(uint64(max(t, 0)), uint64(a.w*10), uint64(a.span)))
}

func (a *axis) width(b draw.GanttBar) tenths { return a.at(b.To) - a.at(b.From) }

// grid draws the lines of the ticks through a panel, and one where it ends.
func (s *svg) grid(c *chart, a *axis, p panel) {
	for _, t := range a.ticks {
		s.shape("path", "d", fmt.Sprintf("M%s %dV%d", tenths(c.x*10)+a.at(t.At), p.top(), p.bottom(c)), "stroke", gridLine)
	}
	s.shape("path", "d", fmt.Sprintf("M%s %dV%d", tenths(c.x*10)+a.at(p.Span()), p.top(), p.bottom(c)), "stroke", faint, "stroke-width", 1.5)
}

// axis draws the line below the panels and its numbers.
func (s *svg) axis(c *chart, a *axis) {
	if a.span == 0 {
		return
	}
	s.shape("path", "d", fmt.Sprintf("M%d %dh%d", c.x, a.y, a.w), "stroke", faint)
	for _, t := range a.ticks {
		s.shape("path", "d", fmt.Sprintf("M%s %dv6", tenths(c.x*10)+a.at(t.At), a.y), "stroke", faint)
		s.label(label{at: point{c.x + int(a.at(t.At))/10, a.y + 18}, text: t.Text + " " + a.unit, size: sizeText, colour: ink})
	}
}
