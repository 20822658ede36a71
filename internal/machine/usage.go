package machine

import (
	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/simtime"
)

// Breakdown divides the time of a PE. Every instant is in exactly one of Compute, Memory,
// Comm and Idle.
type Breakdown struct {
	Compute simtime.Time // an engine is busy, from fetching operands to storing results
	Memory  simtime.Time // neither Compute nor Comm: data moves between memories and TCM
	Comm    simtime.Time // not Compute: messages move, or the CPU waits for another PE
	Idle    simtime.Time // none of these

	OverlappedMemory simtime.Time // data moves during Compute
	OverlappedComm   simtime.Time // messages move, or the CPU waits, during Compute
}

// Total returns the sum of Compute, Memory, Comm and Idle.
func (b Breakdown) Total() simtime.Time { return b.Compute + b.Memory + b.Comm + b.Idle }

// Breakdown returns how one PE spends the time from the instant `from` to the end of the
// run. This is the PE that ended last among the PEs for which the function `include`
// returns true. The time after the end of this PE counts as Comm, because the PE waits for
// the other PEs. The run must have ended. ok is false if the run was not measured or if
// `include` selects no PE.
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
