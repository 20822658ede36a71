package cpu

import (
	"cmp"

	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/internal/trace"
	"github.com/kernbench/kernbench/simtime"
)

// cpuTrace is what the CPU of a PE does: a segment, an activity in which it does not wait,
// or nothing.
type cpuTrace struct {
	mark, after sim.Mark // the segment, and who released it
	start       simtime.Time
	last        sim.Mark     // what ended its last kernel,
	ended       simtime.Time // and when
	idle        sim.Mark     // of a worker: the wait for its next kernel
}

// runs begins a segment, released by an activity: what the CPU does from now on is of it.
func (c *Core) runs(after sim.Mark) {
	if c.trace == nil {
		return
	}
	c.cpu.mark, c.cpu.after, c.cpu.start = c.trace.Mark(), after, c.now
	c.proc.Mark, c.eng.By = c.cpu.mark, c.cpu.mark
}

// stops ends the segment at an instant.
func (c *Core) stops(at simtime.Time) {
	s := trace.Slice{Name: "run", Start: c.cpu.start, End: at, ID: c.cpu.mark, After: c.cpu.after}
	c.first(&s)
	c.trace.CPU.Slice(s)
}

// first says of an activity that nothing released but the launch which one that is.
func (c *Core) first(s *trace.Slice) {
	if s.After == 0 {
		s.Args = []trace.Arg{trace.Number("launch", c.launch.Trace)}
	}
}

// waitedFor notes that the CPU has waited for something since an instant, and goes on
// because of an activity.
func (c *Core) waitedFor(what string, since simtime.Time, by sim.Mark) {
	if c.trace == nil || c.now == since {
		return
	}
	c.stops(since)
	c.trace.CPU.Slice(trace.Slice{Name: "wait: " + what, Start: since, End: c.now})
	c.runs(by)
}

// drained notes that the kernel has ended, with all that it had begun, and has waited for
// that since an instant.
func (c *Core) drained(since simtime.Time) {
	if c.trace == nil {
		return
	}
	now := c.eng.Now()
	c.stops(since)
	c.cpu.ended, c.cpu.last = now, c.cpu.mark
	if now == since {
		return
	}
	c.trace.CPU.Slice(trace.Slice{Name: "wait: end", Start: since, End: now})
	if c.cpu.last = c.pe.Pipeline.LastActivity(now); c.cpu.last == 0 {
		c.cpu.last = c.proc.Woken
	}
}

// Rests records that a worker has no kernel to run from now on. What it does before it waits
// happens because of its last kernel, or else because of the wait, which begins with the
// launch.
func (c *Core) Rests() {
	if c.trace == nil {
		return
	}
	c.cpu.idle = c.trace.Mark()
	c.proc.Mark = cmp.Or(c.cpu.last, c.cpu.idle)
	c.eng.By = c.proc.Mark
}

// Idled records that a worker had no kernel to run since its last one, or the start, and the
// activity that ended that, if there is one.
func (c *Core) Idled(by sim.Mark) {
	if c.trace == nil {
		return
	}
	s := trace.Slice{Name: "wait: task", Start: c.cpu.ended, End: c.eng.Now(), ID: c.cpu.idle, After: c.cpu.last}
	c.first(&s)
	c.trace.CPU.Slice(s)
	c.cpu.ended, c.cpu.last = c.eng.Now(), cmp.Or(by, c.cpu.idle)
}

// Last returns the activity that ended the last kernel, in a run with a trace.
func (c *Core) Last() sim.Mark { return c.cpu.last }
