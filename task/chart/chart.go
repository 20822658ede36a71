package chart

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/draw"
	"github.com/kernbench/kernbench/task"
)

// Gantt is a Gantt chart of runs, with a panel for each rank of each run.
//
// Runs share one time axis, unless one run is more than four times as long as another. Then
// each panel has its own axis. All ranks of a run have the same scale.
type Gantt struct {
	Title, Subtitle string
	Runs            []*task.Result

	// SkipBuilding begins every run at its first dispatch on any rank. Building after that
	// dispatch is drawn. The heading of the run has the length of the part that is left
	// out.
	SkipBuilding bool
}

// Text writes the chart as text that is at most `columns` wide; `columns` must be at least
// 20. A character stands for a bin of time and shows the activity that takes most of the
// bin. The last lines explain the characters. A panel shows its first 40 busy rows, and the
// number of rows that are left out.
func (g Gantt) Text(w io.Writer, columns int) error { return draw.WriteGantt(w, g.chart(), columns) }

// Encode returns the chart as a picture, 1600 pixels wide and as high as needed. The file
// name selects the format and must end in .svg or .png. All panels together have up to 400
// rows. In SVG the bars have the names and times of their tasks as tooltips.
//
//	picture, err := chart.Gantt{Title: "Squares", Runs: results}.Encode("squares.svg")
func (g Gantt) Encode(name string) ([]byte, error) { return draw.Encode(name, g.chart()) }

// chart returns the panels, rows and bars of the chart, for package draw.
func (g Gantt) chart() *draw.Gantt {
	c := &draw.Gantt{Title: g.Title, Subtitle: g.Subtitle}
	if g.SkipBuilding {
		c.Subtitle = strings.TrimPrefix(c.Subtitle+"; times from the first dispatch", "; ")
	}
	var spans []task.Time
	for _, r := range g.Runs {
		var start task.Time
		if g.SkipBuilding && len(r.Spans) > 0 {
			first := slices.MinFunc(r.Spans, func(a, b task.Span) int { return cmp.Compare(a.Dispatched, b.Dispatched) })
			start = first.Dispatched
		}
		spans = append(spans, r.Makespan-start)
		c.Panels = append(c.Panels, panels(r, start)...)
	}
	c.SeparateAxes = len(spans) > 0 && slices.Max(spans) > 4*slices.Min(spans)
	return c
}

// Row is a run as a row of a table: the makespan, its parts along the critical path, and
// the share of the compute cores' time without a task.
type Row struct {
	Runtime     task.Runtime `json:"runtime" table:",setting"`
	Makespan    task.Time    `json:"makespan_ns" table:"ns,lower"`
	Build       task.Time    `json:"build_ns" table:"ns,lower"`
	Stall       task.Time    `json:"stall_ns" table:"ns,lower"`
	Wait        task.Time    `json:"wait_ns" table:"ns,lower"`
	Schedule    task.Time    `json:"schedule_ns" table:"ns,lower"`
	Compute     task.Time    `json:"compute_ns" table:"ns,lower"`
	Communicate task.Time    `json:"communicate_ns" table:"ns,lower"`
	Idle        float64      `json:"idle_share" table:",result"`
}

// NewRow returns the table row of run r.
func NewRow(r *task.Result) Row {
	c := &r.Critical
	// r.Idle may be simtime.Never, and the time of all cores may exceed a Time.
	all := float64(r.Ranks*r.Cores) * float64(r.Makespan)
	busy := float64(r.Compute) + float64(r.Communicate) + float64(r.Schedule)
	return Row{r.Runtime, r.Makespan, c.Build, c.Stall, c.Wait, c.Schedule, c.Compute, c.Communicate, max(0, all-busy) / max(all, 1)}
}
