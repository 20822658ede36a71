package machine

import (
	"fmt"

	"github.com/kernbench/kernbench/internal/cpu"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
)

// Worker is a PE of a launch that runs kernels one after another, and waits in between
// for somebody to tell it which (Program.Serve). Its methods may be called only from
// Serve, outside of kernels, except Wake, Rank and PE.
type Worker struct {
	core    *cpu.Core
	proc    *sim.Proc
	run     *Run
	pe      *PE
	rank    int
	name    string // of the kernel that it runs, or has run last
	idle    idleWait
	woken   sim.Mark // the activity that ended its wait, in a run with a trace
	waiting bool     // in Wait, and not woken yet
}

// Rank returns the worker's rank among the targets of the launch.
func (w *Worker) Rank() int { return w.rank }

// PE returns the PE that runs its kernels.
func (w *Worker) PE() *PE { return w.pe }

// Now returns the present instant.
func (w *Worker) Now() simtime.Time { return w.proc.Now() }

// Wait waits for Wake. on says what for, if nothing else could explain why the run
// ends: a worker that waits is idle, and not to blame for a deadlock.
func (w *Worker) Wait(on fmt.Stringer) {
	w.idle, w.waiting = idleWait{on}, true
	for w.waiting {
		w.proc.Park(&w.idle)
	}
}

// Wake ends Wait, as soon as the present event is over. It does nothing to a worker
// that does not wait.
func (w *Worker) Wake() {
	if w.waiting {
		w.waiting = false
		w.woken = w.run.machine.Engine.By
		w.proc.Wake()
	}
}

// SleepUntil waits for the instant t.
func (w *Worker) SleepUntil(t simtime.Time) { w.proc.SleepUntil(t) }

// Run runs a kernel, from the present instant to the end of everything that it starts.
// It takes as long as the kernel would in a launch of its own. The machine is the
// kernel's until it returns; name is that in its errors, and in reports of deadlocks.
func (w *Worker) Run(name string, body func(m tl.Machine)) {
	w.name = name
	w.recordIdle()
	w.core.Run(name, body)
	w.core.Rests()
}

// recordIdle records the wait for this kernel, or for the end, and what ended it.
func (w *Worker) recordIdle() {
	w.core.Idled(w.woken)
	w.woken = 0
}

// displayName returns the name of the worker in reports: its kernel and its PE.
func (w *Worker) displayName() string { return w.name + "@" + w.pe.String() }

// Begin notes in the op log, if one is kept, that a task begins: which one of its rank,
// and after which TaskEnds, of which cause released it. The list is the log's from then on,
// and members of a group may share one.
func (w *Worker) Begin(name string, number int, after []oplog.Operand, cause oplog.ID) oplog.ID {
	log := w.run.machine.Log
	if log == nil {
		return 0
	}
	op := w.newTaskOp(oplog.TaskBegin, number)
	op.Line, op.Cause, op.Args = log.Line(name), cause, after
	return log.Add(op)
}

// End notes that the task which Begin has noted last has ended, with all that its
// kernels started.
func (w *Worker) End(number int) oplog.ID {
	if w.run.machine.Log == nil {
		return 0
	}
	return w.run.machine.Log.Add(w.newTaskOp(oplog.TaskEnd, number))
}

// newTaskOp returns the record of a newTaskOp's beginning or end.
func (w *Worker) newTaskOp(kind oplog.Kind, number int) oplog.Op {
	now := w.Now()
	return oplog.Op{
		Kind: kind, PE: int32(w.pe.ID), Launch: w.run.cpus.Log, Peer: int32(number), Port: -1,
		Issue: now, Start: now, End: now,
	}
}

// idleWait is what a worker waits for that has nothing to do.
type idleWait struct{ fmt.Stringer }

// Idle is true: see sim.Idler.
func (*idleWait) Idle() bool { return true }
