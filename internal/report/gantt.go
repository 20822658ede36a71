package report

import (
	"fmt"

	"github.com/kernbench/kernbench/internal/sim"
)

// Gantt is who did what when, for [WriteGantt] and for the picture of
// internal/figure. The panels share one axis of time, from 0, unless they are Apart.
type Gantt struct {
	Title, Subtitle string
	Panels          []GanttPanel // such as one for each runtime
	Apart           bool         // each panel has an axis of its own, since the schedules are of very different length
}

// GanttPanel is one schedule.
type GanttPanel struct {
	Title string
	Note  string // what it comes to, such as "makespan 12.4 µs"
	Rows  []GanttRow
	End   sim.Time // of the schedule, which may be later than its last bar
}

// GanttRow is one that works, such as a control core or a PE.
type GanttRow struct {
	Label string
	Bars  []GanttBar // in order of time, apart; where there is none it is idle
}

// GanttBar is a stretch of work without a break.
type GanttBar struct {
	From, To sim.Time // equal: in no time
	Activity Activity
	Text     string // name of the task
}

// Activity is what a bar's time goes into.
type Activity uint8

// The activities.
const (
	Building Activity = iota // tasks and their dependencies
	Scheduling
	Computing
	Communicating
	NumActivities
)

// activities are the words of the legend and the characters of a chart of text.
var activities = [NumActivities]struct {
	word string
	mark rune
}{
	Building:      {"building", 'B'},
	Scheduling:    {"scheduling", 's'},
	Computing:     {"computing", '#'},
	Communicating: {"communicating", '~'},
}

func (a Activity) String() string { return activities[a].word }

// GanttAxis is an axis of time, by the panels that share it.
type GanttAxis []GanttPanel

// Axes is the chart's axes of time: one, or one for each panel.
func (g *Gantt) Axes() []GanttAxis {
	if !g.Apart {
		return []GanttAxis{g.Panels}
	}
	axes := make([]GanttAxis, len(g.Panels))
	for i := range axes {
		axes[i] = g.Panels[i : i+1]
	}
	return axes
}

// Span is how far the axis reaches: to the end of the last schedule.
func (a GanttAxis) Span() sim.Time {
	var end sim.Time
	for i := range a {
		end = max(end, a[i].Span())
	}
	return end
}

// Span is the end of the schedule, or of a bar beyond it.
func (p *GanttPanel) Span() sim.Time {
	end := p.End
	for _, r := range p.Rows {
		if n := len(r.Bars); n > 0 {
			end = max(end, r.Bars[n-1].To)
		}
	}
	return end
}

// Fold is the rows to draw, the first of those with bars, and lines that say how
// many others there are.
func (p *GanttPanel) Fold(most int) (shown []GanttRow, rest []string) {
	busy := 0
	for _, r := range p.Rows {
		if len(r.Bars) == 0 {
			continue
		}
		if busy++; busy <= most {
			shown = append(shown, r)
		}
	}
	if more := busy - len(shown); more > 0 {
		rest = append(rest, fmt.Sprintf("… %d more", more))
	}
	if idle := len(p.Rows) - busy; idle > 0 {
		rest = append(rest, fmt.Sprintf("… %d idle", idle))
	}
	return shown, rest
}
