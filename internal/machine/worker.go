package machine

import (
	"fmt"

	"github.com/kernbench/kernbench/internal/cpu"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
)

// Worker is a PE of a launch that runs kernels one after another (Program.Serve). Between
// kernels it waits until Wake is called. Its methods may be called only from Serve, outside
// of kernels, except Wake, Rank and PE.
type Worker struct {
	core    *cpu.Core
	proc    *sim.Proc
	run     *Run
	pe      *PE
	rank    int
	name    string   // the current or latest kernel
	idle    idleWait // what Wait waits for
	woken   sim.Mark // the activity that ended its wait, in a trace
	waiting bool     // it is in Wait and has not been woken
}

// Rank returns the worker's rank among the targets of the launch.
func (w *Worker) Rank() int { return w.rank }

// PE returns the PE of the worker.
func (w *Worker) PE() *PE { return w.pe }

// Now returns the current time.
func (w *Worker) Now() simtime.Time { return w.proc.Now() }

// Wait waits until Wake is called. A worker in Wait is idle: the report of a deadlock
// leaves it out if any process is not idle. `on` says what the worker waits for.
func (w *Worker) Wait(on fmt.Stringer) {
	w.idle, w.waiting = idleWait{on}, true
	for w.waiting {
		w.proc.Park(&w.idle)
	}
}

// Wake ends the Wait of the worker as soon as the current event has been handled. It does
// nothing if the worker is not in Wait.
func (w *Worker) Wake() {
	if w.waiting {
		w.waiting = false
		w.woken = w.run.machine.Engine.By
		w.proc.Wake()
	}
}

// SleepUntil waits until time t.
func (w *Worker) SleepUntil(t simtime.Time) { w.proc.SleepUntil(t) }

// Run runs a kernel from now until everything that the kernel has started has ended. The
// kernel takes as long as in a launch by itself. `body` runs the kernel and may use m until
// it returns. `name` is the name of the kernel in errors and in reports of deadlocks.
func (w *Worker) Run(name string, body func(m tl.Machine)) {
	w.name = name
	w.recordIdle()
	w.core.Run(name, body)
	w.core.BeginIdle()
}

// recordIdle records in the trace that the worker was idle until now, and which activity
// woke it.
func (w *Worker) recordIdle() {
	w.core.EndIdle(w.woken)
	w.woken = 0
}

// displayName returns the name of the worker in reports, as kernel@PE.
func (w *Worker) displayName() string { return w.name + "@" + w.pe.String() }

// Begin records in the op log that a task begins. It returns the number of the log entry,
// or 0 if no op log is kept. `number` is the number of the task at its rank. `after` lists
// the TaskEnds that precede the task, and `cause` is the TaskEnd that released it. The log
// keeps the slice `after`, so the caller must not change it. Members of a task group may
// use the same slice.
func (w *Worker) Begin(name string, number int, after []oplog.Operand, cause oplog.ID) oplog.ID {
	log := w.run.machine.Log
	if !log.Kept() {
		return 0
	}
	op := w.newTaskOp(oplog.TaskBegin, number)
	op.Line, op.Cause, op.Args = log.Line(name), cause, after
	return log.Add(op)
}

// End records in the op log that the task of the latest Begin has ended. It returns the
// number of the log entry, or 0 if no op log is kept. `number` is the number that was
// passed to Begin. Everything that the kernels of the task started must have ended.
func (w *Worker) End(number int) oplog.ID {
	if !w.run.machine.Log.Kept() {
		return 0
	}
	return w.run.machine.Log.Add(w.newTaskOp(oplog.TaskEnd, number))
}

// newTaskOp returns an op log entry for the begin or the end of a task.
func (w *Worker) newTaskOp(kind oplog.Kind, number int) oplog.Op {
	now := w.Now()
	return oplog.Op{
		Kind: kind, PE: int32(w.pe.ID), Launch: w.run.cpus.Log, Peer: int32(number), Port: -1,
		Issue: now, Start: now, End: now,
	}
}

// idleWait describes the wait of a worker without work, in reports of deadlocks.
type idleWait struct{ fmt.Stringer }

// Idle implements sim.Idler. It returns true, because a worker in Wait has no work.
func (*idleWait) Idle() bool { return true }
