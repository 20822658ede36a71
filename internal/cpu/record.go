package cpu

import (
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
)

// newRecord returns a new op-log record of an operation that the kernel issues now.
func (c *Core) newRecord(kind oplog.Kind) oplog.Op {
	op := oplog.Op{Kind: kind, PE: int32(c.pe.ID), Launch: c.launch.Log, Issue: c.now, Peer: -1, Port: -1}
	if c.m.Lines {
		op.Line = c.m.Log.Line(c.m.callers.Line())
	}
	return op
}

// accessRecord returns the op-log record of a read or a write of block b, whose memory is
// c.pieces. peer is the rank whose memory is accessed, or -1 for the PE's own memory.
func (c *Core) accessRecord(kind oplog.Kind, b *tl.Block, peer int) oplog.Op {
	op := c.newRecord(kind)
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

// recordRead adds a read of block b into tile v to the op log. The record would make the
// stack frame of the caller large; this is so for the next functions, too.
//
//go:noinline
func (c *Core) recordRead(v *tl.Value, b *tl.Block, kind oplog.Kind, peer int) {
	v.ID = c.m.Log.Add(c.accessRecord(kind, b, peer))
	c.recordMaker(v)
}

// recordWrite adds a write of tile v to block b to the op log and returns its number.
//
//go:noinline
func (c *Core) recordWrite(v *tl.Value, b *tl.Block, kind oplog.Kind, peer int) oplog.ID {
	op := c.accessRecord(kind, b, peer)
	op.Args = []oplog.Operand{operand(v)}
	return c.m.Log.Add(op)
}

// recordSend adds a send of tile or ref v through a port to the op log and returns its
// number.
//
//go:noinline
func (c *Core) recordSend(name tl.Port, v *tl.Value) oplog.ID {
	op := c.newRecord(oplog.Send)
	op.Shape, op.DType, op.Port, op.Args = v.Shape, v.DType, int32(name), []oplog.Operand{operand(v)}
	op.Start = c.arrival()
	if v.InMem {
		op.Args[0].Mem = Accesses(c.pieces)
	}
	return c.m.Log.Add(op)
}

// recordRecv adds a receive to the op log: of tile v, or into the memory c.pieces if `into`
// is set.
//
//go:noinline
func (c *Core) recordRecv(rc *receive, v *tl.Value, into bool) {
	op := c.newRecord(oplog.Recv)
	op.Shape, op.DType, op.Port, op.Args = v.Shape, v.DType, int32(rc.port), make([]oplog.Operand, 1)
	if into {
		op.Mem = Accesses(c.pieces)
	}
	v.ID = c.m.Log.Add(op)
	if !into {
		c.recordMaker(v)
	}
	rc.ID = v.ID
	c.m.receives[rc.ID] = rc
	rc.Begun = c.m.event(evMatched, uint64(rc.ID))
	if c.m.Log.Kept() {
		rc.Done = c.m.event(evReceived, uint64(rc.ID))
	}
}

// operand returns the tile v as an operand of the op log.
func operand(v *tl.Value) oplog.Operand {
	return oplog.Operand{From: v.ID, Shape: v.Shape, DType: v.DType}
}

// recordBegin records that an operation of kind k starts to read memory.
func (m *System) recordBegin(id oplog.ID, k oplog.Kind) {
	if m.Log.Kept() {
		op := m.Log.Op(id)
		op.Start = m.Engine.Now()
		m.setCause(op)
	}
	switch k {
	case oplog.Load, oplog.Get, oplog.HostRead, oplog.Send:
		m.Log.Effect(id, oplog.Read)
	}
}

// recordEnd records that an operation of kind k has written memory.
func (m *System) recordEnd(id oplog.ID, k oplog.Kind) {
	if m.Log.Kept() {
		m.Log.Op(id).End = m.Engine.Now()
	}
	switch {
	case k.IsComposite():
		// A composite reads its operands tile by tile, each tile after the earlier
		// accesses to it. Later accesses wait for the end of the composite. So its
		// reads take effect at its end, when it has read all operands.
		m.Log.Effect(id, oplog.Read)
		m.Log.Effect(id, oplog.Write)
	case k == oplog.Store || k == oplog.Put || k == oplog.HostWrite || k == oplog.Recv:
		m.Log.Effect(id, oplog.Write)
	}
}

// recordComposite records when a composite started, and that it has ended.
func (m *System) recordComposite(t *transfer) {
	done := &m.Composites[t.number]
	done.Start, done.End = t.composite.Started(), m.Engine.Now()
	if m.Log.Kept() {
		op := m.Log.Op(t.id)
		op.Start = done.Start
		if op.Cause == 0 {
			m.setCause(op)
		}
	}
}

// recordCommand records the times and the cause of a command of the PE's engines in the op
// log, which must be kept. A command that started when it arrived has no cause. If it
// started when an operand became ready, that operand is the cause. Otherwise it waited for
// the previous command, which is the cause.
func (p *Element) recordCommand(id oplog.ID, start, end simtime.Time) {
	m := p.system
	op := m.Log.Op(id)
	op.Start, op.End = start, end
	if !(m.setCause(op) && m.Log.Op(op.Cause).End == start) {
		op.Cause = 0
		if start > m.arrival(op) {
			op.Cause = p.lastCommand
		}
	}
	p.lastCommand = id
}

// arrival returns the time at which an operation arrived at the engines, which is the
// earliest time at which it could have started.
func (m *System) arrival(op *oplog.Op) simtime.Time {
	return op.Issue + m.Graph.Spec().PE.Scheduler.Overhead
}

// setCause sets op.Cause to the operand of op that was ready last, if that operand was
// ready after op arrived at the engines. It reports whether there was such an operand.
func (m *System) setCause(op *oplog.Op) bool {
	latest, waited := m.arrival(op), false
	for i := range op.Args {
		if from := op.Args[i].From; from != 0 && m.Log.Op(from).End > latest {
			latest, op.Cause, waited = m.Log.Op(from).End, from, true
		}
	}
	return waited
}

// recordFollow records in the op log that operation `id` waited for operation `other`,
// which uses the same memory.
func (m *System) recordFollow(id, other oplog.ID) {
	if id != 0 {
		m.Log.Op(id).Cause = other
	}
}

// Usage returns the busy times of the parts of the PE; nil if usage was not measured.
func (c *Core) Usage() *pe.Usage { return c.usage }

// recordWait records a wait for another PE from the time `since` until now, in the usage of
// the PE and in the trace. `what` names the awaited thing, such as "message". `by` is the
// activity that ended the wait.
func (c *Core) recordWait(what string, since simtime.Time, by sim.Mark) {
	if c.usage != nil {
		c.usage.Waits.Add(since, c.now)
	}
	c.traceWait(what, since, by)
}
