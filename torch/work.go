package torch

import "github.com/kernbench/kernbench/internal/sim"

// Work is a collective that goes on while the rank does something else.
type Work struct {
	c      *Context
	op     *operation
	waited bool
}

// Wait waits for the end. What the collective writes may be read after it. A second
// Wait does nothing.
func (w *Work) Wait() error {
	w.exists("Wait")
	if w.waited {
		return nil
	}
	if err := w.c.operation("Wait"); err != nil {
		return err
	}
	if err := w.c.await(w.op); err != nil {
		return err
	}
	w.waited = true
	return nil
}

// exists checks that there is a Work.
func (w *Work) exists(op string) {
	refuse(w == nil, op, "the Work is nil: a call within Coalescing returns none, and neither does a Coalescing without calls: use the Work of CoalescingAsync")
}

// look is how long it takes to look whether a collective has ended, if it has not.
const look = 100 * sim.Nanosecond

// IsCompleted reports whether the collective has ended. If it has not, looking takes
// 100 ns: so that a loop until it has comes to an end.
func (w *Work) IsCompleted() bool {
	w.exists("IsCompleted")
	c := w.c
	if w.op.state == ended {
		w.waited = true
	}
	if w.waited || c.operation("IsCompleted") != nil {
		return w.waited
	}
	pause := &operation{name: "a look at " + w.op.name}
	pause.begin = func(done sim.Event) error {
		pause.left++
		c.m.Engine.Post(c.Now()+look, done)
		return nil
	}
	c.enqueue(pause)
	w.waited = c.await(pause) == nil && w.op.state == ended
	return w.waited
}

// String names the collective.
func (w *Work) String() string { return w.op.name }
