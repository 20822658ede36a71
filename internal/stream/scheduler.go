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

// Options configures a Scheduler.
type Options struct {
	Context  context.Context // when it is done, the run ends
	Machine  *machine.Machine
	Data     bool          // whether values are computed
	Threads  int           // threads that compute values
	KeepsLog bool          // whether the whole op log is kept, not only what the values need
	Stall    time.Duration // how long, in wall-clock time, code may run without an operation

	// Misuse returns the error for a mistake in the use of an operation.
	Misuse func(op, text string) error
	// Recovered returns the error for a value that host code has panicked with.
	Recovered func(value any) error
	// Stalled returns the error for code that has run too long at a line: the code of a
	// rank or, if rank is false, a kernel.
	Stalled func(rank bool, line string) error
}

// Scheduler holds the operations of a machine and the ranks that request them.
type Scheduler struct {
	Options
	Values      *exec.Executor // computes the values of the op log; nil if no values are computed
	World       any            // what package dist stores for a set of ranks: the program, or the ranks of a Spawn
	State       any            // what package dist stores for the machine
	Inspections int            // operations inspected to find those that can proceed: the cost of scheduling

	main       *Rank   // the program itself
	ranks      []*Rank // the ranks of Spawn, by number
	current    *Rank   // the rank whose code runs; nil while the machine runs
	stopping   bool    // whether a rank has failed, so that the others are stopped where they wait
	operations operations
	inFlight   int           // operations that have started on the machine and not ended
	lastUse    map[use]int32 // the last launch of the op log, for uses that may be in flight
	awaited    *Operation    // the operation that the program itself waits for
	placements int           // operations placed in streams so far
	culprit    *Operation    // the operation that could not be sent or begun
	timedWaits int           // waits with a timeout that are in progress
	makespan   simtime.Time  // the end of the last operation
	last       sim.Mark      // the activity that ended the last operation, in traces
	timeoutErr error         // the error of a timeout that ended the machine

	working atomic.Pointer[Rank] // the rank whose code runs, for the guard
	lost    atomic.Pointer[lost] // not nil if some code has not returned
	err     error
}

// New returns a scheduler for a new machine.
func New(o Options) *Scheduler {
	s := &Scheduler{Options: o, lastUse: map[use]int32{}}
	s.main = s.newRank(0)
	s.current = s.main
	s.operations.s = s
	s.operations.target = o.Machine.Engine.Register(&s.operations)
	if o.Data {
		s.startExecutor()
	}
	return s
}

// startExecutor makes an executor that computes the values of the op log from its start.
func (s *Scheduler) startExecutor() {
	m := s.Machine
	s.Values = exec.New(m.Log, func(space oplog.Space) *memory.Store {
		return &m.Memory(space).Store
	}, s.Threads)
	s.Values.Poll = func() error { // computing may take long, inside a kernel that reads a value
		m.Engine.Beat()
		return context.Cause(s.Context)
	}
	m.Data = s.Values
}

// longLog is the number of operations after which an op log that is not kept is cleared, so
// that a long program needs no more memory than a short one.
const longLog = 1 << 16

// Main returns the rank of the program itself.
func (s *Scheduler) Main() *Rank { return s.main }

// Ranks returns the ranks of Spawn by number, while Spawn runs.
func (s *Scheduler) Ranks() []*Rank { return s.ranks }

// Current returns the rank whose code runs, or nil while the machine runs.
func (s *Scheduler) Current() *Rank { return s.current }

// Stopping reports whether a rank of Spawn has failed. Operations that other ranks request
// then never begin.
func (s *Scheduler) Stopping() bool { return s.stopping }

// Lost reports whether code of the machine has not returned, so that the machine cannot be
// used.
func (s *Scheduler) Lost() bool { return s.lost.Load() != nil }

// Now returns the simulated time.
func (s *Scheduler) Now() simtime.Time { return s.Machine.Engine.Now() }

// Err returns the error that ended the machine, or nil while the machine can be used.
func (s *Scheduler) Err() error {
	if l := s.lost.Load(); l != nil {
		return l.err
	}
	return s.err
}

// Begin checks that the rank may request the operation called name.
func (r *Rank) Begin(name string) error {
	if l := r.lost.Load(); l != nil {
		return fmt.Errorf("%s: the machine has ended before: %w", name, l.err)
	}
	switch current := r.current; {
	case current == nil:
		panic(r.Misuse(name, "called from a kernel, an orchestration, or a goroutine other than the worker's: a kernel has its tl.PE, an orchestration its Builder, and the context belongs to one goroutine at a time"))
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

// ForbidOperations calls f. While f runs, ranks must not request operations: Begin panics.
func (s *Scheduler) ForbidOperations(f func()) {
	defer func(r *Rank) { s.current = r }(s.current)
	s.current = nil
	f()
}

// Close ends what is still running. A kernel in an endless loop of Go code cannot be ended.
func (s *Scheduler) Close() {
	if !s.Lost() {
		s.Machine.Close()
	}
}

// run runs the machine until nothing is left to do, or the operation that the program waits
// for has ended.
func (s *Scheduler) run() error {
	s.current = nil
	err := s.runGuarded()
	if s.Lost() {
		return err
	}
	s.current = s.main
	if err != nil && s.err == nil {
		s.err = err
	}
	return s.err
}

// Flush computes the values of everything that has run so far.
func (s *Scheduler) Flush() error {
	if err := s.Values.Flush(); err != nil && s.err == nil {
		s.err = err
	}
	return s.err
}

// Later calls f at the present instant, after all ranks have done their work of that
// instant.
func (s *Scheduler) Later(f func()) {
	s.operations.later = append(s.operations.later, f)
	s.Machine.Engine.Post(s.Now(), sim.Event{Target: s.operations.target, Kind: evLater, Arg: uint64(s.Machine.Engine.By)})
}

// unwrap returns the *tl.Error that a kernel was stopped with, without the stack, because
// it says itself where that was. It returns any other error unchanged.
func unwrap(err error) error {
	if wrong, ok := errors.AsType[*tl.Error](err); ok {
		return wrong
	}
	return err
}
