package machine

import (
	"fmt"

	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
)

// op begins the record of an operation that the kernel asks for now.
func (c *core) op(kind oplog.Kind) oplog.Op {
	op := oplog.Op{Kind: kind, PE: int32(c.pe.ID), Launch: c.run.log, Issue: c.now, Peer: -1, Port: -1}
	if c.m.lines {
		op.Line = c.m.Log.Line(c.m.callers.Line())
	}
	return op
}

// access is the record of a read or a write of the core's pieces.
func (c *core) access(kind oplog.Kind, b *tl.Block, peer int) oplog.Op {
	op := c.op(kind)
	op.Shape, op.DType, op.Fill = b.Shape, b.DType, b.Fill
	if b.Valid != b.Shape {
		op.Box = b.Valid
	}
	if peer >= 0 {
		op.Peer = int32(c.run.ranks[peer])
	}
	op.Mem = accesses(c.pieces)
	return op
}

// operand is a tile as an operand of another operation.
func operand(v *tl.Value) oplog.Operand {
	return oplog.Operand{From: v.ID, Shape: v.Shape, DType: v.DType}
}

// begun notes that an operation starts to read memory, ended that it has written
// it.
func (m *Machine) begun(id oplog.ID) {
	if id == 0 {
		return
	}
	op := m.Log.Op(id)
	op.Start = m.Engine.Now()
	m.causedByOperand(op)
	if reads[op.Kind] {
		m.Log.Effect(id, oplog.Read)
	}
}

func (m *Machine) ended(id oplog.ID) {
	if id == 0 {
		return
	}
	op := m.Log.Op(id)
	op.End = m.Engine.Now()
	switch {
	case op.Kind.IsComposite():
		// It reads its operands tile by tile, each when what came before that is
		// done. What comes after waits for its end: then it has read them all.
		m.Log.Effect(id, oplog.Read)
		m.Log.Effect(id, oplog.Write)
	case writes[op.Kind] || op.Kind == oplog.Recv && len(op.Mem) > 0:
		m.Log.Effect(id, oplog.Write)
	}
}

var (
	reads = [oplog.NumKinds]bool{
		oplog.Load: true, oplog.Get: true, oplog.HostRead: true, oplog.Send: true,
	}
	writes = [oplog.NumKinds]bool{
		oplog.Store: true, oplog.Put: true, oplog.HostWrite: true,
	}
)

// settled notes the times of a command.
func (m *Machine) settled(id oplog.ID, start, end simtime.Time) {
	if id != 0 {
		op := m.Log.Op(id)
		op.Start, op.End = start, end
	}
}

// command notes the times of a command of a PE's engines. If it starts later than it
// came and its operands were there, it is the command before it that it waited for.
func (p *PE) command(id oplog.ID, start, end simtime.Time) {
	m := p.machine
	m.settled(id, start, end)
	op := m.Log.Op(id)
	if !(m.causedByOperand(op) && m.Log.Op(op.Cause).End == start) {
		op.Cause = 0
		if start > m.arrival(op) {
			op.Cause = p.lastCommand
		}
	}
	p.lastCommand = id
}

// arrival is when an operation could have started, had it waited for nothing.
func (m *Machine) arrival(op *oplog.Op) simtime.Time {
	return op.Issue + m.Graph.Spec().PE.Scheduler.Overhead
}

// causedByOperand notes the operand whose end released an operation, if one did: the
// latest of them, if it was not there when the operation came.
func (m *Machine) causedByOperand(op *oplog.Op) bool {
	latest := m.arrival(op)
	waited := false
	for i := range op.Args {
		if from := op.Args[i].From; from != 0 && m.Log.Op(from).End > latest {
			latest, op.Cause, waited = m.Log.Op(from).End, from, true
		}
	}
	return waited
}

// followed notes that an operation had to wait for another to be done with the same
// memory.
func (m *Machine) followed(id, other oplog.ID) {
	if id != 0 {
		m.Log.Op(id).Cause = other
	}
}

// Breakdown is what a PE did in some time. Every instant is in one of Compute, Memory,
// Comm and Idle.
type Breakdown struct {
	Compute simtime.Time // an engine was at work, from the fetch of operands to the store of results
	Memory  simtime.Time // none was: data moved between memories and TCM
	Comm    simtime.Time // none was: messages moved, or the CPU waited for another PE
	Idle    simtime.Time // none of these

	OverlappedMemory simtime.Time // data moved under Compute
	OverlappedComm   simtime.Time // messages moved, or the CPU waited, under Compute
}

// Total is the whole time.
func (b Breakdown) Total() simtime.Time { return b.Compute + b.Memory + b.Comm + b.Idle }

// Add adds up breakdowns of times one after another.
func (b Breakdown) Add(other Breakdown) Breakdown {
	return Breakdown{
		Compute: b.Compute + other.Compute, Memory: b.Memory + other.Memory, Comm: b.Comm + other.Comm, Idle: b.Idle + other.Idle,
		OverlappedMemory: b.OverlappedMemory + other.OverlappedMemory, OverlappedComm: b.OverlappedComm + other.OverlappedComm,
	}
}

// String is all of it in words.
func (b Breakdown) String() string {
	return fmt.Sprintf("compute %v, exposed memory %v, exposed communication %v, idle %v; under compute: memory %v, communication %v",
		b.Compute, b.Memory, b.Comm, b.Idle, b.OverlappedMemory, b.OverlappedComm)
}

// Measure has programs that start from now on note what their PEs do, or no more.
func (m *Machine) Measure(on bool) { m.measuring = on }

// measure has the PE of a core note what it does, if that is wanted.
func (c *core) measure() {
	c.usage = nil
	if c.m.measuring {
		c.usage = &pe.Usage{}
	}
	c.pe.DMA.Usage, c.pe.Pipeline.Usage = c.usage, c.usage
}

// waited notes that the CPU has waited for another PE, for something since an instant,
// and goes on because of an activity.
func (c *core) waited(what string, since simtime.Time, by sim.Mark) {
	if c.usage != nil {
		c.usage.Waits.Add(since, c.now)
	}
	c.waitedFor(what, since, by)
}

// Breakdown is what the PE that ended last, of some of a run's, did from an instant on
// to the end of all: after its own end it waited for the others. It is for when the run
// has ended; ok is false if it was not measured.
func (r *Run) Breakdown(of func(PEID) bool, from simtime.Time) (b Breakdown, ok bool) {
	last := -1
	for i, id := range r.Targets {
		if of(id) && (last < 0 || r.end[i] > r.end[last]) {
			last = i
		}
	}
	if last < 0 {
		return b, false
	}
	u := r.cores[r.Targets[last]].usage
	if u == nil {
		return b, false
	}
	end := r.Start + r.Critical()
	var window pe.Spans
	window.Add(from, end)
	compute, memory := u.Compute.Common(window), u.DMA[fabric.Compute].Common(window)
	comm := u.DMA[fabric.Comm].Union(u.Waits)
	comm.Add(r.end[last], end)
	comm = comm.Common(window)
	b.Compute = compute.Total()
	b.OverlappedComm, b.OverlappedMemory = comm.Common(compute).Total(), memory.Common(compute).Total()
	b.Comm = comm.Total() - b.OverlappedComm
	b.Memory = memory.Union(comm).Union(compute).Total() - b.Compute - b.Comm
	b.Idle = window.Total() - b.Compute - b.Comm - b.Memory
	return b, true
}
