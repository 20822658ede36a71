package sim

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/kernbench/kernbench/simtime"
)

// Time is simulated time.
type Time = simtime.Time

// Handler is a hardware model. The engine calls Handle when an event of the handler is
// due. The handler defines the meaning of kind and arg.
type Handler interface {
	Handle(kind Kind, arg uint64)
}

// Kind says which of a handler's events is due.
type Kind uint32

// Target identifies a registered Handler.
type Target uint32

// Event is a call of a handler with its arguments. The zero Event calls no handler.
type Event struct {
	Target Target
	Kind   Kind
	Arg    uint64
}

// Mark is the number of an activity in a trace. An activity takes time and releases other
// activities. 0 is none.
type Mark int64

// Engine is the simulated clock with its events, timers and processes. If several threads run
// the partitions of a simulation, each has an Engine: its models use the Engine of their
// partition (see [Engine.Of]). While the partitions are not split, all of these Engines act as
// that of the host.
type Engine struct {
	*thread // own, or that of the host's engine while the partitions are not split
	*shared
	own thread
	_   [64]byte // keeps other objects out of its last cache line, since threads write to them
}

// shared is what the engines of all threads share. All of it but beats changes only while one
// thread runs.
type shared struct {
	// Limit is the simulated time at which Run stops with a *TimeLimit, in case a process
	// never ends. 0 is no limit.
	Limit Time
	// Vary, unless nil, returns a number below n. Tests set it to vary the length of windows and
	// the order of partitions in them, which must not change any result.
	Vary func(n int) int
	// WindowEnded, unless nil, is called between windows. No partition has an event left before
	// the time `reached`. When the partitions stop, `reached` is later than every event.
	WindowEnded func(reached Time)

	engines []*Engine // by thread; the first is that of the host
	procs   procs
	timers  []*Timer // sorted by time; timers at the same time in order of creation
	closing bool     // the run ends after the current instant: a process has panicked
	paused  bool     // the run is interrupted: set by Pause
	watch   watch
	helpers goroutines

	queues    []queue // by partition; 0 is the host, and has all events unless the engine is split
	parts     []partition
	lookahead Time
	split     bool
	colours   []uint8 // by partition; nil if all have one colour
	left      Event   // see Split
	failed    Time    // when the first process has panicked in a window; never if none has

	_     [64]byte // all threads write to beats, and read the other fields
	beats atomic.Uint64
}

// New returns an engine at time 0.
func New() *Engine {
	e := &Engine{shared: &shared{queues: make([]queue, 1)}}
	e.thread, e.engines = &e.own, []*Engine{e}
	e.queue = &e.queues[0]
	e.handlers = []Handler{&e.procs} // Target 0 resumes processes
	return e
}

// Register adds h to the handlers of the engine. It returns the Target by which events
// refer to h.
func (e *Engine) Register(h Handler) Target {
	return e.RegisterEach(func(*Engine) Handler { return h })
}

// RegisterEach adds a handler for each thread of the run to the handlers of the engine: the one
// that `handler` returns for the Engine of the thread. It returns the Target by which events
// refer to the handler of their thread.
func (e *Engine) RegisterEach(handler func(*Engine) Handler) Target {
	for _, other := range e.engines {
		other.own.handlers = append(other.own.handlers, handler(other))
	}
	return Target(len(e.handlers) - 1)
}

// Now returns the current simulated time.
func (e *Engine) Now() Time { return e.now }

// Events returns the number of events that have run, which measures the cost of a run.
func (e *Engine) Events() (n uint64) {
	for _, other := range e.engines {
		n += other.own.ran
	}
	return n
}

// Beat increments the progress count of the run. A goroutine that watches the run reads the
// count with Beats.
func (e *Engine) Beat() { e.beats.Add(1) }

// CheckContext makes the run check its context before the next event. A handler that does a
// lot of work in one event calls it.
func (e *Engine) CheckContext() { e.nextCheck = 0 }

// Beats returns a count that grows while the run makes progress. Any goroutine may call
// it.
func (e *Engine) Beats() uint64 { return e.beats.Load() }

// At schedules a call of target's handler at time t. It panics if t is in the past, which
// is a bug in the model.
func (e *Engine) At(t Time, target Target, kind Kind, arg uint64) {
	if t < e.now {
		panic(fmt.Sprintf("sim: event at %v scheduled in the past of %v", t, e.now))
	}
	e.queue.push(keyOf(t), target, kind, arg)
}

// Post schedules ev at time t. It does nothing for the zero Event.
func (e *Engine) Post(t Time, ev Event) {
	if ev.Target != 0 {
		e.At(t, ev.Target, ev.Kind, ev.Arg)
	}
}

// Call handles ev immediately, before other events that are due. A handler uses it to
// report its own end, so Call must be the last thing that the handler does. Call does
// nothing for the zero Event.
func (e *Engine) Call(ev Event) {
	if ev.Target != 0 {
		e.handlers[ev.Target].Handle(ev.Kind, ev.Arg)
	}
}

