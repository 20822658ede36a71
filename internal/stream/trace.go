package stream

import (
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
)

// Actions of the host take no simulated time. An operation is enqueued, sent or begun at
// the instant of the event that allowed it: the end of another operation, or the start of
// the program. Engine.By is the activity that ended that operation. The functions of this
// file save it where an event or a wait would lose it, so that traces can say which
// activity released a launch, a command or a copy.

// activity is the part of an operation that only traces use.
type activity struct {
	// Track is the host's track for an operation that is not a program: a copy, or a wait.
	// "" for programs.
	Track string
	since simtime.Time // when the operation began
	by    sim.Mark     // the activity that released the operation
}

// traceBegin records that an operation begins now.
func (s *Scheduler) traceBegin(op *Operation) { op.since, op.by = s.Now(), s.Machine.Engine.By }

// traceEnd records which activity has ended an operation now: the last activity of a
// program, the operation itself if it has a track, or else the end of a part of the
// operation.
func (s *Scheduler) traceEnd(op *Operation) {
	switch {
	case op.Run != nil:
		s.Machine.Engine.By = op.Run.Last()
	case op.Track != "":
		s.Machine.TraceActivity(machine.Host, op.Track, op.Name, op.since, op.by)
	}
	s.last, s.makespan = s.Machine.Engine.By, s.Now()
}

// traceResume records the activity that has woken a rank, and attributes what the rank does
// next to this activity.
func (s *Scheduler) traceResume(p *sim.Proc) {
	p.Mark = p.Woken
	s.Machine.Engine.By = p.Mark
}

// Makespan returns the end of the last operation so far and, in a run with a trace, the
// activity that ended it.
func (s *Scheduler) Makespan() (simtime.Time, sim.Mark) { return s.makespan, s.last }
