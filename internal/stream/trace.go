package stream

import (
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
)

// What happens on the host takes no time of its own: an operation is enqueued, sent or begun
// at the instant of what let the host do so, the end of another operation or the start of the
// program. The engine's present activity, By, is what ended that operation. It is kept here
// where an event or a wait would lose it, so that traces can say what released a launch, a
// command or a copy.

// activity is what traces know of an operation.
type activity struct {
	// Track is the track of the host of an operation that is no program: a copy, or a look.
	Track string
	since simtime.Time // when it began
	by    sim.Mark     // what released it
}

// traceBegin notes that an operation begins now.
func (s *Scheduler) traceBegin(op *Operation) { op.since, op.by = s.Now(), s.Machine.Engine.By }

// traceEnd notes what has ended an operation now: the last activity of a program, the operation
// itself if it is a copy or a look, or else the end of a part of it.
func (s *Scheduler) traceEnd(op *Operation) {
	switch {
	case op.Run != nil:
		s.Machine.Engine.By = op.Run.Last()
	case op.Track != "":
		s.Machine.TraceActivity(machine.Host, op.Track, op.Name, op.since, op.by)
	}
	s.last, s.makespan = s.Machine.Engine.By, s.Now()
}

// traceResume notes what has woken a rank: it acts because of that from now on.
func (s *Scheduler) traceResume(p *sim.Proc) {
	p.Mark = p.Woken
	s.Machine.Engine.By = p.Mark
}

// Makespan returns the end of the last operation so far, and in a run with a trace the
// activity that ended it.
func (s *Scheduler) Makespan() (simtime.Time, sim.Mark) { return s.makespan, s.last }
