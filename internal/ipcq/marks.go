package ipcq

import (
	"strings"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
)

// marks holds the activities that caused the times of a ring, for traces.
type marks struct {
	slots   []slotMarks
	credit  sim.Mark     // the activity that returned the credit that was taken last
	seen    uint64       // fragments that have become visible
	counted simtime.Time // the time of the latest recorded depth
}

// slotMarks holds the activities of a slot.
type slotMarks struct {
	write sim.Mark // the transfer that wrote the fragment; 0 if it has no bytes
	copy  sim.Mark // the copy out of the slot, if that is within a TCM
	freed sim.Mark // the activity that returned the slot's credit
}

// mark returns the trace activities of the slot that holds fragment n, or nil without a
// trace.
func (r *Ring) mark(n uint64) *slotMarks {
	if r.marks == nil {
		return nil
	}
	return &r.marks.slots[n%uint64(r.Slots)]
}

// CreditBy returns the activity that gave back the latest credit taken by the sender, or 0
// without a trace.
func (r *Ring) CreditBy() sim.Mark {
	if r.marks == nil {
		return 0
	}
	return r.marks.credit
}

// recordDepth records in the trace how many fragments are visible and not yet taken by a
// receive, from the time `at` on.
func (r *Ring) recordDepth(at simtime.Time) {
	r.marks.counted = max(r.marks.counted, at)
	port := strings.Fields(r.To.Name)[1]
	r.To.DMA.Trace.RecordDepth(r.marks.counted, port, int(r.marks.seen-r.taken))
}

// CreditsReady returns the time at which the sender has a credit for every fragment of a
// message of n bytes. If the message has more fragments than the ring has slots, one credit
// per slot counts. ok is false if the time is not known yet. CreditsReady takes no credits.
func (r *Ring) CreditsReady(n memory.Bytes) (at simtime.Time, ok bool) {
	last := r.readsNeeded(n)
	if last > r.read {
		return 0, false
	}
	for i := r.used; i < last; i++ {
		// Credits may return out of order: copies to memory and to tiles take different times.
		at = max(at, r.credits[i%uint64(r.Slots)])
	}
	return at, true
}

// CreditsReadyBy returns the activity that gave back the last credit needed for a message
// of n bytes, or 0 without a trace.
func (r *Ring) CreditsReadyBy(n memory.Bytes) (by sim.Mark) {
	at := simtime.Time(-1)
	for i := r.used; i < r.readsNeeded(n) && r.marks != nil; i++ {
		if slot := i % uint64(r.Slots); r.credits[slot] > at {
			at, by = r.credits[slot], r.mark(i).freed
		}
	}
	return by
}

// readsNeeded returns how many fragments in total the receiver must have read before the
// slots for a message of n bytes are free. The count starts when the ring is made.
func (r *Ring) readsNeeded(n memory.Bytes) uint64 {
	after, slots := r.sent+uint64(min(r.Fragments(n), r.Slots)), uint64(r.Slots)
	return max(after, slots) - slots
}

// Listen requests that the sender is woken when the result of CreditsReady(n) becomes
// known. The result must not be known yet at the call. After several calls, the sender is
// woken for the size whose result is known first.
func (r *Ring) Listen(n memory.Bytes) {
	if last := r.readsNeeded(n); r.wakeAt == 0 || last < r.wakeAt {
		r.wakeAt = last
	}
}

// Unlisten cancels all calls of Listen.
func (r *Ring) Unlisten() { r.wakeAt = 0 }
