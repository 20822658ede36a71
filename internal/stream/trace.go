package stream

import (
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
)

// Actions of the host take no simulated time. An operation is enqueued, sent or begun at
// the instant of the event that allowed it: the end of another operation, or the start of
// the program. Engine.By is the activity that ended that operation. The functions of this
// file save this activity where an event or a wait would lose it, so that traces can say
// which activity released a launch, a command or a copy.

// activity holds the fields of an Operation that only traces use.
type activity struct {
	// Track is the name of the host's track for an operation that is not a program: a copy
	// or a wait. It is "" for a program.
	Track string
	since simtime.Time // when the operation began
	by    sim.Mark     // the activity that released the operation
}

// traceBegin records in op that it begins now, and which activity released it.
func (s *Scheduler) traceBegin(op *Operation) { op.since, op.by = s.Now(), s.Machine.Engine.By }

// traceEnd records which activity ends op now. If op is a program, this is the last
// activity of the program. If op has a track, this is op itself. In all other cases, this
// is the activity that ended a part of op.
func (s *Scheduler) traceEnd(op *Operation) {
	switch {
	case op.Run != nil:
		s.Machine.Engine.By = op.Run.Last()
	case op.Track != "":
		s.Machine.TraceActivity(machine.Host, op.Track, op.Name, op.since, op.by)
	}
	s.last, s.makespan = s.Machine.Engine.By, s.Now()
}

// traceResume records the activity that woke the rank with the coroutine p. What the rank
// does next counts as released by this activity.
func (s *Scheduler) traceResume(p *sim.Proc) {
	p.Mark = p.Woken
	s.Machine.Engine.By = p.Mark
}

// Makespan returns the time at which the last operation so far ended. In a run with a
// trace, it also returns the activity that ended this operation.
func (s *Scheduler) Makespan() (simtime.Time, sim.Mark) { return s.makespan, s.last }
