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
	Context context.Context // when it is done, the run ends
	Machine *machine.Machine
	Data    bool          // whether values are computed
	Threads int           // number of threads that compute values
	Stall   time.Duration // how long, in wall-clock time, a rank or kernel may run without requesting an operation

	// Misuse returns the error for a mistake in the use of the operation op; text describes
	// the mistake.
	Misuse func(op, text string) error
	// Recovered returns the error for the value with which host code has panicked.
	Recovered func(value any) error
	// Stalled returns the error for code that has run too long at the given line. The code is
	// that of a rank or, if rank is false, a kernel.
	Stalled func(rank bool, line string) error
}

// Scheduler holds the operations of a machine and the ranks that request the operations.
type Scheduler struct {
	Options
	Values      *exec.Executor // computes the values of the op log; nil if no values are computed
	World       any            // data that package dist stores for a set of ranks: for the program itself, or for the ranks of a Spawn
	State       any            // data that package dist stores for the machine
	Inspections int            // number of operations inspected to find the ones that can proceed: the cost of scheduling

	main       *Rank   // the program itself
	ranks      []*Rank // the ranks of Spawn, by number
	current    *Rank   // the rank whose code runs; nil while the machine runs
	stopping   bool    // whether a rank has failed, so that the other ranks are stopped where they wait
	operations operations
	inFlight   int           // number of operations that have started on the machine and not ended
	lastUse    map[use]int32 // the number of the last launch in the op log for each use that may be in flight
	awaited    *Operation    // the operation that the program itself waits for
	placements int           // number of operations placed in streams so far
	culprit    *Operation    // the operation that could not be sent or begun
	timedWaits int           // number of waits with a timeout that are in progress
	makespan   simtime.Time  // the end of the last operation
	last       sim.Mark      // the activity that ended the last operation, in traces
	timeoutErr error         // the error of a timeout that ended the machine

	working atomic.Pointer[Rank] // the rank whose code runs, for the guard
	lost    atomic.Pointer[lost] // not nil if the machine was abandoned
	err     error
}

// New returns a scheduler. The machine in the options must be a new one.
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

// startExecutor sets s.Values to a new executor, which computes the values of the op log
// from the start of the log.
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

// Main returns the rank that stands for the program itself.
func (s *Scheduler) Main() *Rank { return s.main }

// Ranks returns the ranks of Spawn in the order of their numbers, or nil if Spawn does not
// run.
func (s *Scheduler) Ranks() []*Rank { return s.ranks }

// Current returns the rank whose code runs, or nil while the machine runs.
func (s *Scheduler) Current() *Rank { return s.current }

// Stopping reports whether a rank of Spawn has failed. Operations that ranks request
// afterwards never begin.
func (s *Scheduler) Stopping() bool { return s.stopping }

// Lost reports whether the machine was abandoned because code that runs on it did not
// return in time. Such a machine cannot be used.
func (s *Scheduler) Lost() bool { return s.lost.Load() != nil }

// Now returns the present simulated time.
func (s *Scheduler) Now() simtime.Time { return s.Machine.Engine.Now() }

// Err returns the error that ended the machine, or nil while the machine can be used.
func (s *Scheduler) Err() error {
	if l := s.lost.Load(); l != nil {
		return l.err
	}
	return s.err
}

// Begin checks that r may request the operation with the given name. It returns an error if
// the machine has ended or r was stopped. It panics if code other than that of r calls
// Begin.
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

// ForbidOperations calls f. If a rank requests an operation while f runs, Begin panics.
func (s *Scheduler) ForbidOperations(f func()) {
	defer func(r *Rank) { s.current = r }(s.current)
	s.current = nil
	f()
}

// Close ends all kernels and ranks that still run, and the computation of values. It cannot
// end an endless loop of Go code.
func (s *Scheduler) Close() {
	if s.Lost() {
		return
	}
	s.Machine.Close()
	if s.Values != nil {
		s.Values.Stop()
	}
}

// run runs the machine until no event is left, or until the operation that the program
// itself waits for has ended.
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

// Flush computes the values of all operations that have run so far.
func (s *Scheduler) Flush() error {
	if err := s.Values.Flush(); err != nil && s.err == nil {
		s.err = err
	}
	return s.err
}

// Later calls f at the present simulated time, after all ranks have run at this time.
func (s *Scheduler) Later(f func()) {
	s.operations.later = append(s.operations.later, f)
	s.Machine.Engine.Post(s.Now(), sim.Event{Target: s.operations.target, Kind: evLater, Arg: uint64(s.Machine.Engine.By)})
}

// unwrap returns the *tl.Error in err if there is one, and otherwise err itself. A
// *tl.Error is the error of a kernel. It already names the source line, so that the stack
// is not needed.
func unwrap(err error) error {
	if wrong, ok := errors.AsType[*tl.Error](err); ok {
		return wrong
	}
	return err
}
