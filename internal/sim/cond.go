package sim

import (
	"slices"
	"sort"
)

// Cond is a condition that processes wait for. The zero value is ready to use. A Cond must
// not be copied after first use.
type Cond struct {
	What string // description in reports of deadlocks: "a free slot on port 3"

	waiting []*Proc // in order of arrival
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

// WaitFor waits until the function `holds` returns true. It calls `holds` now and at every
// Broadcast of c.
func (p *Proc) WaitFor(c *Cond, holds func() bool) {
	for !holds() {
		p.Wait(c)
	}
}

// Broadcast wakes all processes that wait for c, in order of arrival.
func (c *Cond) Broadcast() {
	for _, p := range c.waiting {
		p.wakeNow()
	}
	clear(c.waiting)
	c.waiting = c.waiting[:0]
}

// remove removes p from the processes that wait for c.
func (c *Cond) remove(p *Proc) {
	c.waiting = slices.DeleteFunc(c.waiting, func(other *Proc) bool { return other == p })
}

// Timer is a scheduled call that can be stopped. Unlike an event, a stopped timer has no
// effect: the clock does not advance to its time.
type Timer struct {
	eng  *Engine
	at   Time
	fire func()
}

// AfterFunc calls the function `fire` when the duration d has passed, after all events of
// that instant. The returned timer can stop the call.
func (e *Engine) AfterFunc(d Time, fire func()) *Timer {
	t := &Timer{eng: e, at: e.now + d, fire: fire}
	later := sort.Search(len(e.timers), func(i int) bool { return e.timers[i].at > t.at })
	e.timers = slices.Insert(e.timers, later, t)
	return t
}

// Stop prevents the call of the timer if it has not happened yet. A nil Timer does nothing.
func (t *Timer) Stop() {
	if t == nil {
		return
	}
	if i := slices.Index(t.eng.timers, t); i >= 0 {
		t.eng.timers = slices.Delete(t.eng.timers, i, i+1)
	}
}

// fireTimer calls the function of the earliest timer if its time is not after `limit`. It
// reports whether it called a function.
func (e *Engine) fireTimer(limit Time) bool {
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
