package ipcq

import (
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/sim"
)

// Room is when there are credits for a message of n bytes, or for as many fragments
// of it as there are slots. ok is false if that is not known yet. It takes none.
func (r *Ring) Room(n memory.Bytes) (at sim.Time, ok bool) {
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
	at := sim.Time(-1)
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
