package chart

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/kernbench/kernbench/internal/draw"
	"github.com/kernbench/kernbench/task"
)

// panels is a run, a panel for each rank, as long as the run: of every rank the host or
// the orchestrator, its control cores, and its compute cores.
func panels(r *task.Result) []draw.GanttPanel {
	list := make([]draw.GanttPanel, r.Ranks)
	for rank := range list {
		list[rank] = draw.GanttPanel{Title: string(r.Runtime), End: r.Makespan}
		if r.Ranks > 1 {
			list[rank].Title = fmt.Sprintf("%s, rank %d", r.Runtime, rank)
		}
		if rank == 0 { // once is enough
			list[rank].Note = "makespan " + r.Makespan.Rounded()
		}
	}
	all := work{}
	all.control(r)
	all.compute(r)
	for _, w := range slices.SortedFunc(maps.Keys(all), worker.compare) {
		p := &list[w.rank]
		p.Rows = append(p.Rows, draw.GanttRow{Label: w.label(r.Runtime), Bars: all[w]})
	}
	return list
}

// worker is who builds, who schedules, or who computes.
type worker struct {
	rank int
	kind kind
	core int
}

// kind is what a worker is for.
type kind uint8

// The kinds, in the order of their rows.
const (
	builder kind = iota // beside the control cores
	control
	compute
)

// compare has workers in the order of their rows.
func (w worker) compare(v worker) int {
	return cmp.Or(cmp.Compare(w.rank, v.rank), cmp.Compare(w.kind, v.kind), cmp.Compare(w.core, v.core))
}

// label is the worker's name, within its rank.
func (w worker) label(r task.Runtime) string {
	switch {
	case w.kind == compute:
		return fmt.Sprintf("pe %d", w.core)
	case w.kind == control:
		return fmt.Sprintf("control %d", w.core)
	case r == task.HostBuildGraph:
		return "host"
	}
	return "orchestrator"
}

// work is what all workers of a run did.
type work map[worker][]draw.GanttBar

// control adds what was done for tasks.
func (all work) control(r *task.Result) {
	for i := range r.Control {
		done := &r.Control[i]
		w := worker{done.Rank, control, done.Core}
		if done.Core == task.BuilderCore {
			w.kind = builder
		}
		bar := draw.GanttBar{From: done.From, To: done.To, Activity: draw.Scheduling}
		switch done.Kind {
		case task.Building:
			bar.Activity, bar.Text = draw.Building, fmt.Sprintf("submit task %d", done.Task)
			if r.Runtime == task.HostBuildGraph {
				bar.Text = "build the graph"
			}
		case task.Dispatching:
			bar.Text = fmt.Sprintf("dispatch task %d", done.Task)
		case task.Noticing:
			bar.Text = fmt.Sprintf("notice task %d", done.Task)
		case task.Posting:
			bar.Text = fmt.Sprintf("send a message about task %d", done.Task)
		case task.Receiving:
			bar.Text = fmt.Sprintf("read a message about task %d", done.Task)
		case task.Reading:
			bar.Activity, bar.Text = draw.Building, fmt.Sprintf("read a value of task %d", done.Task)
		}
		all[w] = append(all[w], bar)
	}
}

// compute adds what compute cores did, and those that did nothing.
func (all work) compute(r *task.Result) {
	for rank := range r.Ranks {
		for core := range r.Cores {
			all[worker{rank, compute, core}] = nil
		}
	}
	for i := range r.Spans {
		s := &r.Spans[i]
		text := fmt.Sprintf("%s %d", s.Name, s.Task)
		activity := draw.Computing
		if s.Peers {
			activity = draw.Communicating
		}
		w := worker{s.Rank, compute, s.Core}
		all[w] = append(all[w],
			draw.GanttBar{From: s.Dispatched, To: s.Begin, Activity: draw.Scheduling, Text: "start " + text},
			draw.GanttBar{From: s.Begin, To: s.End, Activity: activity, Text: text},
			draw.GanttBar{From: s.End, To: s.Noticed, Activity: draw.Scheduling, Text: "end of " + text})
	}
}
