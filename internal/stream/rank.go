package stream

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/sim"
)

// Rank is host code with a stream: the program itself, or a function that Spawn runs.
type Rank struct {
	*Scheduler
	Number int
	// Refuse, unless nil, is called before the rank requests an operation, with the
	// operation's name. It panics if the rank must not request the operation.
	Refuse func(name string)
	State  any  // data that package dist stores for the rank
	Over   bool // whether the Spawn of the rank has returned

	stream   Stream
	proc     *sim.Proc  // nil for the program itself
	waits    *Operation // the operation that the rank waits for, or nil
	handles  []*Handle  // handles of operations; all that the rank has not waited for are here
	begun    bool
	returned bool
	fault    error // the error with which this rank failed; nil if another rank failed
}

// newRank returns a rank with the given number and an empty stream.
func (s *Scheduler) newRank(number int) *Rank {
	r := &Rank{Scheduler: s, Number: number}
	r.stream.init()
	return r
}

// String returns "rank 3" for a rank of Spawn, and "the program" for the program itself.
func (r *Rank) String() string {
	if r.proc == nil {
		return "the program"
	}
	return fmt.Sprintf("rank %d", r.Number)
}

// Spawned reports whether r is a rank of Spawn, not the program itself.
func (r *Rank) Spawned() bool { return r.proc != nil }

// Stopped reports whether r was stopped because another rank has failed.
func (r *Rank) Stopped() bool { return r.proc != nil && r.proc.Cancelled() }

// Fault is the error with which a rank failed.
type Fault struct {
	Rank int
	Err  error
}

// Spawn calls `run` for each of n ranks. The calls run concurrently on the simulated clock.
// Spawn waits until all calls have returned and all operations that the ranks requested
// have ended. It returns the faults of the ranks that failed, and the error that ended the
// machine, or nil. A deadlock for which ranks are to blame appears only in the faults.
func (s *Scheduler) Spawn(n int, run func(r *Rank) error) (faults []Fault, err error) {
	own := s.World // the world of the program itself
	s.World, s.ranks = nil, nil
	for number := range n {
		r := s.newRank(number)
		r.proc = s.Machine.Engine.Go(fmt.Sprintf("rank %d", number), func(p *sim.Proc) { r.work(p, run) })
		s.ranks = append(s.ranks, r)
	}
	err = s.run()
	s.Machine.TraceActivity(machine.Host, "waits", "Spawn", s.makespan, s.last)
	if l := s.lost.Load(); l != nil {
		if l.rank != nil {
			return []Fault{{l.rank.Number, err}}, err
		}
		return nil, err
	}
	if err == nil && s.Values != nil {
		err = s.Flush()
	}
	faults, err = s.collectFaults(err)
	s.withdraw(begun)
	for _, r := range s.ranks {
		r.Over = true
	}
	s.stopping, s.World, s.ranks = false, own, nil
	return faults, err
}

// work calls `run`, the code of the rank, in the coroutine p. If `run` fails, work stops
// the other ranks.
func (r *Rank) work(p *sim.Proc, run func(*Rank) error) {
	p.Where = HostLine
	r.begun = true
	r.traceResume(p)
	r.resume(r)
	defer func() {
		r.resume(nil)
		if p.Cancelled() { // ignore panics of the rank's deferred calls
			recover()
			return
		}
		if r.returned {
			return
		}
		r.fault = r.Recovered(recover())
		if r.fault == nil {
			r.fault = errors.New("the worker ended its goroutine")
		}
		r.abort()
	}()
	err := run(r)
	if p.Cancelled() { // the rank's code has recovered the panic that stops it
		return
	}
	if r.fault, r.returned = err, true; err != nil {
		r.abort()
	}
}

// resume records which code runs from now on: the code of rank r, or only the machine if r
// is nil.
func (s *Scheduler) resume(r *Rank) {
	s.current = r
	s.working.Store(r)
}

// park lets the other ranks and the machine run until op has ended. It does not return if
// another rank has failed.
func (r *Rank) park(op *Operation) {
	if r.stopping {
		r.proc.Cancel()
	}
	r.waits = op
	r.resume(nil)
	defer r.resume(r) // also if the rank is stopped while it is parked
	r.proc.Park((*opWait)(op))
	r.traceResume(r.proc)
	r.waits = nil
}

// opWait is an operation that a rank waits for. Its methods describe the wait in reports of
// deadlocks.
type opWait Operation

// String returns the name of the operation and the ranks that have not called it.
func (o *opWait) String() string {
	if len(o.MissingRanks) == 0 {
		return o.Name
	}
	return fmt.Sprintf("%s, which %s not called", o.Name, RanksDo((*Operation)(o).Missing(), "has", "have"))
}

// HeldBy returns the coroutine of a rank that has not called the operation yet and has not
// returned, or nil.
func (o *opWait) HeldBy() *sim.Proc {
	for _, r := range o.MissingRanks {
		if !r.returned {
			return r.proc
		}
	}
	return nil
}

// abort stops all ranks that wait, and removes operations that have not begun. A rank that
// can continue at the present instant is stopped when it waits next.
func (s *Scheduler) abort() {
	running := s.current
	s.stopping = true
	for _, r := range s.ranks {
		if r != running && r.proc != nil && !r.proc.Done() && !r.proc.Running() && !r.runnable() {
			r.proc.Cancel()
		}
	}
	s.resume(running) // unwinding the other ranks has changed the current rank
	s.withdraw(queued)
}

// FailRanks stops all ranks of Spawn except the running one. It records err as the error of
// the ranks with the given numbers.
func (s *Scheduler) FailRanks(numbers []int, err error) {
	for _, number := range numbers {
		s.ranks[number].fault = err
	}
	s.abort()
}

// Cancel ends the code of r, which must be the running rank. It does not return.
func (r *Rank) Cancel() { r.proc.Cancel() }

// runnable reports whether r, which is not running, can continue at the present instant: it
// has not begun, or the operation that it waits for has ended or failed.
func (r *Rank) runnable() bool {
	return !r.begun || r.waits != nil && (r.waits.state == ended || r.waits.failure != nil)
}

// withdraw removes from the streams of the ranks all operations that are in the given state
// or in an earlier one.
func (s *Scheduler) withdraw(state opState) {
	for _, r := range s.ranks {
		for _, op := range slices.Clone(r.stream.ops.ops) {
			if op.state <= state {
				op.timer.Stop()
				s.release(op)
				s.leave(op)
				op.streams = nil // the operation is never tried again
			}
		}
	}
}

// collectFaults returns the faults of a Spawn. `end` is the error that ended the machine,
// or nil. There are three cases:
//
//   - If ranks or their kernels failed, the faults are the errors of these ranks, and err
//     is `end`.
//   - If none failed and `end` is an error other than a deadlock, there are no faults, and
//     err is `end`.
//   - Otherwise the faults are those of the ranks that blameStuck finds, and err is nil.
func (s *Scheduler) collectFaults(end error) (faults []Fault, err error) {
	blame := func(r *Rank, err error) { faults = append(faults, Fault{r.Number, err}) }
	for _, r := range s.ranks {
		err := r.fault
		if err == nil && end != nil {
			err = s.kernelError(r)
		}
		if err != nil {
			blame(r, err)
		}
	}
	if len(faults) > 0 {
		return faults, end
	}
	deadlock, ok := errors.AsType[*sim.Deadlock](end)
	if end != nil && !ok {
		return nil, end
	}
	s.blameStuck(blame, deadlock)
	slices.SortFunc(faults, func(a, b Fault) int { return a.Rank - b.Rank })
	return faults, nil
}
