package chart

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/kernbench/kernbench/internal/draw"
	"github.com/kernbench/kernbench/task"
)

// panels returns a panel for each rank of run r. All panels have the same length and leave
// out the time before `start`. The rows of a panel are the host or the orchestrator, the
// control cores and the compute cores.
func panels(r *task.Result, start task.Time) []draw.GanttPanel {
	list := make([]draw.GanttPanel, r.Ranks)
	for rank := range list {
		list[rank] = draw.GanttPanel{Title: string(r.Runtime), End: r.Makespan - start}
		if r.Ranks > 1 {
			list[rank].Title = fmt.Sprintf("%s, rank %d", r.Runtime, rank)
		}
		if rank > 0 {
			continue // only the first panel has a note about the run
		}
		list[rank].Note = "makespan " + r.Makespan.Rounded()
		if start > 0 {
			list[rank].Note += fmt.Sprintf("; %s of building left out", start.Rounded())
		}
	}
	s := schedule{start, map[worker][]draw.GanttBar{}}
	s.addControl(r)
	s.addCompute(r)
	for _, w := range slices.SortedFunc(maps.Keys(s.bars), worker.compare) {
		p := &list[w.rank]
		p.Rows = append(p.Rows, draw.GanttRow{Label: w.label(r.Runtime), Bars: s.bars[w]})
	}
	return list
}

// worker is a core, or the host, that builds, schedules or computes.
type worker struct {
	rank int
	kind kind
	core int
}

// kind is the role of a worker.
type kind uint8

// The kinds of workers, in the order of their rows.
const (
	builder kind = iota // the host or the orchestrator
	control
	compute
)

// compare returns -1, 0 or 1 if the row of worker w comes before, at or after the row of
// worker v.
func (w worker) compare(v worker) int {
	return cmp.Or(cmp.Compare(w.rank, v.rank), cmp.Compare(w.kind, v.kind), cmp.Compare(w.core, v.core))
}

// label returns the name of the worker's row, such as "pe 0". It does not name the rank.
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

// schedule holds the bars of a run after a start time, by worker.
type schedule struct {
	start task.Time
	bars  map[worker][]draw.GanttBar
}

// add appends a bar from `from` to `to` to the row of worker w. It cuts off the part before
// the start time.
func (s *schedule) add(w worker, from, to task.Time, a draw.Activity, text string) {
	if from >= s.start || to > s.start {
		s.bars[w] = append(s.bars[w], draw.GanttBar{From: max(from-s.start, 0), To: to - s.start, Activity: a, Text: text})
	}
}

// controlWork is, by kind of work of control cores and the host, the activity and text of
// its bars.
var controlWork = [...]struct {
	draw.Activity
	text string
}{
	task.Building:    {draw.Building, "submit task %d"},
	task.Dispatching: {draw.Scheduling, "dispatch task %d"},
	task.Noticing:    {draw.Scheduling, "notice task %d"},
	task.Posting:     {draw.Scheduling, "send a message about task %d"},
	task.Receiving:   {draw.Scheduling, "read a message about task %d"},
	task.Reading:     {draw.Building, "read a value of task %d"},
}

// addControl adds bars for the work of the host, the orchestrator and the control cores in
// run r.
func (s *schedule) addControl(r *task.Result) {
	for i := range r.Control {
		done := &r.Control[i]
		w := worker{done.Rank, control, done.Core}
		if done.Core == task.BuilderCore {
			w.kind = builder
		}
		work := controlWork[done.Kind]
		text := fmt.Sprintf(work.text, done.Task)
		if done.Kind == task.Building && r.Runtime == task.HostBuildGraph {
			text = "build the graph"
		}
		s.add(w, done.From, done.To, work.Activity, text)
	}
}

// addCompute adds bars for the work of the compute cores in run r. Idle cores get rows
// without bars.
func (s *schedule) addCompute(r *task.Result) {
	for rank := range r.Ranks {
		for core := range r.Cores {
			s.bars[worker{rank, compute, core}] = nil
		}
	}
	for i := range r.Spans {
		span := &r.Spans[i]
		text := fmt.Sprintf("%s %d", span.Name, span.Task)
		activity := draw.Computing
		if span.Peers {
			activity = draw.Communicating
		}
		w := worker{span.Rank, compute, span.Core}
		s.add(w, span.Dispatched, span.Begin, draw.Scheduling, "start "+text)
		s.add(w, span.Begin, span.End, activity, text)
		s.add(w, span.End, span.Noticed, draw.Scheduling, "end of "+text)
	}
}
