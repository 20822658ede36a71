package machine

import (
	"github.com/kernbench/kernbench/internal/oplog"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/tl"
)

// op begins the record of an operation that the kernel asks for now.
func (c *core) op(kind oplog.Kind) oplog.Op {
	return oplog.Op{
		Kind: kind, PE: int32(c.pe.ID), Launch: c.run.log, Line: c.m.Log.Line(tl.Caller()),
		Issue: c.now, Peer: -1, Port: -1,
	}
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
	case op.Kind == oplog.Gemm || op.Kind == oplog.Stream:
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
func (m *Machine) settled(id oplog.ID, start, end sim.Time) {
	if id != 0 {
		op := m.Log.Op(id)
		op.Start, op.End = start, end
	}
}
