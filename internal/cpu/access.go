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

// Load reads a block of memory into a tile.
func (c *Core) Load(v *tl.Value, from tl.Block) error {
	return c.read(v, &from, oplog.Load, -1)
}

// Get reads a block of a peer's part of a window into a tile.
func (c *Core) Get(peer int, v *tl.Value, from tl.Block) error {
	if err := c.moveToPeer(&from, peer); err != nil {
		return err
	}
	return c.read(v, &from, oplog.Get, peer)
}

// read implements Load and Get; peer is -1 for Load.
func (c *Core) read(v *tl.Value, from *tl.Block, kind oplog.Kind, peer int) error {
	if err := c.tick(); err != nil {
		return err
	}
	if err := c.find(from, memory.Read); err != nil {
		return err
	}
	if err := c.newTile(v, len(c.pieces)); err != nil {
		return err
	}
	if c.m.Log != nil {
		c.recordRead(v, from, kind, peer)
	}
	if len(c.pieces) == 0 {
		c.pe.Tiles.SetReady(v.Slot, c.arrival())
	}
	c.submit(v, kind, memory.Read, v.ID)
	return nil
}

// Store writes a tile to memory.
func (c *Core) Store(v tl.Value, to tl.Block) error {
	return c.write(&v, &to, oplog.Store, -1)
}

// Put writes a tile to a peer's part of a window.
func (c *Core) Put(peer int, v tl.Value, to tl.Block) error {
	if err := c.moveToPeer(&to, peer); err != nil {
		return err
	}
	return c.write(&v, &to, oplog.Put, peer)
}

// write implements Store and Put; peer is -1 for Store.
func (c *Core) write(v *tl.Value, to *tl.Block, kind oplog.Kind, peer int) error {
	if err := c.tick(); err != nil {
		return err
	}
	if err := c.use(v); err != nil {
		return err
	}
	if err := c.find(to, memory.Write); err != nil {
		return err
	}
	if len(c.pieces) == 0 {
		return nil // the mask excludes the whole block
	}
	var id oplog.ID
	if c.m.Log != nil {
		id = c.recordWrite(v, to, kind, peer)
	}
	c.submit(v, kind, memory.Write, id)
	return nil
}

// accessKinds has the traffic class of each kind of access, and its name in traces.
// Accesses to peers are communication.
var accessKinds = [oplog.NumKinds]struct {
	class   fabric.Class
	purpose pe.Purpose
}{
	oplog.Load: {fabric.Compute, pe.Load}, oplog.Store: {fabric.Compute, pe.Store},
	oplog.Get: {fabric.Comm, pe.Get}, oplog.Put: {fabric.Comm, pe.Put},
}

