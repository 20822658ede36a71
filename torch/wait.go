package torch

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
)

// await waits for an operation: a worker lets others go on meanwhile, the host drives
// the machine.
func (r *Rank) await(op *operation) error {
	return r.awaitUnless(op, func() bool { return false })
}

// awaitUnless waits for an operation, or until a condition holds. What makes it hold wakes
// the worker, or interrupts the machine.
func (r *Rank) awaitUnless(op *operation, done func() bool) error {
	for op.state != ended && op.failure == nil && r.err == nil && !done() {
		if r.proc != nil {
			op.waiters = append(op.waiters, r.proc)
			r.park(op)
			continue
		}
		r.awaited = op
		err := r.run()
		if r.lost.Load() != nil {
			return err
		}
		if err == nil && op.state != ended && r.awaited == op && !done() {
			hint := ""
			if op.message {
				hint = ": a program without Spawn gives both ends of a message, with P2POp.Rank in BatchISendIRecv"
			}
			r.err = misuse(op.name, "nothing is left that could end it%s", hint)
		}
		r.awaited = nil
	}
	if op.state == ended || op.failure != nil || r.err == nil { // or the condition holds
		return op.failure
	}
	return r.reason()
}

// reason returns why the machine has ended, for whoever waits for it.
func (c *Context) reason() error {
	// A TimeoutError names its operation.
	if op := c.guilty(); op != nil && !errors.As(c.err, new(*TimeoutError)) {
		return fmt.Errorf("%s: %w", op.name, unwrap(c.err))
	}
	return unwrap(c.err)
}

// kernelError returns the error of a kernel that a worker has launched, or that is part of a
// collective of it, if one has failed.
func (c *Context) kernelError(w *Rank) error {
	if op := c.guilty(); op != nil && slices.Contains(op.streams, &w.stream) {
		return c.reason()
	}
	for _, op := range c.operations.all { // at the instant of the first
		if op != nil && op.run != nil && op.run.Err() != nil && slices.Contains(op.streams, &w.stream) {
			return fmt.Errorf("%s: %w", op.name, unwrap(op.run.Err()))
		}
	}
	return nil
}

// guilty returns the operation that ended the machine, if one did: it failed, or nothing
// else was under way.
func (c *Context) guilty() *operation {
	if c.culprit != nil {
		return c.culprit
	}
	var under []*operation
	for _, op := range c.operations.all {
		if op == nil || op.state != begun {
			continue
		}
		if op.run != nil && op.run.Failed() && (op.run.Err() == nil || op.run.Err() == c.err) {
			return op
		}
		under = append(under, op)
	}
	if len(under) == 1 && under[0].run != nil && c.ctx.Err() == nil {
		return under[0]
	}
	return nil
}

// Synchronize waits for everything that this rank has asked for.
func (r *Rank) Synchronize() error {
	if err := r.operation("Synchronize"); err != nil {
		return err
	}
	pending := &r.stream.ops
	for len(pending.ops) > 0 {
		if err := r.await(pending.ops[len(pending.ops)-1]); err != nil {
			return err
		}
	}
	for _, w := range r.works {
		w.waited = true
	}
	r.works = nil
	if r.data != nil {
		return r.flush()
	}
	return r.err
}

// flush computes the values of what has happened.
func (c *Context) flush() error {
	if err := c.data.Flush(); err != nil && c.err == nil {
		c.err = err
	}
	return c.err
}

// Work is a collective that goes on while the rank does something else.
type Work struct {
	rank   *Rank
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
	if err := w.rank.acting().operation("Wait"); err != nil {
		return err
	}
	if err := w.rank.acting().await(w.op); err != nil {
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
const look = 100 * simtime.Nanosecond

// IsCompleted reports whether the collective has ended. If it has not, looking takes
// 100 ns: so that a loop until it has comes to an end.
func (w *Work) IsCompleted() bool {
	w.exists("IsCompleted")
	r := w.rank.acting()
	if w.op.state == ended {
		w.waited = true
	}
	if w.waited || r.operation("IsCompleted") != nil {
		return w.waited
	}
	pause := &operation{name: "a look at " + w.op.name}
	pause.begin = func(done sim.Event) error {
		pause.left++
		r.m.Engine.Post(r.Now()+look, done)
		return nil
	}
	r.enqueue(pause)
	w.waited = r.await(pause) == nil && w.op.state == ended
	return w.waited
}

// Stats returns what the collective took. It is called after Wait. Of a message it is what the
// program took that carried it, with others if they began at the same instant.
func (w *Work) Stats() Stats {
	w.exists("Stats")
	refuse(!w.waited || w.op.state != ended, "Stats", "%s has not been waited for: call Wait first", w.op.name)
	s := w.op.stats
	s.Name = w.op.name
	return s
}

// String names the collective.
func (w *Work) String() string { return w.op.name }
