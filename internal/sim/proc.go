package sim

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/stack"
)

// Proc is a process: sequential code in simulated time. Only the body of the process may
// call its methods, except Wake, Cancel, Name, Done and Running.
type Proc struct {
	// As returns the current name of the process in reports. If nil, the name is the one
	// given to Go.
	As func() string
	// Where returns the current source line of the process. It is called on the stack of
	// the process when the process unwinds in a deadlock. It may be nil.
	Where func() string
	// Failed is called with the error when the process panics. Other processes may have
	// panicked before. It may be nil.
	Failed func(*PanicError)
	// Mark is the activity of the process while it runs, and Woken the activity that woke
	// it last; both are 0 without a trace.
	Mark, Woken Mark

	eng    *Engine
	id     int32
	part   int32        // its partition
	number uint64       // in the order of starts
	wakes  uint32       // number of times resumed: distinguishes a stale wake-up event
	since  Time         // when the current wait began
	on     fmt.Stringer // what the process waits for; nil while it sleeps
	resume func() (struct{}, bool)
	yield  func(struct{}) bool
	state  procState
	stop   func()
	name   string
	at     string // the source line at which it was cancelled, if known
}

type procState uint8

const (
	waiting procState = iota
	running
	cancelled
	ended
)

// procs is the handler of wake-up events: it resumes processes.
type procs struct {
	slots   []procSlot // by process id
	started uint64     // processes that were started so far
}

// procSlot is the entry of a process id. It outlives the process, so that a wake-up event
// for an earlier process with the same id does not resume the current one.
type procSlot struct {
	*Proc        // nil if the id is free
	wakes uint32 // the value of Proc.wakes at which the next process starts
}

// cancelSignal is the panic value that unwinds the body of a cancelled process.
type cancelSignal struct{}

// Go starts a process that runs `body`. The process begins at the current time, after the
// current event.
func (e *Engine) Go(name string, body func(p *Proc)) *Proc { return e.GoIn(e.current, name, body) }

// GoIn starts a process of partition `in`, as Go does. Only the host starts processes of other
// partitions, or several threads.
func (e *Engine) GoIn(in int32, name string, body func(p *Proc)) *Proc {
	p := &Proc{eng: e.Of(in), name: name, since: e.now, part: in}
	p.id = e.procID()
	e.procs.add(p)
	p.resume, p.stop = iter.Pull(func(yield func(struct{}) bool) {
		p.yield = yield
		defer func() {
			value := recover()
			p.state = ended
			if _, cancelled := value.(cancelSignal); value != nil && !cancelled {
				p.eng.fail(p, &PanicError{Proc: p.Name(), At: p.eng.now, Value: value, Stack: string(debug.Stack())})
			}
		}()
		body(p)
	})
	p.wakeNow()
	return p
}

// Ended returns a process that has already ended. Reports of deadlocks use it for a piece
// of code that has ended while the process that ran it continues with other code.
func Ended(name string) *Proc { return &Proc{name: name, state: ended} }

// Name returns the current name of the process, for reports.
func (p *Proc) Name() string {
	if p.As != nil {
		return p.As()
	}
	return p.name
}

// Now returns the current simulated time.
func (p *Proc) Now() Time { return p.eng.now }

// Done reports whether the process has ended.
func (p *Proc) Done() bool { return p.state == ended }

// Cancelled reports whether the process has been cancelled and now runs its deferred calls.
func (p *Proc) Cancelled() bool { return p.state == cancelled }

// Running reports whether the engine currently runs the process.
func (p *Proc) Running() bool { return p.state == running }

// Sleep waits for the duration d.
func (p *Proc) Sleep(d Time) { p.SleepUntil(p.eng.now + d) }

// SleepUntil waits until time t.
func (p *Proc) SleepUntil(t Time) {
	p.eng.At(t, 0, 0, uint64(p.wakes)<<32|uint64(p.id))
	p.Park(nil)
}

// Park waits until Wake is called. `on` describes the wait in reports of deadlocks.
func (p *Proc) Park(on fmt.Stringer) { p.ParkFrom(on, p.eng.now) }

// ParkFrom waits until Wake is called, like Park. Reports say that the wait began at the
// time `since`, which may be in the future because the clock of a process may be ahead of
// the engine's clock.
func (p *Proc) ParkFrom(on fmt.Stringer, since Time) {
	if p.state == running {
		p.state, p.on, p.since = waiting, on, since
		if p.yield(struct{}{}) {
			return
		}
		if p.Where != nil {
			p.at = p.Where()
		}
	}
	panic(cancelSignal{}) // Cancel called stop, or a deferred call tried to wait
}

// Wake resumes a process that waits in Park or Wait. The process runs at the current time,
// after the current event. A second Wake before the process runs does nothing.
func (p *Proc) Wake() {
	if c, ok := p.on.(*Cond); ok {
		c.remove(p)
	}
	p.wakeNow()
}

