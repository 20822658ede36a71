package chart

import (
	"io"
	"strings"

	"github.com/kernbench/kernbench/internal/figure"
	"github.com/kernbench/kernbench/internal/report"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/torch"
)

// Text writes runs as a chart of text, at most columns wide, which are at least 20. A
// character is a stretch of time and shows what most of it went into; below the panels it
// says which character is what. A panel has the first 40 rows in which somebody works, and
// says how many others there are.
//
// Runs share one axis of time, unless one is more than four times as long as another: then
// each panel has its own. All ranks of a run are on the same scale.
func Text(w io.Writer, columns int, results ...*task.Result) error {
	var b strings.Builder
	if err := report.WriteGantt(&b, Gantt("", "", results...), columns); err != nil {
		return err
	}
	// Without a title there is nothing for the first panel to keep apart from.
	_, err := io.WriteString(w, strings.TrimPrefix(b.String(), "\n"))
	return err
}

// SVG draws runs as a picture, 1600 wide and as high as it needs, with axes as those of
// [Text]. Panels have up to 400 rows together. Bars have the names and times of their tasks
// as tooltips.
//
//	err := os.WriteFile("squares.svg", chart.SVG("Squares", "four rows", result), 0o644)
func SVG(title, subtitle string, results ...*task.Result) []byte {
	return figure.Gantt(Gantt(title, subtitle, results...))
}

// Gantt is such a chart before it is drawn, for packages of this module: to others its
// type is of no use.
func Gantt(title, subtitle string, results ...*task.Result) *report.Gantt {
	g := &report.Gantt{Title: title, Subtitle: subtitle, Apart: apart(results)}
	for _, r := range results {
		g.Panels = append(g.Panels, panels(r)...)
	}
	return g
}

// apart reports whether runs differ so much in length that one axis could not show all.
func apart(results []*task.Result) bool {
	var least, most torch.Time
	for i, r := range results {
		if i == 0 || r.Makespan < least {
			least = r.Makespan
		}
		most = max(most, r.Makespan)
	}
	return most > 4*least
}

// Row is a run as a row of a table: the makespan, the parts of it on the critical path, and
// the share of all compute cores' time without a task.
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

// NewRow returns the row of a run.
func NewRow(r *task.Result) Row {
	c := &r.Critical
	// Idle may be cut off, and all of the time may be more than a Time holds.
	all := float64(r.Ranks*r.Cores) * float64(r.Makespan)
	busy := float64(r.Compute) + float64(r.Communicate) + float64(r.Schedule)
	return Row{r.Runtime, r.Makespan, c.Build, c.Stall, c.Wait, c.Schedule, c.Compute, c.Communicate, max(0, all-busy) / max(all, 1)}
}