// moveToPeer moves the pointer of b from this rank's part of the window to the same offset
// in the part that a peer holds. It returns an error if the pointer is not into a window,
// or if the valid elements of b reach beyond the peer's part.
func (c *Core) moveToPeer(b *tl.Block, peer int) error {
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

// shardOf is a rank. Its string names the rank's shard in errors.
type shardOf int

func (rank shardOf) String() string { return fmt.Sprintf("the shard of rank %d", int(rank)) }

// submit passes requests for c.pieces to the DMA engine: an operation of the given kind that
// reads memory into tile v or writes tile v to memory. id is its number in the op log.
func (c *Core) submit(v *tl.Value, kind oplog.Kind, op memory.Op, id oplog.ID) {
	var order pe.Order
	var begun, ended sim.Event
	if id != 0 || len(c.pieces) != 1 {
		order, begun, ended = c.beginTransfer(id, kind, op)
	}
	// The request is not on the stack or in the core, whose memory is rarely in the cache. No
	// other core runs before the last Submit returns.
	r := &c.m.access
	for i := range c.pieces {
		c.setRequest(r, &c.pieces[i], op, accessKinds[kind].class)
		if r.Source, r.Target = v.Slot, 0; op == memory.Read {
			r.Source, r.Target = 0, v.Slot
		}
		r.ID, r.At, r.Order, r.Begun, r.Done, r.Purpose = id, c.arrival(), order, begun, ended, accessKinds[kind].purpose
		if r.Remote != nil && op == memory.Write {
			c.land(r)
		}
		c.pe.DMA.Submit(r)
	}
	if len(c.pieces) == 0 {
		c.endAtOnce(id, begun, ended)
	}
}

// land makes a write to another SIP take effect when it has ended there. The position that the
// write holds with others ends with the acknowledgement.
func (c *Core) land(r *pe.Request) {
	c.m.landing = *r.Remote
	r.Remote = &c.m.landing
	r.Remote.Lands = true
	switch {
	case r.ID == 0: // only the op log needs to know when it has ended there
		r.Remote.Acknowledged, r.Done = r.Done, sim.Event{}
	case r.Order != 0:
		c.m.transfers.At(int32(r.Done.Arg)).acks++
		r.Remote.Acknowledged = sim.Event{Target: r.Done.Target, Kind: evWriteKnown, Arg: r.Done.Arg}
	}
}

// beginTransfer adds an operation on c.pieces to the transfers in flight. It returns the
// position of the operation in the order of memory accesses, which is 0 if the operation
// consists of one request, and the events of addTransfer.
func (c *Core) beginTransfer(id oplog.ID, kind oplog.Kind, op memory.Op) (order pe.Order, begun, ended sim.Event) {
	n := len(c.pieces)
	if n > 1 {
		order = c.hold(id, op)
	}
	begun, ended = c.m.addTransfer(transfer{id: id, kind: kind, core: c, begins: n, ends: n, order: order})
	return order, begun, ended
}

// endAtOnce begins and ends an operation without requests.
func (c *Core) endAtOnce(id oplog.ID, begun, ended sim.Event) {
	c.eng.Call(begun)
	c.eng.Call(ended)
	if id != 0 && c.m.Log.Kept() {
		op := c.m.Log.Op(id)
		op.Start, op.End = c.arrival(), c.arrival()
	}
}

// hold reserves a position in the order of the PE's memory accesses for a read or a write
// of c.pieces. All requests of the operation share this position.
func (c *Core) hold(id oplog.ID, op memory.Op) pe.Order {
	if op == memory.Read {
		return c.pe.DMA.Hold(id, c.pieces, nil, false)
	}
	return c.pe.DMA.Hold(id, nil, c.pieces, false)
}

// transfer is an operation whose requests are in flight.
type transfer struct {
	id           oplog.ID
	kind         oplog.Kind    // 0 for a receive of no bytes, which has no effect
	core         *Core         // nil for a copy by the host
	order        pe.Order      // the position that its requests share; 0 if none is held
	composite    *pe.Composite // nil for other operations
	number       int           // index of the composite in System.Composites
	reserved     memory.Bytes  // TCM for the composite's buffers
	begins, ends int           // number of requests that have not begun and not ended
	acks         int           // number of acknowledgements that have not arrived from other SIPs
	done         sim.Event     // called at the end of a copy by the host
}

// addTransfer adds a transfer to those in flight. It returns two events. Each request of
// the transfer must call `begun` when it begins to read, and `ended` when it has written
// its data. Only the op log needs `begun`.
func (m *System) addTransfer(t transfer) (begun, ended sim.Event) {
	n := uint64(m.transfers.Add(t))
	if t.id != 0 {
		begun = m.event(evBegun, n)
	}
	return begun, m.event(evEnded, n)
}

// Copy adds a copy by the host of the given kind and number of parts. It returns two
// events. Each part must call `begun` when it begins, and `ended` when it ends. The end of
// the last part calls `done`.
func (m *System) Copy(id oplog.ID, kind oplog.Kind, parts int, done sim.Event) (begun, ended sim.Event) {
	return m.addTransfer(transfer{id: id, kind: kind, begins: parts, ends: parts, done: done})
}

// recordTransfer records in the op log that the last request of a transfer has ended.
func (m *System) recordTransfer(t *transfer) {
	if t.id != 0 {
		m.recordEnd(t.id, t.kind)
		if t.composite != nil {
			m.recordComposite(t)
		}
	}
}

// endTransfer completes a transfer after its last request has ended, and all acknowledgements
// have arrived.
func (m *System) endTransfer(t transfer) {
	if t.order != 0 {
		t.core.pe.DMA.Release(t.order)
	}
	if t.reserved > 0 {
		t.core.pe.Tiles.Release(t.reserved)
	}
	m.Engine.Call(t.done)
}
