package cpu

import (
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
)

// op begins the record of an operation that the kernel asks for now.
func (c *Core) op(kind oplog.Kind) oplog.Op {
	op := oplog.Op{Kind: kind, PE: int32(c.pe.ID), Launch: c.launch.Log, Issue: c.now, Peer: -1, Port: -1}
	if c.m.Lines {
		op.Line = c.m.Log.Line(c.m.callers.Line())
	}
	return op
}

// access returns the record of a read or a write of the core's pieces.
func (c *Core) access(kind oplog.Kind, b *tl.Block, peer int) oplog.Op {
	op := c.op(kind)
	op.Shape, op.DType, op.Fill = b.Shape, b.DType, b.Fill
	if b.Valid != b.Shape {
		op.Box = b.Valid
	}
	if peer >= 0 {
		op.Peer = int32(c.launch.Ranks[peer])
	}
	op.Mem = Accesses(c.pieces)
	return op
}

// operand returns a tile as an operand of another operation.
func operand(v *tl.Value) oplog.Operand {
	return oplog.Operand{From: v.ID, Shape: v.Shape, DType: v.DType}
}

// begun records that an operation starts to read memory.
func (m *System) begun(id oplog.ID) {
	op := m.Log.Op(id)
	op.Start = m.Engine.Now()
	m.causedByOperand(op)
	switch op.Kind {
	case oplog.Load, oplog.Get, oplog.HostRead, oplog.Send:
		m.Log.Effect(id, oplog.Read)
	}
}

// ended records that an operation has written memory.
func (m *System) ended(id oplog.ID) {
	op := m.Log.Op(id)
	op.End = m.Engine.Now()
	switch k := op.Kind; {
	case k.IsComposite():
		// It reads its operands tile by tile, each when what came before that is
		// done. What comes after waits for its end: then it has read them all.
		m.Log.Effect(id, oplog.Read)
		m.Log.Effect(id, oplog.Write)
	case k == oplog.Store || k == oplog.Put || k == oplog.HostWrite || k == oplog.Recv && len(op.Mem) > 0:
		m.Log.Effect(id, oplog.Write)
	}
}

// command records the times of a command of a PE's engines. If it starts later than it
// came and its operands were there, it is the command before it that it waited for.
func (p *Element) command(id oplog.ID, start, end simtime.Time) {
	m := p.system
	op := m.Log.Op(id)
	op.Start, op.End = start, end
	if !(m.causedByOperand(op) && m.Log.Op(op.Cause).End == start) {
		op.Cause = 0
		if start > m.arrival(op) {
			op.Cause = p.lastCommand
		}
	}
	p.lastCommand = id
}

// arrival returns when an operation could have started, had it waited for nothing.
func (m *System) arrival(op *oplog.Op) simtime.Time {
	return op.Issue + m.Graph.Spec().PE.Scheduler.Overhead
}

// causedByOperand records the operand whose end released an operation, if one did: the
// latest of them, if it was not there when the operation came.
func (m *System) causedByOperand(op *oplog.Op) bool {
	latest, waited := m.arrival(op), false
	for i := range op.Args {
		if from := op.Args[i].From; from != 0 && m.Log.Op(from).End > latest {
			latest, op.Cause, waited = m.Log.Op(from).End, from, true
		}
	}
	return waited
}

// followed records that an operation had to wait for another to be done with the same
// memory.
func (m *System) followed(id, other oplog.ID) {
	if id != 0 {
		m.Log.Op(id).Cause = other
	}
}

// Usage returns when the parts of the PE were at work; nil if that was not measured.
func (c *Core) Usage() *pe.Usage { return c.usage }

// waited records that the CPU has waited for another PE since an instant, what for, and the
// activity that ended the wait.
func (c *Core) waited(what string, since simtime.Time, by sim.Mark) {
	if c.usage != nil {
		c.usage.Waits.Add(since, c.now)
	}
	c.waitedFor(what, since, by)
}
