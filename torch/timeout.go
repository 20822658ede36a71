package torch

import (
	"fmt"
	"slices"
	"time"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/simtime"
)

// Timeout limits the simulated time of a group's collectives and messages, from the first
// call of one to its end: one that takes longer ends all workers of Spawn, or the program.
// 0 is none, and the default.
func Timeout(d time.Duration) GroupOption {
	return func(o *GroupOptions) { o.Timeout = simulated("Timeout", d) }
}

// simulated returns a duration as simulated time.
func simulated(op string, d time.Duration) Time {
	refuse(d < 0 || d > time.Hour, op, "a timeout of %v: give one from 0 to an hour of simulated time", d)
	return Time(d.Nanoseconds()) * simtime.Nanosecond
}

// TimeoutError reports a collective or a message that did not end in the simulated time that
// it had.
type TimeoutError struct {
	Name    string // of the collective
	After   Time   // that it had
	Missing []int  // ranks of the world that had not called it
	arrival bool   // all that had to be done was to arrive
	half    bool   // a message whose other end the program has not asked for
}

// late returns the error of an operation that did not end in time.
func (op *operation) late(after Time) *TimeoutError {
	missing := op.missing()
	return &TimeoutError{Name: op.name, After: after, Missing: missing, half: op.message && op.partial && len(missing) == 0}
}

// Error names the ranks that had not called the collective.
func (e *TimeoutError) Error() string {
	switch {
	case e.arrival:
		return fmt.Sprintf("%s: %s not arrived within %v", e.Name, ranksDo(e.Missing, "has", "have"), e.After)
	case e.half:
		return fmt.Sprintf("%s: not ended within %v: its other end has not been asked for", e.Name, e.After)
	case len(e.Missing) == 0:
		return fmt.Sprintf("%s: not ended within %v, though all its ranks have called it: raise the timeout", e.Name, e.After)
	}
	return fmt.Sprintf("%s: not ended within %v: %s not called it", e.Name, e.After, ranksDo(e.Missing, "has", "have"))
}

// missing returns the ranks of the world that have not called an operation.
func (op *operation) missing() (ranks []int) {
	for _, w := range op.forming {
		ranks = append(ranks, w.rank)
	}
	slices.Sort(ranks)
	return ranks
}

// limit has an operation fail if it has not ended when a time has passed.
func (c *Context) limit(op *operation, after Time) {
	if after == 0 || op.timer != nil {
		return
	}
	op.timer = c.m.Engine.AfterFunc(after, func() {
		if c.stopping {
			return
		}
		err := op.late(after)
		deadlock := c.m.Engine.Idle() && c.timed == 0 // of kernels, if ranks are not to blame: the machine reports it
		if !c.spawned() {
			if !deadlock {
				c.m.Engine.Stop(err)
			}
			return
		}
		found := false // ranks for which there is no use in waiting
		c.stuck(func(w *Rank, err error) { found, w.fault = true, err }, nil)
		if !found && deadlock && slices.ContainsFunc(c.workers, (*Rank).busy) {
			return
		}
		for _, w := range c.workers {
			if !found && slices.Contains(op.parties(), &w.stream) {
				w.fault = err
			}
		}
		c.abort()
	})
}

// WaitTimeout waits for the end, but no longer than a simulated time. If that passes it
// returns a *TimeoutError. The collective goes on, and can be waited for again. A timeout of
// 0 is none.
func (w *Work) WaitTimeout(d time.Duration) error {
	w.exists("WaitTimeout")
	if w.waited || d == 0 {
		return w.Wait()
	}
	if err := w.rank.acting().operation("WaitTimeout"); err != nil {
		return err
	}
	after := simulated("WaitTimeout", d)
	ended, err := w.rank.acting().awaitFor(w.op, after)
	if err == nil && !ended {
		return w.op.late(after)
	}
	w.waited = err == nil
	return err
}

// awaitFor waits for an operation, and at most for a time. It reports whether it has ended.
func (r *Rank) awaitFor(op *operation, after Time) (bool, error) {
	expired := false
	if op.state == ended {
		return true, nil
	}
	timer := r.m.Engine.AfterFunc(after, func() {
		if expired = true; r.proc != nil {
			r.proc.Wake()
		} else {
			r.m.Engine.Pause()
		}
	})
	r.timed++
	defer func() {
		r.timed--
		timer.Stop()
	}()
	err := r.awaitUnless(op, func() bool { return expired })
	return op.state == ended, err
}

// MonitoredBarrier waits until all ranks of a group have called it, in contrast to Barrier
// also on the host. Rank 0 of the group gives up when a simulated time has passed since it
// came: its error names the lowest rank that has not come, or with waitAllRanks all of them,
// and the barrier fails on all ranks. Other ranks give up when rank 0 has not come as long
// after them. A timeout of 0 is that of the group.
func (d *Distributed) MonitoredBarrier(timeout time.Duration, waitAllRanks bool, group ...*Group) error {
	const name = "monitored_barrier"
	g, err := d.group(name, group)
	if err != nil {
		return err
	}
	refuse(d.r.coalescing != nil, name, "it waits, and is not coalesced with collectives")
	after := simulated(name, timeout)
	if after == 0 {
		after = g.shared.options.Timeout
	}
	w, err := d.call(g, &request{collective: ccl.Barrier, what: name, label: name, monitored: true})
	if err != nil {
		return err
	}
	w.waited = true // here
	if after == 0 {
		return d.r.await(w.op)
	}
	ended, err := d.r.awaitFor(w.op, after)
	if err != nil || ended {
		return err
	}
	missing := w.op.missing()
	root := g.shared.ranks[0]
	switch {
	case g.rank > 0 && slices.Contains(missing, root):
		missing = []int{root}
	case g.rank > 0 || len(missing) == 0: // rank 0 will tell, or all have come
		return d.r.await(w.op)
	case !waitAllRanks:
		missing = missing[:1]
	}
	late := &TimeoutError{Name: w.op.name, After: after, Missing: missing, arrival: true}
	d.r.giveUp(w.op, fmt.Errorf("rank %d gave up: %w", d.r.rank, late))
	return late
}

// giveUp ends an operation that some rank has not called, with an error for all others that
// call it or have called it.
func (c *Context) giveUp(op *operation, err error) {
	op.failure = err
	behind := op.behind
	c.leave(op)
	op.streams = nil // it is never tried again
	for _, next := range behind {
		c.advance(next)
	}
	for _, p := range op.waiters {
		p.Wake()
	}
}
