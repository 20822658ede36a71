package sim

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/kernbench/kernbench/simtime"
)

// Time is simulated time.
type Time = simtime.Time

// Handler is a hardware model: the engine calls it when an event of its falls
// due. What kind and arg mean is the handler's own affair.
type Handler interface {
	Handle(kind Kind, arg uint64)
}

// Kind tells a handler which of its events fell due.
type Kind uint32

// Target is a registered Handler.
type Target uint32

// Event names a callback: whom to call, and with what. A zero Event is nobody.
type Event struct {
	Target Target
	Kind   Kind
	Arg    uint64
}

// Mark is the number of an activity, for those who trace: something that takes time and
// lets other things happen. 0 is none.
type Mark int64

// Engine is the clock and everything that waits for it.
type Engine struct {
	// Limit is the simulated time at which Run gives up, for processes that never
	// end. Zero is none.
	Limit Time
	// By is the activity whose doing the present event is, if somebody traces. What
	// happens now happens because of it.
	By Mark

	queue    queue
	now      Time
	ran      uint64
	look     uint64 // how many events have run when the context is next looked at
	handlers []Handler
	procs    procs
	timers   []*Timer     // in the order of their instants, and in which they were made
	woken    FIFO[uint64] // processes that go on at the present instant
	err      error        // ends the run: set by Stop
	closing  bool         // after the present instant, since a process has panicked
	paused   bool         // the run is interrupted: set by Pause
	beats    atomic.Uint64
}

// New returns an engine at time 0.
func New() *Engine {
	e := &Engine{}
	e.handlers = []Handler{&e.procs} // Target 0 resumes processes
	return e
}

// Register adds a handler for events.
func (e *Engine) Register(h Handler) Target {
	e.handlers = append(e.handlers, h)
	return Target(len(e.handlers) - 1)
}

// Now is the present instant.
func (e *Engine) Now() Time { return e.now }

// Events is how many events have run: the cost of a simulation.
func (e *Engine) Events() uint64 { return e.ran }

// Beat notes that the run gets on, and Beats is a number that changes while it
// does: it may be read from any goroutine, by one that watches.
func (e *Engine) Beat() { e.beats.Add(1) }

// Look has the run look at its context before the next event: many calls were made at
// the present one.
func (e *Engine) Look() { e.look = 0 }

// Beats is the number of beats so far.
func (e *Engine) Beats() uint64 { return e.beats.Load() }

// At schedules a call of target's handler. It panics if t is in the past, which
// is a bug in the model.
func (e *Engine) At(t Time, target Target, kind Kind, arg uint64) {
	if t < e.now {
		panic(fmt.Sprintf("sim: event at %v scheduled in the past of %v", t, e.now))
	}
	e.queue.push(t, target, kind, arg)
}

// Post schedules ev at t; nothing for the zero Event.
func (e *Engine) Post(t Time, ev Event) {
	if ev.Target != 0 {
		e.At(t, ev.Target, ev.Kind, ev.Arg)
	}
}

// Call runs ev at once, at the present instant and ahead of the events that are
// due, where what it tells is the caller's last word on a matter: an end that is
// handed on. Nothing happens for the zero Event.
func (e *Engine) Call(ev Event) {
	if ev.Target != 0 {
		e.handlers[ev.Target].Handle(ev.Kind, ev.Arg)
	}
}

// Stop ends the run after the present event; Run returns err.
func (e *Engine) Stop(err error) {
	if e.closing = false; e.err == nil {
		e.err = err
	}
}

// fail ends the run after the present instant, so that other processes that panic then are
// known as well; Run returns the first error.
func (e *Engine) fail(p *Proc, err *PanicError) {
	if p.Failed != nil {
		p.Failed(err)
	}
	if e.err == nil {
		e.err, e.closing = err, true
	}
}

// Pause interrupts the run after the present event: Run returns nil, and the next one
// goes on from there.
func (e *Engine) Pause() { e.paused = true }

// Idle reports whether nothing is left to happen but timers.
func (e *Engine) Idle() bool { return e.queue.pending == 0 && e.woken.Len() == 0 }

// TimeLimit is the end of a run that had events left at its limit.
type TimeLimit struct {
	Limit   Time
	Events  uint64    // run so far
	Running []Blocked // the processes that had not ended, if the limit is not the error of one of them
}

func (l *TimeLimit) Error() string {
	where := ""
	for _, p := range l.Running {
		if p.At != "" {
			where = fmt.Sprintf(" in %s at %s", p.Proc, p.At)
			break
		}
	}
	if n := len(l.Running) - 1; where != "" && n > 0 {
		where += fmt.Sprintf(" and %d other processes", n)
	}
	return fmt.Sprintf("still running at the limit of %v of simulated time%s, after %d events: an endless kernel, or raise the limit (--limit, Options.Limit)", l.Limit, where, l.Events)
}

// Run runs until no event is left, or until Pause. It returns ctx's error if ctx ends, the error
// given to Stop, a *PanicError if a process panicked, a *TimeLimit if events are
// left at the limit, or a *Deadlock if processes still wait, be it for a timer behind the
// limit. After an error the engine is closed.
func (e *Engine) Run(ctx context.Context) error {
	limit := simtime.Never
	if e.Limit > 0 {
		limit = e.Limit
	}
	if paused, err := e.run(ctx, limit); paused || err != nil {
		return err
	}
	if e.queue.pending > 0 {
		running, _ := e.procs.unwind()
		return &TimeLimit{limit, e.ran, running}
	}
	if d := e.procs.deadlock(e.now); d != nil {
		return d
	}
	return nil
}

// beatEvery is how many events may run between two beats, and before a cancelled
// context is noticed.
const beatEvery = 64

// run runs the events up to a limit, and reports whether Pause has interrupted that.
func (e *Engine) run(ctx context.Context, limit Time) (paused bool, err error) {
	done := ctx.Done()
	for (e.err == nil || e.closing) && !e.paused {
		if e.ran >= e.look {
			e.look = e.ran + beatEvery
			e.Beat()
			if done != nil && ctx.Err() != nil {
				e.Stop(context.Cause(ctx))
				break
			}
		}
		if e.woken.Len() > 0 {
			arg := *e.woken.Front()
			e.woken.Pop()
			e.ran++
			e.procs.Handle(0, arg)
			continue
		}
		until := limit
		if len(e.timers) > 0 {
			until = min(limit, e.timers[0].at)
		}
		if e.closing {
			until = e.now
		}
		at, ev, ok := e.queue.pop(until)
		if !ok {
			if e.closing {
				break
			}
			if e.ring(limit) {
				continue
			}
			return false, nil
		}
		e.now, e.By = at, 0
		e.ran++
		e.handlers[ev.Target].Handle(ev.Kind, ev.Arg)
	}
	if e.err != nil {
		e.Close()
	}
	paused, e.paused = e.paused && e.err == nil, false
	return paused, e.err
}

// Close unwinds every process that has not ended, running its deferred calls.
// It is harmless to call it twice.
func (e *Engine) Close() { e.procs.close() }
