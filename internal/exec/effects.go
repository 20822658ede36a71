package exec

import (
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/oplog"
)

// apply applies an effect: it reads or writes the memory of its operation. The caller holds
// the lock. apply releases the lock while bytes move, which is safe because only this
// goroutine accesses memory.
func (e *Executor) apply(effect oplog.Effect) error {
	id := effect.Op
	n := e.nodes.find(id)
	if n == nil {
		return e.fail(id, "an effect names it; the log is damaged")
	}
	if n.touched[effect.Phase] {
		return e.fail(id, "its %v is in the log twice; an operation touches memory once", effect.Phase)
	}
	n.touched[effect.Phase] = true
	do := e.read
	if effect.Phase == oplog.Write {
		do = e.write
	}
	err := do(e.op(id))
	n.effects-- // only now, because it keeps the record
	e.retire(id)
	return err
}

// read applies the read effect of op: it copies memory into the value of op. For a
// composite, it instead reads the values of those operands that are in memory.
func (e *Executor) read(op *oplog.Op) error {
	switch op.Kind {
	case oplog.Load, oplog.Get:
		if v := e.page(op.Mem, e.bytes(op)); v != nil {
			e.finish(op.ID, v)
			return nil
		}
		v := e.pool.take(e.bytes(op))
		if masked(op) && len(v.bytes) > 0 { // memory provides the box; the rest is Fill
			fillWith(v.bytes, op.DType, op.Fill)
		}
		if err := e.moveBox(op, v.bytes, (*memory.Store).Read); err != nil {
			return err
		}
		e.finish(op.ID, v)
	case oplog.HostRead:
		v, err := e.snapshot(op)
		if err != nil {
			return err
		}
		if e.onRead != nil {
			e.onRead(op, digest(v.parts...))
		}
		e.finish(op.ID, v)
	case oplog.Send:
		if len(op.Args[0].Mem) == 0 {
			return nil
		}
		v, err := e.gather(op.ID, op.Args[0].Mem, operandBytes(&op.Args[0]))
		if err != nil {
			return err
		}
		e.finish(op.ID, v)
	case oplog.Gemm, oplog.Stream, oplog.ReducePeers:
		return e.readInputs(op)
	default:
		return e.fail(op.ID, "a %v reads no memory, but the log says that it did", op.Kind)
	}
	return nil
}

// readInputs reads the values of those operands of a composite that are in memory.
func (e *Executor) readInputs(op *oplog.Op) error {
	var inputs []*value
	for o := range operands(op) {
		if len(o.Mem) == 0 {
			continue
		}
		v, err := e.gather(op.ID, o.Mem, operandBytes(o))
		if err != nil {
			return err
		}
		inputs = append(inputs, v)
	}
	if inputs != nil {
		e.inputs[op.ID] = inputs
		e.deliverOperand(op.ID)
	}
	return nil
}

// write applies the write effect of op to memory. It copies the value of op or of its
// operand, copies the data that the host writes, or sets the memory to zero.
func (e *Executor) write(op *oplog.Op) error {
	switch op.Kind {
	case oplog.Store, oplog.Put:
		return e.store(op, op.Args[0].From)
	case oplog.Gemm, oplog.Stream, oplog.ReducePeers, oplog.Recv:
		if len(op.Mem) == 0 {
			return nil
		}
		return e.store(op, op.ID)
	case oplog.HostWrite:
		shared := op.Shared || !e.nodes.transient // a log that is kept needs the data
		return e.move(op.ID, &cursor{mem: op.Mem}, op.Data, func(s *memory.Store, addr memory.Addr, data []byte) error {
			return s.Adopt(addr, data, shared)
		})
	case oplog.Scratch, oplog.Zero:
		return e.eachRange(op, (*memory.Store).Zero)
	}
	return e.fail(op.ID, "a %v writes no memory, but the log says that it did", op.Kind)
}

// store waits until the value of the operation `from` exists and writes it to the memory of
// op.
func (e *Executor) store(op *oplog.Op, from oplog.ID) error {
	if err := e.await(from); err != nil {
		return err
	}
	v := e.node(from).value
	if s := e.wholePages(op.Mem); s != nil && v.refs > 1 && 8*len(v.bytes) >= 7*cap(v.bytes) {
		// A value that several operations share, such as a message, is shared with memory.
		v.class = none
		if err := s.Adopt(memory.Addr(op.Mem[0].Addr), v.bytes, true); err != nil {
			return e.fail(op.ID, "%w", err)
		}
	} else if err := e.moveBox(op, v.bytes, (*memory.Store).Write); err != nil {
		return err
	}
	e.endUse(from)
	return nil
}
