package torch

import (
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/sim"
)

// What happens on the host takes no time of its own: an operation is enqueued, sent or begun
// at the instant of what let the host do so, the end of another operation or the start of the
// program. The engine's present activity, By, is what ended that operation. It is kept here
// where an event or a wait would lose it, so that traces can say what released a launch, a
// command or a copy.

// activity is what traces know of an operation.
type activity struct {
	track string   // of the host, for an operation that is no program: a copy, or a look
	since Time     // when it began
	by    sim.Mark // what released it
}

// traceBegin notes that the operation begins now.
func (c *Context) traceBegin(op *operation) { op.since, op.by = c.Now(), c.m.Engine.By }

// traceEnd notes what has ended an operation now: the last activity of a program, the operation
// itself if it is a copy or a look, or else the end of a part of it.
func (c *Context) traceEnd(op *operation) {
	switch {
	case op.run != nil:
		c.m.Engine.By = op.run.Last()
	case op.track != "":
		c.m.Did(machine.Host, op.track, op.name, op.since, op.by)
	}
	c.ended, c.makespan = c.m.Engine.By, c.Now()
}

// traceResume notes what has woken a worker: it acts because of that from now on.
func (c *Context) traceResume(p *sim.Proc) {
	p.Mark = p.Woken
	c.m.Engine.By = p.Mark
}
