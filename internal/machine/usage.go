package machine

import (
	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/simtime"
)

// Breakdown is what a PE did in some time. Every instant is in one of Compute, Memory,
// Comm and Idle.
type Breakdown struct {
	Compute simtime.Time // an engine was at work, from the fetch of operands to the store of results
	Memory  simtime.Time // none was: data moved between memories and TCM
	Comm    simtime.Time // none was: messages moved, or the CPU waited for another PE
	Idle    simtime.Time // none of these

	OverlappedMemory simtime.Time // data moved under Compute
	OverlappedComm   simtime.Time // messages moved, or the CPU waited, under Compute
}

// Total returns the whole time.
func (b Breakdown) Total() simtime.Time { return b.Compute + b.Memory + b.Comm + b.Idle }

// Breakdown returns what the PE that ended last, of some of a run's PEs, did from an instant on
// to the end of all: after its own end it waited for the others. The run has to have ended. ok
// is false if it was not measured.
func (r *Run) Breakdown(include func(PEID) bool, from simtime.Time) (b Breakdown, ok bool) {
	last := -1
	for i, id := range r.Targets {
		if include(id) && (last < 0 || r.end[i] > r.end[last]) {
			last = i
		}
	}
	if last < 0 {
		return b, false
	}
	u := r.cores[r.Targets[last]].Usage()
	if u == nil {
		return b, false
	}
	end := r.Start + r.Critical()
	var window pe.Spans
	window.Add(from, end)
	compute, memory := u.Compute.Intersect(window), u.DMA[fabric.Compute].Intersect(window)
	comm := u.DMA[fabric.Comm].Union(u.Waits)
	comm.Add(r.end[last], end)
	comm = comm.Intersect(window)
	b.Compute = compute.Total()
	b.OverlappedComm, b.OverlappedMemory = comm.Intersect(compute).Total(), memory.Intersect(compute).Total()
	b.Comm = comm.Total() - b.OverlappedComm
	b.Memory = memory.Union(comm).Union(compute).Total() - b.Compute - b.Comm
	b.Idle = window.Total() - b.Compute - b.Comm - b.Memory
	return b, true
}
