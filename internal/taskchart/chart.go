package taskchart

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/internal/report"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/torch"
)

// Gantt is a chart of runs, a panel for each: of every rank the host or the orchestrator,
// its control cores, and its compute cores.
func Gantt(title, subtitle string, results ...*task.Result) *report.Gantt {
	g := &report.Gantt{Title: title, Subtitle: subtitle}
	for _, r := range results {
		g.Panels = append(g.Panels, report.GanttPanel{
			Title: string(r.Runtime), Note: "makespan " + report.Rounded(r.Makespan), Rows: rows(r), End: r.Makespan,
		})
	}
	g.Apart = apart(results)
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

// rows is everybody who works in a run.
func rows(r *task.Result) []report.GanttRow {
	b := &chart{result: r, at: map[string]int{}}
	b.control()
	b.compute()
	slices.SortStableFunc(b.rows, func(x, y row) int {
		return cmp.Or(cmp.Compare(x.rank, y.rank), cmp.Compare(x.kind, y.kind), cmp.Compare(x.core, y.core))
	})
	list := make([]report.GanttRow, len(b.rows))
	for i := range b.rows {
		list[i] = b.rows[i].GanttRow
	}
	return list
}

// chart is rows in the making.
type chart struct {
	result *task.Result
	rows   []row
	at     map[string]int // by label
}

// row is one that works: who builds, who schedules, who computes.
type row struct {
	report.GanttRow
	rank, kind, core int
}

// row is that of a core, made on first use.
func (b *chart) row(rank, kind, core int, label string) *row {
	if b.result.Ranks > 1 {
		label = fmt.Sprintf("rank %d %s", rank, label)
	}
	i, ok := b.at[label]
	if !ok {
		i = len(b.rows)
		b.at[label] = i
		b.rows = append(b.rows, row{report.GanttRow{Label: label}, rank, kind, core})
	}
	return &b.rows[i]
}

const (
	builder = iota
	control
	compute
)

// control adds what was done for tasks.
func (b *chart) control() {
	for i := range b.result.Control {
		w := &b.result.Control[i]
		kind, label := control, fmt.Sprintf("control %d", w.Core)
		if w.Core == task.BuilderCore {
			kind, label = builder, "orchestrator"
			if b.result.Runtime == task.HostBuildGraph {
				label = "host"
			}
		}
		bar := report.GanttBar{From: w.From, To: w.To, Activity: report.Scheduling}
		switch w.Kind {
		case task.Building:
			bar.Activity, bar.Text = report.Building, fmt.Sprintf("submit task %d", w.Task)
			if b.result.Runtime == task.HostBuildGraph {
				bar.Text = "build the graph"
			}
		case task.Dispatching:
			bar.Text = fmt.Sprintf("dispatch task %d", w.Task)
		case task.Noticing:
			bar.Text = fmt.Sprintf("notice task %d", w.Task)
		}
		r := b.row(w.Rank, kind, w.Core, label)
		r.Bars = append(r.Bars, bar)
	}
}

// compute adds what compute cores did, and those that did nothing.
func (b *chart) compute() {
	for i := range b.result.Spans {
		s := &b.result.Spans[i]
		text := fmt.Sprintf("%s %d", s.Name, s.Task)
		activity := report.Computing
		if s.Peers {
			activity = report.Communicating
		}
		r := b.row(s.Rank, compute, s.Core, fmt.Sprintf("pe %d", s.Core))
		r.Bars = append(r.Bars,
			report.GanttBar{From: s.Dispatched, To: s.Begin, Activity: report.Scheduling, Text: "start " + text},
			report.GanttBar{From: s.Begin, To: s.End, Activity: activity, Text: text},
			report.GanttBar{From: s.End, To: s.Noticed, Activity: report.Scheduling, Text: "end of " + text})
	}
	for rank := range b.result.Ranks {
		for core := range b.result.Cores {
			b.row(rank, compute, core, fmt.Sprintf("pe %d", core))
		}
	}
}

// Row is a result as a row of a table: the makespan, what it is made of on the critical
// path, and what part of all compute cores' time was without a task.
func Row(r *task.Result) []torch.Metric {
	c := &r.Critical
	idle := float64(r.Idle) / float64(torch.Time(r.Ranks*r.Cores)*max(r.Makespan, 1))
	return []torch.Metric{
		torch.Col("runtime", string(r.Runtime)), torch.Col("makespan_ns", r.Makespan),
		torch.Col("build_ns", c.Build), torch.Col("wait_ns", c.Wait), torch.Col("schedule_ns", c.Schedule),
		torch.Col("compute_ns", c.Compute), torch.Col("communicate_ns", c.Communicate), torch.Col("idle_share", idle),
	}
}
