package ipcq

import (
	"strings"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
)

// marks is what somebody who traces wants to know of a ring: the activities behind its times.
type marks struct {
	slots   []slotMarks
	credit  sim.Mark     // that gave back the credit which was taken last
	seen    uint64       // fragments that became visible
	counted simtime.Time // when it was told last how many wait
}

// slotMarks is the activities of a slot.
type slotMarks struct {
	write sim.Mark // brought the fragment there
	copy  sim.Mark // copies it out, within a TCM
	freed sim.Mark // gave back its credit
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
func (r *Ring) deep(at simtime.Time) {
	r.marks.counted = max(r.marks.counted, at)
	port := strings.Fields(r.To.Name)[1]
	r.To.DMA.Trace.Depth(r.marks.counted, port, int(r.marks.seen-r.taken))
}

// Room is when there are credits for a message of n bytes, or for as many fragments
// of it as there are slots. ok is false if that is not known yet. It takes none.
func (r *Ring) Room(n memory.Bytes) (at simtime.Time, ok bool) {
	last := r.before(n)
	if last > r.read {
		return 0, false
	}
	for i := r.used; i < last; i++ { // not always in their order: copies to memory and to tiles differ
		at = max(at, r.credits[i%uint64(r.Slots)])
	}
	return at, true
}

// RoomBy is the activity that gave back the credit which Room waits for longest.
func (r *Ring) RoomBy(n memory.Bytes) (by sim.Mark) {
	at := simtime.Time(-1)
	for i := r.used; i < r.before(n) && r.marks != nil; i++ {
		if slot := i % uint64(r.Slots); r.credits[slot] > at {
			at, by = r.credits[slot], r.mark(i).freed
		}
	}
	return by
}

// before is how many fragments have to be read before that message has its slots.
func (r *Ring) before(n memory.Bytes) uint64 {
	after, slots := r.sent+uint64(min(r.Fragments(n), r.Slots)), uint64(r.Slots)
	return max(after, slots) - slots
}

// Listen has the sender woken as soon as Room is known, which it is not at present;
// of several sizes, that of the first.
func (r *Ring) Listen(n memory.Bytes) {
	if last := r.before(n); r.wanted == 0 || last < r.wanted {
		r.wanted = last
	}
}

// Unlisten ends that.
func (r *Ring) Unlisten() { r.wanted = 0 }
