package sim

import "slices"

// Timer is a call at an instant to come that can be taken back. Unlike an event, a timer that
// was stopped leaves no trace: the clock does not come to its instant because of it.
type Timer struct {
	eng  *Engine
	at   Time
	fire func()
}

// AfterFunc calls a function when d has passed, after the events of that instant.
func (e *Engine) AfterFunc(d Time, fire func()) *Timer {
	t := &Timer{eng: e, at: e.now + d, fire: fire}
	later, _ := slices.BinarySearchFunc(e.timers, t.at, func(other *Timer, at Time) int {
		if other.at <= at {
			return -1
		}
		return 1
	})
	e.timers = slices.Insert(e.timers, later, t)
	return t
}

// Stop takes the call back, if it has not been made. A nil timer has none.
func (t *Timer) Stop() {
	if t == nil {
		return
	}
	if i := slices.Index(t.eng.timers, t); i >= 0 {
		t.eng.timers = slices.Delete(t.eng.timers, i, i+1)
	}
}

// ring calls the function of the first timer, if that is due by a limit, and reports whether
// it was.
func (e *Engine) ring(limit Time) bool {
	if len(e.timers) == 0 || e.timers[0].at > limit {
		return false
	}
	t := e.timers[0]
	e.timers = slices.Delete(e.timers, 0, 1)
	e.now, e.By = t.at, 0
	e.ran++
	t.fire()
	return true
}
