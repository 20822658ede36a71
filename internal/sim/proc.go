package sim

import (
	"errors"
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/kernbench/kernbench/internal/stack"
)

// Proc is a process: sequential code in simulated time. Its methods may be
// called only from its own body, except Wake, Cancel, Name, Done and Running.
type Proc struct {
	// As says what reports call the process at present, where that is not as at Go.
	As func() string
	// Where says which line of its code the process stands at. It is called on
	// the process's own stack when the process ends in a deadlock.
	Where func() string
	// Failed, if it is set, is told with what error the process has panicked. It may not be
	// the first of the run.
	Failed func(*PanicError)
	// Mark is the activity at work while the process runs, and Woken the one that woke
	// it last, for those who trace.
	Mark, Woken Mark

	eng    *Engine
	name   string
	id     int32
	wakes  uint32 // times resumed: tells a wake-up from a stale one
	state  procState
	since  Time         // when it began to wait
	on     fmt.Stringer // what it waits for; nil while it sleeps
	at     string       // where it stood when it was cancelled
	resume func() (struct{}, bool)
	stop   func()
	yield  func(struct{}) bool
}

type procState uint8

const (
	waiting procState = iota
	running
	cancelled
	ended
)

// procs resumes processes: it is the handler of their wake-up events.
type procs struct {
	slots []procSlot // by id
	free  []int32    // ids of processes that ended
}

// procSlot outlives its process so that a wake-up meant for an earlier holder of
// the id is never taken for one of the present.
type procSlot struct {
	*Proc
	wakes uint32 // of the holders that ended
}

// cancelSignal unwinds the body of a cancelled process.
type cancelSignal struct{}

// Go starts a process at the present instant, as soon as the present event is over.
func (e *Engine) Go(name string, body func(p *Proc)) *Proc {
	p := &Proc{eng: e, name: name, since: e.now}
	e.procs.add(p)
	p.resume, p.stop = iter.Pull(func(yield func(struct{}) bool) {
		p.yield = yield
		defer func() {
			value := recover()
			p.state = ended
			if _, cancelled := value.(cancelSignal); value != nil && !cancelled {
				e.fail(p, &PanicError{Proc: p.Name(), At: e.now, Value: value, Stack: string(debug.Stack())})
			}
		}()
		body(p)
	})
	p.wakeNow()
	return p
}

// Ended returns a process that has ended. It stands for code that is over, in reports of
// deadlocks, while the process that ran the code has gone on to other code.
func Ended(name string) *Proc { return &Proc{name: name, state: ended} }

// Name is what the process is called.
func (p *Proc) Name() string {
	if p.As != nil {
		return p.As()
	}
	return p.name
}

// Now is the present instant.
func (p *Proc) Now() Time { return p.eng.now }

// Done reports whether the process has ended.
func (p *Proc) Done() bool { return p.state == ended }

// Cancelled reports whether the process is being unwound, in its deferred calls.
func (p *Proc) Cancelled() bool { return p.state == cancelled }

// Running reports whether the process is what the engine runs at present.
func (p *Proc) Running() bool { return p.state == running }

// Sleep lets d pass.
func (p *Proc) Sleep(d Time) { p.SleepUntil(p.eng.now + d) }

// SleepUntil waits for the instant t.
func (p *Proc) SleepUntil(t Time) {
	p.eng.At(t, 0, 0, uint64(p.wakes)<<32|uint64(p.id))
	p.Park(nil)
}

// Park waits until Wake is called. on says what for, should that never happen.
func (p *Proc) Park(on fmt.Stringer) { p.ParkFrom(on, p.eng.now) }

// ParkFrom is Park of a process whose own clock is ahead: it waits from an instant
// to come.
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
	panic(cancelSignal{}) // Cancel called stop, or a deferred call waits again
}

// Wake resumes a process that waits in Park or Wait at the present instant, as soon
// as the present event is over. A second Wake before it runs does nothing.
func (p *Proc) Wake() {
	if c, ok := p.on.(*Cond); ok {
		c.remove(p)
	}
	p.wakeNow()
}

func (p *Proc) wakeNow() {
	p.Woken = p.eng.By
	p.eng.woken.Push(uint64(p.wakes)<<32 | uint64(p.id))
}

// Cancel unwinds the process where it waits, running its deferred calls. A
// process that cancels itself does not return.
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
		p.state = ended // also of one that never began
		p.eng.procs.remove(p)
	}
}

// Handle resumes the process that an event is for.
func (ps *procs) Handle(_ Kind, arg uint64) {
	p := ps.slots[uint32(arg)].Proc
	if p == nil || p.wakes != uint32(arg>>32) || p.state != waiting {
		return // it ended, or was woken already
	}
	p.wakes++
	p.state, p.on = running, nil
	p.eng.By = p.Mark
	p.resume()
	if p.state == ended {
		ps.remove(p)
	}
}

func (ps *procs) add(p *Proc) {
	if n := len(ps.free); n > 0 {
		p.id = ps.free[n-1]
		ps.free = ps.free[:n-1]
	} else {
		p.id = int32(len(ps.slots))
		ps.slots = append(ps.slots, procSlot{})
	}
	slot := &ps.slots[p.id]
	slot.Proc, p.wakes = p, slot.wakes
}

func (ps *procs) remove(p *Proc) {
	ps.slots[p.id] = procSlot{wakes: p.wakes + 1}
	ps.free = append(ps.free, p.id)
}

func (ps *procs) close() {
	for _, slot := range ps.slots {
		if slot.Proc != nil {
			slot.Cancel()
		}
	}
}

// Server is a serial server with a first-come, first-served queue whose service
// times are known on arrival: an engine, a port, a memory channel. It needs no
// events of its own. The zero value is idle.
type Server struct {
	free Time // when the last customer leaves

	Busy Time // in service
}

// Serve takes a customer who arrives at `at` and needs `service`, and returns
// when it is served from and to. Arrivals must be in order of time.
func (s *Server) Serve(at, service Time) (start, end Time) {
	start = max(s.free, at)
	end = start + service
	s.free = end
	s.Busy += service
	return start, end
}

// Free is when the server has no more work.
func (s *Server) Free() Time { return s.free }

// PanicError is a panic inside a process.
type PanicError struct {
	Proc  string // "kernel@sip0.cube0.pe1", or another name
	At    Time
	Value any
	Stack string
}

// Error returns one line that says where in the author's code the panic was. The stack is added
// if the simulator panicked by itself, not with an error for the author.
func (e *PanicError) Error() string {
	who := e.Proc
	if kernel, pe, ok := strings.Cut(who, "@"); ok {
		who = "kernel " + kernel + " on " + pe
	}
	line, inside := stack.Line(e.Stack)
	err := e.Unwrap()
	switch {
	case !inside || err == nil || errors.As(err, new(runtime.Error)):
		return fmt.Sprintf("%s: %s", who, Panicked(e.Value, e.Stack))
	case strings.Contains(err.Error(), line):
		return err.Error() // it has all of that
	}
	return fmt.Sprintf("%s at %s: %v", who, line, err)
}

// Panicked describes a panic with a value, by its stack.
func Panicked(value any, text string) string {
	line, inside := stack.Line(text)
	switch {
	case inside:
		return fmt.Sprintf("a panic inside kernbench, which should not happen: %v\n%s", value, text)
	case line != "":
		line = " at " + line
	}
	return fmt.Sprintf("panic%s: %v", line, value)
}

// Unwrap returns the panic's value where that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
