package sim

import (
	"math/bits"

	"github.com/kernbench/kernbench/simtime"
)

// queue holds pending events ordered by key, which is their time and whether they come from
// another partition, then by insertion. It is a hierarchical
// timing wheel without ticks: a radix tree over the digits of the event times. Its depth
// depends on how far the times differ from the current time.
//
// No pending event is earlier than base. An event is stored at the level of the highest
// digit in which its time differs from base, in the slot of that digit. So every event at
// a level is earlier than every event at a higher level, and within a level a lower slot
// is earlier. The next event is in the lowest slot of the lowest level in use. If that
// slot holds few events, pop searches it for the earliest. Otherwise base advances to the
// earliest of them, and the events of the slot are redistributed: each moves down at least
// one level, and the earliest events move to the lowest level.
//
// An event moves at most once per level, in practice once, for any number of pending
// events. Events with equal times are always in the same slot, and every move keeps their
// order. So ties are resolved by insertion without a sequence number. The events are in
// one slice, linked by index: nothing is allocated once the slice is large enough, and the
// garbage collector has nothing to scan.
type queue struct {
	events   []pending
	free     int32 // first unused element of events, 0 for none
	pending  int   // number of events in the queue
	base     Time
	inUse    uint16                // bit set of the levels that hold events
	occupied [levels]uint64        // bit set of the slots that hold events, per level
	last     [levels * slots]int32 // last event of each slot; its next is the first
}

const (
	digitBits = 6
	slots     = 1 << digitBits
	levels    = 16 // eleven are used; a power of two avoids bounds checks
	// lowBits is the width of the lowest digit. With 4 bits, a level has slots of 33 ps and
	// spans 2 ns, where most events of kernels are.
	lowBits = 4
	// searchMax is the largest number of events in a slot for which a search is faster than
	// redistribution, by measurement.
	searchMax = 2
)

// An event at the time t has the key 2t+1 in a queue, or 2t if it comes from another partition:
// then it runs first.
const (
	noEvent Time = simtime.Never // later than every key
	never        = noEvent >> 1  // later than every event
)

// keyOf returns the key of an event of the current partition.
func keyOf(t Time) Time { return min(t, never-1)<<1 | 1 }

// pending is an event in the queue, or an unused element.
type pending struct {
	at     Time
	arg    uint64
	target Target
	kind   Kind
	next   int32 // the next event in the ring of its slot, or in the free list
}

// push adds an event at the time `at`. This time must not be earlier than that of the last
// event that pop returned.
func (q *queue) push(at Time, target Target, kind Kind, arg uint64) {
	i := q.free
	if i != 0 {
		q.free = q.events[i].next
	} else {
		if len(q.events) == 0 {
			q.events = append(q.events, pending{}) // index 0 means none
		}
		i = int32(len(q.events))
		q.events = append(q.events, pending{})
	}
	e := &q.events[i]
	e.at, e.target, e.kind, e.arg = at, target, kind, arg
	q.pending++
	q.place(i, e)
}

// digitShift returns the number of the lowest bit of the digit that a level uses. The
// lowest digit has only lowBits bits. At level 0 the slot number also includes higher bits,
// which is harmless, because all events at level 0 have the same higher bits.
func digitShift(level uint) uint {
	if level == 0 {
		return 0
	}
	return level*digitBits - (digitBits - lowBits)
}

// place adds event i, which is e, at the end of the slot for its time.
func (q *queue) place(i int32, e *pending) {
	differs := uint64(e.at^q.base) | 1
	level := uint(bits.Len64(differs)-1+digitBits-lowBits) / digitBits % levels
	digit := uint(e.at>>digitShift(level)) % slots
	last := &q.last[level*slots+digit]
	if q.occupied[level]&(1<<digit) == 0 {
		q.occupied[level] |= 1 << digit
		q.inUse |= 1 << level
		e.next = i
	} else {
		e.next = q.events[*last].next
		q.events[*last].next = i
	}
	*last = i
}

// first returns the time of the earliest event, or never if there is none.
func (q *queue) first() Time {
	at, _, _ := q.pop(-1)
	return at >> 1
}

// pop removes and returns the earliest event, with its time. If there is no event, or if the
// earliest event is later than `limit`, `ok` is false and the time is that of the earliest
// event, or noEvent.
func (q *queue) pop(limit Time) (at Time, ev Event, ok bool) {
	for q.inUse != 0 {
		level := uint(bits.TrailingZeros16(q.inUse)) % levels
		digit := uint(bits.TrailingZeros64(q.occupied[level])) % slots
		last := q.last[level*slots+digit]
		before := last // the predecessor of the earliest event
		if level > 0 {
			earliest := q.events[q.events[last].next].at
			n := 1
			for i := q.events[last].next; i != last && n <= searchMax; n++ {
				next := q.events[i].next
				if t := q.events[next].at; t < earliest {
					earliest, before = t, i
				}
				i = next
			}
			if n > searchMax {
				if at, ok := q.redistribute(level, digit, limit); !ok {
					return at, Event{}, false
				}
				continue
			}
		}
		i := q.events[before].next
		e := &q.events[i]
		if e.at > limit {
			return e.at, Event{}, false
		}
		switch {
		case before == i:
			q.clear(level, digit)
		case i == last:
			q.last[level*slots+digit] = before
			fallthrough
		default:
			q.events[before].next = e.next
		}
		e.next = q.free
		q.free = i
		q.pending--
		return e.at, Event{e.target, e.kind, e.arg}, true
	}
	return noEvent, Event{}, false
}

// redistribute advances q.base to the time of the earliest event in slot number `digit` of
// the given level, and moves all events of the slot to lower levels. If the earliest event
// is later than `limit`, it changes nothing and returns the time of that event, and false.
func (q *queue) redistribute(level, digit uint, limit Time) (earliest Time, ok bool) {
	last := q.last[level*slots+digit]
	earliest = q.events[last].at
	for i := q.events[last].next; i != last; i = q.events[i].next {
		earliest = min(earliest, q.events[i].at)
	}
	if earliest > limit {
		return earliest, false
	}
	q.base = earliest
	q.clear(level, digit)
	for i := q.events[last].next; ; {
		e := &q.events[i]
		next := e.next
		q.place(i, e)
		if i == last {
			return earliest, true
		}
		i = next
	}
}

// clear marks slot number `digit` of the given level as empty.
func (q *queue) clear(level, digit uint) {
	q.occupied[level] &^= 1 << digit
	if q.occupied[level] == 0 {
		q.inUse &^= 1 << level
	}
}
