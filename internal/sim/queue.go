package sim

import "math/bits"

// queue holds pending events in the order of (time, insertion). It is a
// hierarchical timing wheel without ticks: a radix tree over the digits of the
// event times, as deep as the times differ from the present.
//
// An event sits at the level of the highest digit in which its time differs from
// base, which no pending event precedes, in the slot of that digit. So everything
// at a level is earlier than everything at the levels above, and within a level a
// lower slot is earlier: the next event is in the lowest slot of the lowest level
// in use. If that slot holds few events, the earliest is found by looking; if
// many, base advances to the earliest of them and they are dealt again, each at
// least one level lower and those of that instant at the lowest.
//
// An event moves at most once a level, in practice once, whatever the number
// pending. Events of equal time are always in the same slot and every move
// keeps their order, so ties break by insertion and no sequence number is stored.
// Events live in one slice, linked by index: nothing is allocated once that slice
// is large enough, and the collector has nothing to scan.
type queue struct {
	events   []pending
	free     int32 // first unused element of events, 0 for none
	pending  int
	base     Time
	inUse    uint16                // levels that hold events
	occupied [levels]uint64        // slots that hold events, per level
	last     [levels * slots]int32 // last event of a slot; its next is the first
}

const (
	digitBits = 6
	slots     = 1 << digitBits
	levels    = 16 // eleven are in use; a power of two spares bounds checks
	low       = 3  // bits of the lowest digit: slots of 33 ps, a level of 2 ns where most events of kernels are
	few       = 2  // events in a slot worth searching rather than dealing, by measurement
)

type pending struct {
	at     Time
	arg    uint64
	target Target
	kind   Kind
	next   int32 // in its slot, a ring; or in the free list
}

// push adds an event, which must not be earlier than the last one taken.
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

// shiftOf is where the digit of a level begins. In level 0 all events agree in the
// bits above the lowest digit, so that those may be taken with it.
func shiftOf(level uint) uint {
	if level == 0 {
		return 0
	}
	return level*digitBits - (digitBits - low)
}

// place links event i behind the others of its slot.
func (q *queue) place(i int32, e *pending) {
	differs := uint64(e.at^q.base) | 1
	level := uint(bits.Len64(differs)-1+digitBits-low) / digitBits % levels
	digit := uint(e.at>>shiftOf(level)) % slots
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

// pop takes the earliest event if it is not later than limit.
func (q *queue) pop(limit Time) (at Time, ev Event, ok bool) {
	for q.inUse != 0 {
		level := uint(bits.TrailingZeros16(q.inUse)) % levels
		digit := uint(bits.TrailingZeros64(q.occupied[level])) % slots
		last := q.last[level*slots+digit]
		before := last // of the earliest
		if level > 0 {
			earliest := q.events[q.events[last].next].at
			n := 1
			for i := q.events[last].next; i != last && n <= few; n++ {
				next := q.events[i].next
				if t := q.events[next].at; t < earliest {
					earliest, before = t, i
				}
				i = next
			}
			if n > few {
				if !q.deal(level, digit, limit) {
					return 0, Event{}, false
				}
				continue
			}
		}
		i := q.events[before].next
		e := &q.events[i]
		if e.at > limit {
			return 0, Event{}, false
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
	return 0, Event{}, false
}

// deal advances base to the earliest event of a slot and spreads the slot's events
// over the levels below. It does nothing if that is later than limit.
func (q *queue) deal(level, digit uint, limit Time) bool {
	last := q.last[level*slots+digit]
	earliest := q.events[last].at
	for i := q.events[last].next; i != last; i = q.events[i].next {
		earliest = min(earliest, q.events[i].at)
	}
	if earliest > limit {
		return false
	}
	q.base = earliest
	q.clear(level, digit)
	for i := q.events[last].next; ; {
		e := &q.events[i]
		next := e.next
		q.place(i, e)
		if i == last {
			return true
		}
		i = next
	}
}

func (q *queue) clear(level, digit uint) {
	q.occupied[level] &^= 1 << digit
	if q.occupied[level] == 0 {
		q.inUse &^= 1 << level
	}
}
