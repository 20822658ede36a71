package draw

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/simtime"
)

// Gantt is a chart of schedules. [WriteGantt] writes it as text, and [SVG] and [PNG] draw
// it as a picture. All panels share one time axis from 0, unless SeparateAxes is set.
type Gantt struct {
	Title, Subtitle string
	Panels          []GanttPanel // for example one for each runtime
	SeparateAxes    bool         // each panel has its own axis, for schedules with very different lengths
}

// GanttPanel is a schedule.
type GanttPanel struct {
	Title string
	Note  string // result of the schedule, such as "makespan 12.4 µs"
	Rows  []GanttRow
	End   simtime.Time // end of the schedule, which may be after the last bar
}

// GanttRow is the row of a worker in a schedule, such as a control core or a PE.
type GanttRow struct {
	Label string
	Bars  []GanttBar // in order of time, without overlap; the worker is idle between bars
}

// GanttBar is an uninterrupted piece of work.
type GanttBar struct {
	From, To simtime.Time // may be equal
	Activity Activity
	Text     string // name of the task
}

// Activity is a kind of work.
type Activity uint8

// The activities.
const (
	Building Activity = iota // creating tasks and their dependencies
	Scheduling
	Computing
	Communicating
	NumActivities
)

// activities holds the words of the legend and the characters in a text chart.
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

// GanttAxis is a list of panels that share a time axis.
type GanttAxis []GanttPanel

// Axes groups the panels by time axis: all panels on one axis, or each on its own.
func (g *Gantt) Axes() []GanttAxis {
	if !g.SeparateAxes {
		return []GanttAxis{g.Panels}
	}
	return slices.Collect(slices.Chunk(GanttAxis(g.Panels), 1))
}

// Span returns the length of the axis: the end of the last schedule.
func (a GanttAxis) Span() simtime.Time {
	var end simtime.Time
	for i := range a {
		end = max(end, a[i].Span())
	}
	return end
}

// Span returns the end of the schedule or of its last bar, whichever is later.
func (p *GanttPanel) Span() simtime.Time {
	end := p.End
	for _, r := range p.Rows {
		if n := len(r.Bars); n > 0 {
			end = max(end, r.Bars[n-1].To)
		}
	}
	return end
}

// Fold selects the rows to show: the first rows that have bars, at most `limit` rows.
// `rest` holds lines of text that count the busy rows and the idle rows that are left out.
func (p *GanttPanel) Fold(limit int) (shown []GanttRow, rest []string) {
	busy := slices.DeleteFunc(slices.Clone(p.Rows), func(r GanttRow) bool { return len(r.Bars) == 0 })
	shown = busy[:min(limit, len(busy))]
	if more := len(busy) - len(shown); more > 0 {
		rest = append(rest, fmt.Sprintf("… %d more", more))
	}
	if idle := len(p.Rows) - len(busy); idle > 0 {
		rest = append(rest, fmt.Sprintf("… %d idle", idle))
	}
	return shown, rest
}
