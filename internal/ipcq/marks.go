package ipcq

import (
	"strings"

	"github.com/kernbench/kernbench/internal/sim"
)

// marks is what somebody who traces wants to know of a ring: the activities behind its times.
type marks struct {
	slots   []slotMarks
	credit  sim.Mark // that gave back the credit which was taken last
	seen    uint64   // fragments that became visible
	counted sim.Time // when it was told last how many wait
}

// slotMarks is the activities of a slot.
type slotMarks struct {
	write sim.Mark // brought the fragment there
	copy  sim.Mark // copies it out, within a TCM
	freed sim.Mark // gave back its credit
}

// traced gives a ring marks, if its receiver is traced.
func (r *Ring) traced() {
	if r.To.DMA.Trace != nil {
		r.marks = &marks{slots: make([]slotMarks, r.Slots)}
	}
}

// mark is the activities of fragment n; nil if nobody traces.
func (r *Ring) mark(n uint64) *slotMarks {
	if r.marks == nil {
		return nil
	}
	return &r.marks.slots[n%uint64(r.Slots)]
}

// CreditBy is the activity that gave back the credit which was taken last.
func (r *Ring) CreditBy() sim.Mark {
	if r.marks == nil {
		return 0
	}
	return r.marks.credit
}

// deep tells how many fragments are visible and not taken, from an instant on.
func (r *Ring) deep(at sim.Time) {
	r.marks.counted = max(r.marks.counted, at)
	port := strings.Fields(r.To.Name)[1]
	r.To.DMA.Trace.Depth(r.marks.counted, port, int(r.marks.seen-r.taken))
}