// Stop ends the run after the current event. Run returns err, or the first error if the run
// has failed before.
func (e *Engine) Stop(err error) {
	if e.closing = false; e.err == nil {
		e.err = err
	}
}

// fail records that process p panicked with err. It calls p.Failed and ends the run after
// the current instant, so that other processes that panic at the same instant are reported
// too. Run returns the first error.
func (e *Engine) fail(p *Proc, err *PanicError) {
	if e.current != 0 {
		e.failIn(p, err)
		return
	}
	if e.report(p, err); e.err == err {
		e.closing = true
	}
}

// report calls p.Failed and makes err the error of the run, unless there is one.
func (e *Engine) report(p *Proc, err *PanicError) {
	if p.Failed != nil {
		p.Failed(err)
	}
	if e.err == nil {
		e.err = err
	}
}

// Pause interrupts the run after the current event. Run returns nil, and the next call of
// Run continues.
func (e *Engine) Pause() { e.paused = true }

// Idle reports whether no event is pending and no process has been woken. Timers may still
// be pending.
func (e *Engine) Idle() bool {
	for i := range e.queues {
		if e.queues[i].pending > 0 || i > 0 && len(e.parts[i].inbox) > 0 {
			return false
		}
	}
	return e.woken.Len() == 0
}

// TimeLimit is the error of a run that had events left at its limit.
type TimeLimit struct {
	Limit   Time
	Events  uint64    // number of events that have run; 0 if the limit is the error of one process
	Running []Blocked // processes that had not ended; nil if the limit is the error of one process
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
	if l.Events > 0 {
		where += fmt.Sprintf(", after %d events", l.Events)
	}
	return fmt.Sprintf("still running at the limit of %v of simulated time%s: an endless kernel, or raise the limit (--limit, Options.Limit)", l.Limit, where)
}

// Run runs events until none is left, or until Pause. It returns one of these errors: the
// cause of ctx if ctx ends, the error given to Stop, a *PanicError if a process panicked, a
// *TimeLimit if events are left at the limit, or a *Deadlock if processes still wait. A
// timer after the limit does not prevent a *Deadlock. After an error the engine is closed.
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
		return &TimeLimit{limit, e.Events(), running}
	}
	if d := e.procs.reportDeadlock(e.now); d != nil {
		return d
	}
	return nil
}

// beatEvery is the number of events between two beats, and between two checks of the
// context.
const beatEvery = 64

// watch is what the engine watches while it runs: the context and the meter of the run.
type watch struct {
	ctx   context.Context
	done  <-chan struct{}
	meter *Meter
}

// check reports progress and returns false if the context of the run has ended.
func (e *Engine) check() bool {
	e.nextCheck = e.ran + beatEvery
	e.Beat()
	w := &e.watch
	if w.meter != nil {
		w.meter.events.Add(e.ran - e.counted)
		w.meter.now.Store(int64(e.now))
		e.counted = e.ran
	}
	if w.done != nil && w.ctx.Err() != nil {
		e.Stop(context.Cause(w.ctx))
		return false
	}
	return true
}

// wake resumes the first process that has been woken.
func (e *Engine) wake() {
	arg := *e.woken.Front()
	e.woken.Pop()
	e.ran++
	e.procs.Handle(0, arg)
}

// run runs the events and timers up to the time `limit`. `paused` reports whether Pause
// interrupted the run.
func (e *Engine) run(ctx context.Context, limit Time) (paused bool, err error) {
	e.watch = watch{ctx: ctx, done: ctx.Done(), meter: meterOf(ctx)}
	for _, other := range e.engines {
		other.own.counted = other.own.ran
	}
	defer e.helpers.stop()
	limit = min(limit, never-1)
	for (e.err == nil || e.closing) && !e.paused {
		if e.ran >= e.nextCheck && !e.check() {
			break
		}
		if e.woken.Len() > 0 {
			e.wake()
			continue
		}
		if e.split && !e.closing && e.runWindow(limit) {
			continue
		}
		until := limit
		if len(e.timers) > 0 {
			until = min(limit, e.timers[0].at)
		}
		if e.closing {
			until = e.now
		}
		at, ev, ok := e.queue.pop(keyOf(until))
		if !ok {
			if e.closing {
				break
			}
			if e.fireTimer(limit) {
				continue
			}
			return false, nil
		}
		e.now, e.By = at>>1, 0
		e.ran++
		e.handlers[ev.Target].Handle(ev.Kind, ev.Arg)
	}
	if e.err != nil {
		e.endWindow(never)
		e.Close()
	}
	paused, e.paused = e.paused && e.err == nil, false
	return paused, e.err
}

// Close ends every process that has not ended and runs its deferred calls. Further calls of
// Close do nothing.
func (e *Engine) Close() { e.procs.close() }