// wakeNow queues p to be resumed after the current event.
func (p *Proc) wakeNow() {
	p.Woken = p.eng.By
	arg := uint64(p.wakes)<<32 | uint64(p.id)
	if p.part != p.eng.current && p.eng.split {
		p.eng.AtIn(p.part, p.eng.now, 0, 0, arg)
		return
	}
	p.eng.woken.Push(arg)
}

// Cancel ends a waiting process: its stack unwinds and its deferred calls run. If a process
// cancels itself, Cancel does not return.
func (p *Proc) Cancel() {
	switch p.state {
	case running:
		p.state = cancelled
		panic(cancelSignal{})
	case waiting:
		if c, ok := p.on.(*Cond); ok {
			c.remove(p)
		}
		p.state = cancelled
		p.stop()
		p.state = ended // stop does not set it if the body never started
		p.eng.procs.remove(p)
	}
}

// Handle resumes the process whose wake-up event is due. `arg` contains the id of the
// process, and the value that its field wakes had when the event was scheduled. Handle does
// nothing if the process has ended or was resumed since then.
func (ps *procs) Handle(_ Kind, arg uint64) {
	p := ps.slots[uint32(arg)].Proc
	if p == nil || p.wakes != uint32(arg>>32) || p.state != waiting {
		return // the process has ended, or was resumed before
	}
	p.wakes++
	p.state, p.on = running, nil
	p.eng.By = p.Mark
	p.resume()
	if p.state == ended {
		ps.remove(p)
	}
}

// procID returns an id for another process.
func (e *Engine) procID() (id int32) {
	if n := len(e.unusedIDs); n > 0 {
		id = e.unusedIDs[n-1]
		e.unusedIDs = e.unusedIDs[:n-1]
		return id
	}
	return int32(len(e.procs.slots))
}

// add adds p, which has an unused id.
func (ps *procs) add(p *Proc) {
	if int(p.id) == len(ps.slots) {
		ps.slots = append(ps.slots, procSlot{})
	}
	slot := &ps.slots[p.id]
	slot.Proc, p.wakes = p, slot.wakes
	ps.started++
	p.number = ps.started
}

// inOrder returns the processes that have not ended, in the order of their starts. The order of
// their ids depends on the order in which earlier processes ended in their partitions.
func (ps *procs) inOrder() (all []*Proc) {
	for _, slot := range ps.slots {
		if slot.Proc != nil {
			all = append(all, slot.Proc)
		}
	}
	slices.SortFunc(all, func(a, b *Proc) int { return cmp.Compare(a.number, b.number) })
	return all
}

// remove makes the id of p available for another process.
func (ps *procs) remove(p *Proc) {
	ps.slots[p.id] = procSlot{wakes: p.wakes + 1}
	p.eng.unusedIDs = append(p.eng.unusedIDs, p.id)
}

// close cancels all processes that have not ended.
func (ps *procs) close() {
	for _, p := range ps.inOrder() {
		p.Cancel()
	}
}

// Server is a first-come, first-served resource that serves one request at a time, such as
// an engine, a port or a memory channel. Service times are known on arrival, so a Server
// needs no events. The zero value is idle.
type Server struct {
	free Time // when the last request ends

	Busy Time // total service time
}

// Serve adds a request that arrives at the time `at` and needs the server for the duration
// `service`. It returns the start and the end of the request's service. Requests must be
// added in order of arrival.
func (s *Server) Serve(at, service Time) (start, end Time) {
	start = max(s.free, at)
	end = start + service
	s.free = end
	s.Busy += service
	return start, end
}

// Hold keeps the server busy until the time `until`, if it would be free earlier.
func (s *Server) Hold(until Time) { s.free = max(s.free, until) }

// Free returns the time at which the last request ends.
func (s *Server) Free() Time { return s.free }

// PanicError is the error of a run in which a process panicked.
type PanicError struct {
	Proc  string // "kernel@sip0.cube0.pe1", or another name
	At    Time
	Value any
	Stack string
}

// Error returns one line that names the source line in the user's code that panicked. If
// the simulator itself panicked, the stack follows, unless the value of the panic is an
// error meant for the user.
func (e *PanicError) Error() string {
	who := e.Proc
	if kernel, pe, ok := strings.Cut(who, "@"); ok {
		who = "kernel " + kernel + " on " + pe
	}
	line, inside := stack.Line(e.Stack)
	err := e.Unwrap()
	switch {
	case !inside || err == nil || errors.As(err, new(runtime.Error)):
		return fmt.Sprintf("%s: %s", who, DescribePanic(e.Value, e.Stack))
	case strings.Contains(err.Error(), line):
		return err.Error() // it names the line already
	}
	return fmt.Sprintf("%s at %s: %v", who, line, err)
}

// DescribePanic returns a description of a panic for errors. `value` is the value of the
// panic and `text` is the text of its stack.
func DescribePanic(value any, text string) string {
	line, inside := stack.Line(text)
	switch {
	case inside:
		return fmt.Sprintf("a panic inside kernbench, which should not happen: %v\n%s", value, text)
	case line != "":
		line = " at " + line
	}
	return fmt.Sprintf("panic%s: %v", line, value)
}

// Unwrap returns the value of the panic if it is an error, else nil.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
