package sim

import (
	"slices"
	"sort"
)

// Cond is a condition that processes wait for. The zero value is ready; it must
// not be copied once in use.
type Cond struct {
	What string // for the deadlock report: "a free slot on port 3"

	waiting []*Proc // in the order in which they came
}

func (c *Cond) String() string {
	if c.What == "" {
		return "a condition"
	}
	return c.What
}

// Wait waits until the next Broadcast of c.
func (p *Proc) Wait(c *Cond) {
	c.waiting = append(c.waiting, p)
	p.Park(c)
}

// WaitFor waits until holds is true, testing it now and at every Broadcast of c.
func (p *Proc) WaitFor(c *Cond, holds func() bool) {
	for !holds() {
		p.Wait(c)
	}
}

// Broadcast wakes every waiting process, in the order in which they came.
func (c *Cond) Broadcast() {
	for _, p := range c.waiting {
		p.wakeNow()
	}
	clear(c.waiting)
	c.waiting = c.waiting[:0]
}

// remove takes p out of the queue.
func (c *Cond) remove(p *Proc) {
	c.waiting = slices.DeleteFunc(c.waiting, func(other *Proc) bool { return other == p })
}

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
	later := sort.Search(len(e.timers), func(i int) bool { return e.timers[i].at > t.at })
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
