package cpu

import (
	"cmp"

	"github.com/kernbench/kernbench/internal/ipcq"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/internal/trace"
	"github.com/kernbench/kernbench/simtime"
)

// cpuTrace is the state of a CPU in the trace. While a kernel runs, the trace alternates
// between runs, which are activities, and waits.
type cpuTrace struct {
	mark, after sim.Mark     // the current run, and the activity that released it
	start       simtime.Time // of the current run
	last        sim.Mark     // the activity that ended the last kernel, or the wait of a worker
	ended       simtime.Time // when that was
	idle        sim.Mark     // a worker's wait for its next kernel
	credit      sim.Mark     // the activity that allows the current send to start; 0 is the current run
}

// beginRun begins a run of the CPU in the trace. The activity `after` released the run. The
// run releases everything that the CPU causes from now on.
func (c *Core) beginRun(after sim.Mark) {
	if c.trace == nil {
		return
	}
	c.cpu.mark, c.cpu.after, c.cpu.start = c.trace.Mark(), after, c.now
	c.proc.Mark, c.eng.By = c.cpu.mark, c.cpu.mark
}

// endRun ends the current run of the CPU at an instant and records the run in the trace.
func (c *Core) endRun(at simtime.Time) {
	s := trace.Slice{Name: "run", Start: c.cpu.start, End: at, ID: c.cpu.mark, After: c.cpu.after}
	c.addLaunch(&s)
	c.trace.CPU.Slice(s)
}

// addLaunch adds the number of the launch as an argument to s, if no other activity
// released s.
func (c *Core) addLaunch(s *trace.Slice) {
	if s.After == 0 {
		s.Args = []trace.Arg{trace.Number("launch", c.launch.Trace)}
	}
}

// traceWait records in the trace a wait of the CPU from the time `since` until now. `what`
// names the awaited thing, such as "message". `by` is the activity that ended the wait; it
// releases the next run of the CPU.
func (c *Core) traceWait(what string, since simtime.Time, by sim.Mark) {
	if c.trace == nil || c.now == since {
		return
	}
	c.endRun(since)
	c.trace.CPU.Slice(trace.Slice{Name: "wait: " + what, Start: since, End: c.now})
	c.beginRun(by)
}

// traceCredit records for the trace which activity allows a send to start that takes its first
// credit at the time `first` and its last at the time `last`: the current run of the CPU unless
// it begins only then. The Send was called at the time `began`.
func (c *Core) traceCredit(ring *ipcq.Ring, began, first, last simtime.Time) {
	if c.trace == nil {
		return
	}
	switch c.cpu.credit = 0; {
	case first == last:
	case first > began:
		c.cpu.credit = ring.FirstCreditBy()
	default:
		c.cpu.credit = c.cpu.mark
	}
}

// traceEnd records in the trace that the kernel and everything that it started have ended.
// The CPU has waited for this end since the given instant.
func (c *Core) traceEnd(since simtime.Time) {
	if c.trace == nil {
		return
	}
	now := c.eng.Now()
	c.endRun(since)
	c.cpu.ended, c.cpu.last = now, c.cpu.mark
	if now == since {
		return
	}
	c.trace.CPU.Slice(trace.Slice{Name: "wait: end", Start: since, End: now})
	if c.cpu.last = c.pe.Pipeline.LastActivity(now); c.cpu.last == 0 {
		c.cpu.last = c.proc.Woken
	}
}

// BeginIdle records in the trace that a worker has no kernel to run from now on. Activities
// of the worker before its next kernel are released by its last kernel. Before the first
// kernel, they are released by the wait itself, which begins with the launch.
func (c *Core) BeginIdle() {
	if c.trace == nil {
		return
	}
	c.cpu.idle = c.trace.Mark()
	c.proc.Mark = cmp.Or(c.cpu.last, c.cpu.idle)
	c.eng.By = c.proc.Mark
}

// EndIdle records that a worker had no kernel to run from the end of its last kernel, or
// from the start of the launch, until now. `by` is the activity that ended the wait; 0 if
// there is none.
func (c *Core) EndIdle(by sim.Mark) {
	if c.trace == nil {
		return
	}
	s := trace.Slice{Name: "wait: task", Start: c.cpu.ended, End: c.eng.Now(), ID: c.cpu.idle, After: c.cpu.last}
	c.addLaunch(&s)
	c.trace.CPU.Slice(s)
	c.cpu.ended, c.cpu.last = c.eng.Now(), cmp.Or(by, c.cpu.idle)
}

// Last returns the activity that ended the last kernel or, if the core has been idle since
// then, the activity that ended the idle time. It returns 0 in a run without a trace.
func (c *Core) Last() sim.Mark { return c.cpu.last }
