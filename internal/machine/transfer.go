package machine

import (
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/oplog"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/internal/sim"
)

// transfer is an operation whose requests are under way.
type transfer struct {
	id           oplog.ID
	core         *core
	order        pe.Order // held for its requests
	composite    *pe.Composite
	reserved     memory.Bytes // of TCM, for the composite's buffers
	begins, ends int
	done         sim.Event // of a host's copy
}

// transfers notes the beginnings and ends of operations.
type transfers struct {
	m      *Machine
	target sim.Target
	pool   sim.Pool[transfer]
}

const (
	evBegun sim.Kind = iota
	evEnded
)

// add is a new transfer, and the events of its beginnings and ends.
func (ts *transfers) add(t transfer) (begun, ended sim.Event) {
	return beginAndEnd(ts.target, uint64(ts.pool.Add(t)))
}

// beginAndEnd returns the events of the beginning and of the end of something.
func beginAndEnd(target sim.Target, arg uint64) (begun, ended sim.Event) {
	return sim.Event{Target: target, Kind: evBegun, Arg: arg}, sim.Event{Target: target, Kind: evEnded, Arg: arg}
}

// Handle tells the op log.
func (ts *transfers) Handle(kind sim.Kind, arg uint64) {
	t := ts.pool.At(int32(arg))
	if kind == evBegun {
		if t.begins--; t.begins <= 0 {
			ts.m.begun(t.id)
		}
		return
	}
	if t.ends--; t.ends > 0 {
		return
	}
	ts.m.ended(t.id)
	done := ts.pool.Take(int32(arg))
	if done.composite != nil && done.id != 0 {
		op := ts.m.Log.Op(done.id)
		op.Start = done.composite.Started()
		if op.Cause == 0 {
			ts.m.causedByOperand(op)
		}
	}
	if done.order != 0 {
		done.core.pe.DMA.Release(done.order)
	}
	if done.reserved > 0 {
		done.core.pe.Tiles.Release(done.reserved)
	}
	if done.core == nil { // the host's
		ts.m.tracer.copying(-1)
	}
	ts.m.Engine.Call(done.done)
}
