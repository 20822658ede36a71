package stream

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/sim"
)

// Rank is host code with a stream: the program itself, or one of those that Spawn runs.
type Rank struct {
	*Scheduler
	Number int
	// Refuse, if it is set, is called before the rank asks for an operation of a name, and
	// panics if it may not.
	Refuse func(name string)
	State  any  // that package dist keeps of the rank
	Over   bool // its Spawn has returned

	stream   Stream
	proc     *sim.Proc // nil for the program itself
	waits    *Operation
	handles  []*Handle // that it may not have waited for
	begun    bool
	returned bool
	fault    error // of its own account
}

// newRank returns a rank with an empty stream.
func (s *Scheduler) newRank(number int) *Rank {
	r := &Rank{Scheduler: s, Number: number}
	r.stream.init()
	return r
}

// String names the rank: "rank 3", or "the program" outside of Spawn.
func (r *Rank) String() string {
	if r.proc == nil {
		return "the program"
	}
	return fmt.Sprintf("rank %d", r.Number)
}

// Spawned reports whether the rank is one of Spawn.
func (r *Rank) Spawned() bool { return r.proc != nil }

// Stopped reports whether the rank was stopped because another one has failed.
func (r *Rank) Stopped() bool { return r.proc != nil && r.proc.Cancelled() }

// Fault is the failure of a rank.
type Fault struct {
	Rank int
	Err  error
}

// Spawn runs a function for each of n ranks, side by side on the simulated clock, and waits
// for all of them and everything they asked for. If some ranks failed it returns these, and
// otherwise the error that ended the machine.
func (s *Scheduler) Spawn(n int, run func(r *Rank) error) (faults []Fault, err error) {
	own := s.World // of the program itself
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
	faults, err = s.verdict(err)
	s.withdraw(begun)
	for _, r := range s.ranks {
		r.Over = true
	}
	s.stopping, s.World, s.ranks = false, own, nil
	return faults, err
}

// work runs the code of a rank. Its failure stops the others.
func (r *Rank) work(p *sim.Proc, run func(*Rank) error) {
	p.Where = HostLine
	r.begun = true
	r.traceResume(p)
	r.resume(r)
	defer func() {
		r.resume(nil)
		if p.Cancelled() { // what its deferred calls make of that does not matter
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
	if p.Cancelled() { // something has caught the panic that stops a rank
		return
	}
	if r.fault, r.returned = err, true; err != nil {
		r.abort()
	}
}

// resume notes whose code runs from now on: that of a rank, or of the machine.
func (s *Scheduler) resume(r *Rank) {
	s.current = r
	s.working.Store(r)
}

// park lets the others go on until an operation has ended. It does not return if another
// rank has failed.
func (r *Rank) park(op *Operation) {
	if r.stopping {
		r.proc.Cancel()
	}
	r.waits = op
	r.resume(nil)
	defer r.resume(r) // also to be stopped there
	r.proc.Park((*opWait)(op))
	r.traceResume(r.proc)
	r.waits = nil
}

// opWait is what a rank waits for, in reports of deadlocks.
type opWait Operation

func (o *opWait) String() string {
	if len(o.Forming) == 0 {
		return o.Name
	}
	return fmt.Sprintf("%s, which %s not called", o.Name, RanksDo((*Operation)(o).Missing(), "has", "have"))
}

// HeldBy returns a rank that has to do something first.
func (o *opWait) HeldBy() *sim.Proc {
	for _, r := range o.Forming {
		if !r.returned {
			return r.proc
		}
	}
	return nil
}

// abort stops all ranks that wait and takes back what has not begun. Ranks that can go on at
// the present instant are stopped when they next wait.
func (s *Scheduler) abort() {
	running := s.current
	s.stopping = true
	for _, r := range s.ranks {
		if r != running && r.proc != nil && !r.proc.Done() && !r.proc.Running() && !r.runnable() {
			r.proc.Cancel()
		}
	}
	s.resume(running) // while the others were unwound, it was theirs
	s.withdraw(queued)
}

// Condemn ends all ranks of Spawn, other than the one that runs, on account of some of them.
func (s *Scheduler) Condemn(numbers []int, err error) {
	for _, number := range numbers {
		s.ranks[number].fault = err
	}
	s.abort()
}

// Cancel ends the code of the rank, which runs. It does not return.
func (r *Rank) Cancel() { r.proc.Cancel() }

// runnable reports whether a rank that is not running can go on at the present instant: it
// has yet to begin, or what it waited for has ended or failed.
func (r *Rank) runnable() bool {
	return !r.begun || r.waits != nil && (r.waits.state == ended || r.waits.failure != nil)
}

// withdraw takes operations that have come no further than a state out of the ranks' streams.
func (s *Scheduler) withdraw(state opState) {
	for _, r := range s.ranks {
		for _, op := range slices.Clone(r.stream.ops.ops) {
			if op.state <= state {
				op.timer.Stop()
				s.release(op)
				s.leave(op)
				op.streams = nil // it is never tried again
			}
		}
	}
}

// verdict returns the faults of a Spawn: who failed and whose kernels did, or else who
// returned while others wait for it, or who wait for each other. Without one it returns the
// error that ended the machine.
func (s *Scheduler) verdict(end error) (faults []Fault, err error) {
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
	stuck, ok := errors.AsType[*sim.Deadlock](end)
	if end != nil && !ok {
		return nil, end
	}
	s.stuck(blame, stuck)
	slices.SortFunc(faults, func(a, b Fault) int { return a.Rank - b.Rank })
	return faults, nil
}
