package stream

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/kernbench/kernbench/internal/exec"
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
)

// Options is what a Scheduler is made of.
type Options struct {
	Context  context.Context // that the run ends with
	Machine  *machine.Machine
	Data     bool          // values are computed
	Threads  int           // that compute them
	KeepsLog bool          // the op log is wanted, and not for values alone
	Stall    time.Duration // that code may run without an operation

	// Misuse returns the error of a mistake in an operation of a program.
	Misuse func(op, text string) error
	// Recovered returns the error of host code that has panicked with a value.
	Recovered func(value any) error
	// Stalled returns the error of code that has run too long: that of a rank, or of a kernel.
	Stalled func(rank bool, line string) error
}

// Scheduler is the operations of a machine, and the ranks that ask for them.
type Scheduler struct {
	Options
	Values *exec.Executor // of the op log; nil if no values are computed
	World  any            // that package dist keeps of the ranks that know each other: the program alone, or those of a Spawn
	State  any            // that package dist keeps of the machine
	Looks  int            // at operations, to find out which can go on: the cost of scheduling

	main       *Rank   // the program itself
	ranks      []*Rank // of Spawn, by number
	current    *Rank   // whose code runs; nil while the machine does
	stopping   bool    // a rank has failed, and the others are stopped where they wait
	operations operations
	inFlight   int           // operations that have started on the machine
	lastUse    map[use]int32 // the last launch of the log, if others may be under way
	awaited    *Operation    // by the program itself
	placed     int           // operations in streams so far
	culprit    *Operation    // could not begin
	timed      int           // waits with a timeout that are under way
	makespan   simtime.Time  // the end of the last operation
	last       sim.Mark      // what ended it, in traces
	late       error         // of an operation that ended the machine because of its timeout

	working atomic.Pointer[Rank] // whose code runs, for the guard
	lost    atomic.Pointer[lost] // if some code has not come back
	err     error
}

// New returns the scheduler of a machine that nothing has been asked of.
func New(o Options) *Scheduler {
	s := &Scheduler{Options: o, lastUse: map[use]int32{}}
	s.main = s.newRank(0)
	s.current = s.main
	s.operations.s = s
	s.operations.target = o.Machine.Engine.Register(&s.operations)
	if o.Data {
		s.compute()
	}
	return s
}

// compute has the values of the op log computed, from its start.
func (s *Scheduler) compute() {
	m := s.Machine
	s.Values = exec.New(m.Log, func(space oplog.Space) *memory.Store {
		return &m.Memory(space).Store
	}, s.Threads)
	s.Values.Poll = func() error { // it may take long, inside a kernel that asks for a value
		m.Engine.Beat()
		return context.Cause(s.Context)
	}
	m.Data = s.Values
}

// longLog is how many operations the op log may have before one that is not kept is begun
// anew, so that a long program needs no more memory than a short one.
const longLog = 1 << 16

// Main returns the rank of the program itself.
func (s *Scheduler) Main() *Rank { return s.main }

// Ranks returns the ranks of Spawn while it runs, by number.
func (s *Scheduler) Ranks() []*Rank { return s.ranks }

// Current returns the rank whose code runs, nil while the machine does.
func (s *Scheduler) Current() *Rank { return s.current }

// Stopping reports whether a rank of Spawn has failed: what others ask for never begins.
func (s *Scheduler) Stopping() bool { return s.stopping }

// Lost reports whether code of the machine has not come back.
func (s *Scheduler) Lost() bool { return s.lost.Load() != nil }

// Now returns the simulated time.
func (s *Scheduler) Now() simtime.Time { return s.Machine.Engine.Now() }

// Err returns the error that ended the machine, nil while it can be used.
func (s *Scheduler) Err() error {
	if l := s.lost.Load(); l != nil {
		return l.err
	}
	return s.err
}

// Begin checks that a rank may ask for an operation of a name.
func (r *Rank) Begin(name string) error {
	if l := r.lost.Load(); l != nil {
		return fmt.Errorf("%s: the machine has ended before: %w", name, l.err)
	}
	switch current := r.current; {
	case current == nil:
		panic(r.Misuse(name, "called from a kernel, an orchestration, or a goroutine beside a worker: a kernel has its tl.PE, an orchestration its Builder, and the context belongs to one goroutine at a time"))
	case current != r:
		panic(r.Misuse(name, fmt.Sprintf("called by the code of %v for %v: use the *torch.Rank that this code was given, and its own tensors", current, r)))
	case r.err != nil:
		return fmt.Errorf("%s: the machine has ended before: %w", name, unwrap(r.err))
	case r.Stopped():
		return fmt.Errorf("%s: %w", name, ErrStopped)
	}
	r.Machine.Engine.Beat()
	return nil
}

// Closed calls a function in which ranks must not ask for operations: Begin panics in it.
func (s *Scheduler) Closed(f func()) {
	defer func(r *Rank) { s.current = r }(s.current)
	s.current = nil
	f()
}

// Close ends what still runs. A kernel in an endless loop of Go code cannot be ended.
func (s *Scheduler) Close() {
	if !s.Lost() {
		s.Machine.Close()
	}
}

// run lets the machine work until it has nothing left to do, or what the program awaits has
// ended.
func (s *Scheduler) run() error {
	s.current = nil
	err := s.guarded()
	if s.Lost() {
		return err
	}
	s.current = s.main
	if err != nil && s.err == nil {
		s.err = err
	}
	return s.err
}

// Flush computes the values of what has happened.
func (s *Scheduler) Flush() error {
	if err := s.Values.Flush(); err != nil && s.err == nil {
		s.err = err
	}
	return s.err
}

// Later calls a function when all ranks have done what they do at the present instant.
func (s *Scheduler) Later(f func()) {
	s.operations.later = append(s.operations.later, f)
	s.Machine.Engine.Post(s.Now(), sim.Event{Target: s.operations.target, Kind: evLater, Arg: uint64(s.Machine.Engine.By)})
}

// unwrap returns the error that a kernel was stopped with, without the stack, if it says
// itself where that was.
func unwrap(err error) error {
	if wrong, ok := errors.AsType[*tl.Error](err); ok {
		return wrong
	}
	return err
}
