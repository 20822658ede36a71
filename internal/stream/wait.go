package stream

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
)

// Handle represents an operation that a rank may wait for later.
type Handle struct {
	Op     *Operation
	Waited bool // whether the rank has waited for Op, or does not need to
}

// NewHandle returns a handle with which r may wait for op. Synchronize also waits for op.
func (r *Rank) NewHandle(op *Operation) *Handle {
	h := &Handle{Op: op}
	if r.stopping { // the operation never begins
		return h
	}
	if r.handles = append(r.handles, h); len(r.handles)%1024 == 0 {
		r.handles = slices.DeleteFunc(r.handles, func(h *Handle) bool { return h.Waited })
	}
	return h
}

// Await waits until op has ended. Meanwhile, a rank of Spawn lets other ranks run, and the
// program itself runs the machine.
func (r *Rank) Await(op *Operation) error {
	return r.awaitUnless(op, func() bool { return false })
}

// awaitUnless waits until op has ended or failed, the machine has ended, or the function
// `done` returns true. The code that makes `done` return true must also wake the rank or
// pause the machine.
func (r *Rank) awaitUnless(op *Operation, done func() bool) error {
	for op.state != ended && op.failure == nil && r.err == nil && !done() {
		if r.proc != nil {
			op.waiters = append(op.waiters, r.proc)
			r.park(op)
			continue
		}
		r.awaited = op
		err := r.run()
		if r.Lost() {
			return err
		}
		if err == nil && op.state != ended && r.awaited == op && !done() {
			text := "nothing is left that could end it"
			if op.Message {
				text += ": a program without Spawn gives both ends of a message, with P2POp.Rank in BatchISendIRecv"
			}
			r.err = r.Misuse(op.Name, text)
		}
		r.awaited = nil
	}
	if op.state == ended || op.failure != nil || r.err == nil { // or done returned true
		return op.failure
	}
	return r.Reason()
}

// AwaitFor waits until op has ended, but at most for the given simulated time; 0 means no
// limit. The first result reports whether op has ended.
func (r *Rank) AwaitFor(op *Operation, after simtime.Time) (bool, error) {
	if op.state == ended || after == 0 {
		return true, r.Await(op)
	}
	since, by := r.Now(), r.Machine.Engine.By
	expired := false
	timer := r.Machine.Engine.AfterFunc(after, func() {
		r.Machine.TraceActivity(machine.Host, "waits", "timeout of "+op.Name, since, by)
		if expired = true; r.proc != nil {
			r.proc.Wake()
		} else {
			r.Machine.Engine.Pause()
		}
	})
	r.timedWaits++
	defer func() {
		r.timedWaits--
		timer.Stop()
	}()
	err := r.awaitUnless(op, func() bool { return expired })
	return op.state == ended, err
}

// Sleep makes r wait for the simulated time d. `name` is the name of this wait in traces.
func (r *Rank) Sleep(name string, d simtime.Time) error {
	pause := NewRead(name)
	pause.Track = "waits"
	pause.Begin = func(done sim.Event) error {
		pause.left++
		r.Machine.Engine.Post(r.Now()+d, done)
		return nil
	}
	r.Enqueue(pause)
	return r.Await(pause)
}

// Synchronize waits until all operations that r has requested have ended, and computes
// their values.
func (r *Rank) Synchronize() error {
	if err := r.Begin("Synchronize"); err != nil {
		return err
	}
	pending := &r.stream.ops
	for len(pending.ops) > 0 {
		if err := r.Await(pending.ops[len(pending.ops)-1]); err != nil {
			return err
		}
	}
	for _, h := range r.handles {
		h.Waited = true
	}
	r.handles = nil
	if r.Values != nil {
		return r.Flush()
	}
	return r.err
}

// Reason returns the error that ended the machine, with the name of the operation that
// failed. Ranks that wait for an operation get this error.
func (s *Scheduler) Reason() error {
	// The error of a timeout names its operation.
	if op := s.failedOperation(); op != nil && (s.timeoutErr == nil || !errors.Is(s.err, s.timeoutErr)) {
		return fmt.Errorf("%s: %w", op.Name, unwrap(s.err))
	}
	return unwrap(s.err)
}

// kernelError returns the error of a failed kernel of rank r, or nil. The kernel was
// launched by r or is part of a collective of r.
func (s *Scheduler) kernelError(r *Rank) error {
	if op := s.failedOperation(); op != nil && op.In(r) {
		return s.Reason()
	}
	for _, op := range s.operations.all { // kernels that failed at the same instant as the first one
		if op != nil && op.Run != nil && op.Run.Err() != nil && op.In(r) {
			return fmt.Errorf("%s: %w", op.Name, unwrap(op.Run.Err()))
		}
	}
	return nil
}

// failedOperation returns the operation that ended the machine: one that failed, or else
// the only operation in flight, if it is a program and the context has not ended. It
// returns nil if there is no such operation.
func (s *Scheduler) failedOperation() *Operation {
	if s.culprit != nil {
		return s.culprit
	}
	var running []*Operation
	for _, op := range s.operations.all {
		if op == nil || op.state != begun {
			continue
		}
		if op.Run != nil && op.Run.Failed() && (op.Run.Err() == nil || op.Run.Err() == s.err) {
			return op
		}
		running = append(running, op)
	}
	if len(running) == 1 && running[0].Run != nil && s.Context.Err() == nil {
		return running[0]
	}
	return nil
}

// Missing returns the numbers of the ranks that have not called op, sorted.
func (op *Operation) Missing() (ranks []int) {
	for _, r := range op.MissingRanks {
		ranks = append(ranks, r.Number)
	}
	slices.Sort(ranks)
	return ranks
}

// Limit stops the program if op has not ended within the simulated time `after`; 0 means no
// limit. The ranks that have called op get the error that `timeoutErr` returns. There are
// two exceptions. If some ranks can never continue, only these ranks get errors. If kernels
// are in a deadlock, the machine reports the deadlock. A second Limit of op does nothing.
func (s *Scheduler) Limit(op *Operation, after simtime.Time, timeoutErr func() error) {
	if after == 0 || op.timer != nil {
		return
	}
	op.timer = s.Machine.Engine.AfterFunc(after, func() {
		if s.stopping {
			return
		}
		err := timeoutErr()
		// If true, kernels are in a deadlock. The machine reports the deadlock, unless
		// ranks are to blame.
		deadlock := s.Machine.Engine.Idle() && s.timedWaits == 0
		if len(s.ranks) == 0 {
			if !deadlock {
				s.timeoutErr = err
				s.Machine.Engine.Stop(err)
			}
			return
		}
		found := false // whether there are ranks that can never continue
		s.blameStuck(func(r *Rank, err error) { found, r.fault = true, err }, nil)
		if !found && deadlock && slices.ContainsFunc(s.ranks, (*Rank).busy) {
			return
		}
		for _, r := range s.ranks {
			if !found && slices.Contains(op.callerStreams(), &r.stream) {
				r.fault = err
			}
		}
		s.abort()
	})
}

// GiveUp makes op, which at least one rank has not called, fail with err. All ranks that
// have called op, or call it later, get err.
func (s *Scheduler) GiveUp(op *Operation, err error) {
	op.failure = err
	dependents := op.dependents
	s.leave(op)
	op.streams = nil // the operation is never tried again
	for _, next := range dependents {
		s.Advance(next)
	}
	for _, p := range op.waiters {
		p.Wake()
	}
}
