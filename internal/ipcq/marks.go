package ipcq

import (
	"strings"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
)

// marks is the state of a ring that only traces need.
type marks struct {
	slots   []slotMarks  // by slot
	seen    uint64       // fragments that have become visible
	credit  sim.Mark     // the activity that returned the credit that the sender took last
	first   sim.Mark     // likewise, of the first credit that it took together with that one
	counted simtime.Time // the latest time for which recordDepth recorded a depth
}

// slotMarks holds the activities in a trace that used a slot last.
type slotMarks struct {
	copy  sim.Mark // the copy out of the slot, if it is a copy within a TCM
	freed sim.Mark // the activity that returned the slot's credit
}

// mark returns the trace activities of the slot that holds fragment n, or nil without a
// trace.
func (r *Ring) mark(n uint64) *slotMarks {
	if !r.traced {
		return nil
	}
	return &r.marks.slots[r.slot(n)]
}

// received returns the transfer of b in the trace if fragment n is its last fragment and the
// transfer has ended, else 0.
func (r *Ring) received(b *batch, n uint64) sim.Mark {
	if !r.traced || b.known < b.count || n+1 < b.first+uint64(b.count) {
		return 0
	}
	return b.write
}

// releasedBy returns the activity that allows the copy of a known fragment of b to start at
// the time `at`.
func (r *Ring) releasedBy(rc *Receive, b *batch, at simtime.Time) sim.Mark {
	now := r.queues.eng.Now()
	switch {
	case rc.At >= at && rc.At > now:
		return rc.By // the fragment arrives before the receiver's clock reaches the Recv
	case at <= now:
		return r.queues.eng.By
	}
	return b.write
}

// CreditBy returns the activity that returned the credit that the sender took last, or 0
// without a trace.
func (r *Ring) CreditBy() sim.Mark {
	if !r.traced {
		return 0
	}
	return r.marks.credit
}

// FirstCreditBy returns the activity that returned the first of the credits that the sender
// took together last, or 0 without a trace.
func (r *Ring) FirstCreditBy() sim.Mark {
	if !r.traced {
		return 0
	}
	return r.marks.first
}

// countVisible records in the trace that n more fragments have become visible.
func (r *Ring) countVisible(n int) {
	r.marks.seen += uint64(n)
	r.recordDepth(r.queues.eng.Now())
}

// recordDepth records in the trace the depth of the queue from the time `at` on: the number
// of visible fragments that no receive has taken. If a depth has been recorded for a later
// time, that time replaces `at`.
func (r *Ring) recordDepth(at simtime.Time) {
	r.marks.counted = max(r.marks.counted, at)
	port := strings.Fields(r.To.Name)[1]
	r.To.DMA.Trace.RecordDepth(r.marks.counted, port, int(max(r.marks.seen, r.taken)-r.taken))
}

// CreditsReady returns the time at which the sender has a credit for every fragment of a
// message of n bytes. If the message has more fragments than the ring has slots, one credit
// for each slot is enough. ok is false if the time is not known yet. CreditsReady takes no
// credits.
func (r *Ring) CreditsReady(n memory.Bytes) (at simtime.Time, ok bool) {
	last := r.readsNeeded(n)
	if last > r.readKnown() {
		return 0, false
	}
	for i := r.used; i < last; i++ {
		// Credits may return out of order: copies to memory and to tiles take different times.
		at = max(at, r.credits[r.slot(i)])
	}
	return at, true
}

// CreditsReadyBy returns the activity that returned the last of the credits that
// CreditsReady(n) waits for, or 0 without a trace.
func (r *Ring) CreditsReadyBy(n memory.Bytes) (by sim.Mark) {
	at := simtime.Time(-1)
	for i := r.used; i < r.readsNeeded(n) && r.marks != nil; i++ {
		if slot := r.slot(i); r.credits[slot] > at {
			at, by = r.credits[slot], r.mark(i).freed
		}
	}
	return by
}

// readsNeeded returns how many fragments the receiver must have read, since the ring was
// made, before the sender has the credits that CreditsReady(n) waits for.
func (r *Ring) readsNeeded(n memory.Bytes) uint64 {
	after, slots := r.sent+uint64(min(r.Fragments(n), r.Slots)), uint64(r.Slots)
	return max(after, slots) - slots
}

// Listen makes the ring wake the sender as soon as CreditsReady(n) can return a time. When
// Listen is called, CreditsReady(n) must still return false. After calls with several
// sizes, the ring wakes the sender for the smallest size.
func (r *Ring) Listen(n memory.Bytes) {
	if last := r.readsNeeded(n); r.wakeAt == 0 || last < r.wakeAt {
		r.wakeAt = last
	}
}

// Unlisten cancels all calls of Listen.
func (r *Ring) Unlisten() { r.wakeAt = 0 }
