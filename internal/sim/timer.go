package sim

import (
	"cmp"
	"container/heap"
)

// Timer is a call at an instant to come that can be taken back. Unlike an event, a timer that
// was stopped leaves no trace: the clock does not come to its instant because of it.
type Timer struct {
	eng    *Engine
	at     Time
	number uint64 // of timers, in the order in which they were made
	place  int    // in the heap; -1 if it is not there
	fire   func()
}

// AfterFunc calls a function when d has passed, after the events of that instant.
func (e *Engine) AfterFunc(d Time, fire func()) *Timer {
	e.made++
	t := &Timer{eng: e, at: e.now + d, number: e.made, fire: fire}
	heap.Push(&e.timers, t)
	return t
}

// Stop takes the call back, if it has not been made. A nil timer has none.
func (t *Timer) Stop() {
	if t != nil && t.place >= 0 {
		heap.Remove(&t.eng.timers, t.place)
	}
}

// ring calls the function of the first timer, if that is due by a limit, and reports whether
// it was.
func (e *Engine) ring(limit Time) bool {
	if len(e.timers) == 0 || e.timers[0].at > limit {
		return false
	}
	t := heap.Pop(&e.timers).(*Timer)
	e.now, e.By = t.at, 0
	e.ran++
	t.fire()
	return true
}

// timers is a heap by instant and number.
type timers []*Timer

func (h timers) Len() int { return len(h) }
func (h timers) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].at, h[j].at), cmp.Compare(h[i].number, h[j].number)) < 0
}
func (h timers) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}
func (h *timers) Push(x any) {
	t := x.(*Timer)
	t.place = len(*h)
	*h = append(*h, t)
}
func (h *timers) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = nil
	*h, t.place = (*h)[:last], -1
	return t
}
