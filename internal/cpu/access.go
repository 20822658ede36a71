package cpu

import (
	"fmt"

	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/tl"
)

// Load brings a block of memory into a tile.
func (c *Core) Load(v *tl.Value, from tl.Block) error {
	return c.read(v, &from, oplog.Load, -1)
}

// Get loads a block of the part of a window that a peer holds.
func (c *Core) Get(peer int, v *tl.Value, from tl.Block) error {
	if err := c.atPeer(&from, peer); err != nil {
		return err
	}
	return c.read(v, &from, oplog.Get, peer)
}

func (c *Core) read(v *tl.Value, from *tl.Block, kind oplog.Kind, peer int) error {
	if err := c.tick(); err != nil {
		return err
	}
	if err := c.find(from); err != nil {
		return err
	}
	c.requests = c.transfers(c.requests[:0], c.pieces, memory.Read, accessKinds[kind].class)
	if err := c.newTile(v, len(c.requests)); err != nil {
		return err
	}
	if c.m.Log != nil {
		v.ID = c.m.Log.Add(c.access(kind, from, peer))
		c.made(v)
	}
	for i := range c.requests {
		c.requests[i].Target = v.Slot
	}
	if len(c.requests) == 0 {
		c.pe.Tiles.SetReady(v.Slot, c.arrival())
	}
	c.submit(v.ID, kind)
	return nil
}

// Store writes a tile to memory.
func (c *Core) Store(v tl.Value, to tl.Block) error {
	return c.write(&v, &to, oplog.Store, -1)
}

// Put writes a tile to the part of a window that a peer holds.
func (c *Core) Put(peer int, v tl.Value, to tl.Block) error {
	if err := c.atPeer(&to, peer); err != nil {
		return err
	}
	return c.write(&v, &to, oplog.Put, peer)
}

func (c *Core) write(v *tl.Value, to *tl.Block, kind oplog.Kind, peer int) error {
	if err := c.tick(); err != nil {
		return err
	}
	if err := c.use(v); err != nil {
		return err
	}
	if err := c.find(to); err != nil {
		return err
	}
	if len(c.pieces) == 0 {
		return nil // all of it is masked
	}
	c.requests = c.transfers(c.requests[:0], c.pieces, memory.Write, accessKinds[kind].class)
	var id oplog.ID
	if c.m.Log != nil {
		op := c.access(kind, to, peer)
		op.Args = []oplog.Operand{operand(v)}
		id = c.m.Log.Add(op)
	}
	for i := range c.requests {
		c.requests[i].Source = v.Slot
	}
	c.submit(id, kind)
	return nil
}

// accessKinds is the priority of each kind of access, and its name in traces. Between PEs it is
// communication.
var accessKinds = [oplog.NumKinds]struct {
	class   fabric.Class
	purpose pe.Purpose
}{
	oplog.Load: {fabric.Compute, pe.Load}, oplog.Store: {fabric.Compute, pe.Store},
	oplog.Get: {fabric.Comm, pe.Get}, oplog.Put: {fabric.Comm, pe.Put},
}

// atPeer moves a block to the same place in the part of its window that a peer
// holds.
func (c *Core) atPeer(b *tl.Block, peer int) error {
	w := int(b.Ptr.Window) - 1
	if w < 0 || w >= len(c.launch.Windows) {
		return fmt.Errorf("the pointer is not into a window: pass a tensor argument of the launch, not scratch")
	}
	mine, theirs := c.launch.Windows[w][c.rank], c.launch.Windows[w][peer]
	first, end := b.Span()
	if b.Valid.Elems() > 0 && (first < int64(mine.VA) || end > int64(mine.VA)+int64(theirs.Bytes)) {
		there := tl.Shard{Tensor: "the window", Part: shardOf(peer), Addr: int64(mine.VA), Bytes: int64(theirs.Bytes)}
		if b.Ptr.Shard != nil {
			there.Tensor = b.Ptr.Shard.Tensor
		}
		return there.Beyond(b)
	}
	b.Ptr.Addr += int64(theirs.VA) - int64(mine.VA)
	return nil
}

// shardOf is a rank whose shard an error names.
type shardOf int

func (rank shardOf) String() string { return fmt.Sprintf("the shard of rank %d", int(rank)) }

// submit hands the core's requests to the DMA engine as one operation.
func (c *Core) submit(id oplog.ID, kind oplog.Kind) {
	n := len(c.requests)
	t := transfer{id: id, core: c, begins: n, ends: n}
	if n > 1 {
		t.order = c.hold(id, c.requests[0].Op)
	}
	var begun, ended sim.Event
	if id != 0 || n != 1 {
		begun, ended = c.m.transfer(t)
	}
	for i := range c.requests {
		r := &c.requests[i]
		r.ID, r.At, r.Order, r.Begun, r.Done, r.Purpose = id, c.arrival(), t.order, begun, ended, accessKinds[kind].purpose
		c.pe.DMA.Submit(r)
	}
	if n == 0 {
		c.eng.Call(begun)
		c.eng.Call(ended)
		if id != 0 {
			op := c.m.Log.Op(id)
			op.Start, op.End = c.arrival(), c.arrival()
		}
	}
}

// hold takes one place in the program for the requests of the core's pieces.
func (c *Core) hold(id oplog.ID, op memory.Op) pe.Order {
	if op == memory.Read {
		return c.pe.DMA.Hold(id, c.pieces, nil, false)
	}
	return c.pe.DMA.Hold(id, nil, c.pieces, false)
}

// transfer is an operation whose requests are under way.
type transfer struct {
	id           oplog.ID
	core         *Core    // nil for a copy of the host
	order        pe.Order // held for its requests
	composite    *pe.Composite
	reserved     memory.Bytes // of TCM, for the composite's buffers
	begins, ends int
	done         sim.Event // of a host's copy
}

// transfer adds a transfer and returns the events of its beginnings and ends.
func (m *System) transfer(t transfer) (begun, ended sim.Event) {
	n := uint64(m.transfers.Add(t))
	return m.event(evBegun, n), m.event(evEnded, n)
}

// Copy returns the events by which a copy of the host reports the beginnings and the ends of
// its parts. With the last end it calls done.
func (m *System) Copy(id oplog.ID, parts int, done sim.Event) (begun, ended sim.Event) {
	return m.transfer(transfer{id: id, begins: parts, ends: parts, done: done})
}

// transferred ends a transfer.
func (m *System) transferred(t transfer) {
	if t.id != 0 {
		m.ended(t.id)
		if op := m.Log.Op(t.id); t.composite != nil {
			op.Start = t.composite.Started()
			if op.Cause == 0 {
				m.causedByOperand(op)
			}
		}
	}
	if t.order != 0 {
		t.core.pe.DMA.Release(t.order)
	}
	if t.reserved > 0 {
		t.core.pe.Tiles.Release(t.reserved)
	}
	m.Engine.Call(t.done)
}
