package cpu

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/ipcq"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// port is one of a PE's queues to another PE.
type port struct{ out, in *ipcq.Ring }

// port finds a port by name.
func (c *Core) port(p tl.Port) (*port, error) {
	if p >= 0 && int(p) < len(c.ports) && c.ports[p].out != nil {
		return &c.ports[p], nil
	}
	var known []string
	for i := range c.ports {
		if c.ports[i].out != nil {
			known = append(known, tl.Port(i).String())
		}
	}
	if len(known) == 0 {
		return nil, fmt.Errorf("no port %v: the launch has no neighbour table, or this PE is not in it", p)
	}
	return nil, fmt.Errorf("no port %v: this PE has %s", p, strings.Join(known, ", "))
}

// Join gives the core the queues of a port.
func (c *Core) Join(at tl.Port, out, in *ipcq.Ring) {
	for int(at) >= len(c.ports) {
		c.ports = append(c.ports, port{})
	}
	c.ports[at] = port{out, in}
	c.turn = 0
}

// Attach names the process that runs the kernel at this end of the core's queues, for
// wake-ups and for reports of deadlocks.
func (c *Core) Attach(proc *sim.Proc) {
	for i := range c.ports {
		if c.ports[i].out != nil {
			c.ports[i].out.From.Proc, c.ports[i].in.To.Proc = proc, proc
		}
	}
}

// Leave takes the queues from the core. Reports name proc as the kernel that had them.
func (c *Core) Leave(proc *sim.Proc) {
	c.Attach(proc)
	clear(c.ports)
	c.ports = c.ports[:0]
}

// Send puts a tile, or memory that stands for one, into a queue.
func (c *Core) Send(name tl.Port, v tl.Value) error {
	if err := c.tick(); err != nil {
		return err
	}
	p, err := c.port(name)
	if err != nil {
		return err
	}
	if v.InMem {
		b := v.Block()
		if err := c.find(&b); err != nil {
			return err
		}
	} else if err := c.use(&v); err != nil {
		return err
	}
	ring := p.out
	msg := ipcq.Message{Shape: v.Shape, DType: v.DType, Bytes: memory.Bytes(v.Bytes()), After: c.pe.DMA.LastOrder()}
	if c.m.Log != nil {
		op := c.op(oplog.Send)
		op.Shape, op.DType, op.Port, op.Args = v.Shape, v.DType, int32(name), []oplog.Operand{operand(&v)}
		op.Start = c.arrival()
		if v.InMem {
			op.Args[0].Mem = Accesses(c.pieces)
		}
		msg.ID = c.m.Log.Add(op)
	}
	if v.InMem {
		return c.sendMemory(ring, &msg)
	}
	for i := range ring.Fragments(msg.Bytes) {
		c.credit(ring)
		ring.Put(&msg, i, &pe.Request{Source: v.Slot, At: c.arrival()})
	}
	return nil
}

// sendMemory sends straight from memory: each fragment is read where it is. Together
// they are one access in the program: the value is that of when all are being read.
func (c *Core) sendMemory(ring *ipcq.Ring, msg *ipcq.Message) error {
	if len(c.pieces) > 1 {
		return fmt.Errorf("the memory to send is in %d pieces: Load it, or send it piece by piece", len(c.pieces))
	}
	n := ring.Fragments(msg.Bytes)
	t := transfer{id: msg.ID, core: c, begins: n, ends: n}
	if len(c.pieces) > 0 {
		t.order = c.hold(msg.ID, memory.Read)
	}
	begun, ended := c.m.transfer(t)
	for i := range n {
		c.credit(ring)
		r := pe.Request{ID: msg.ID, At: c.arrival(), Begun: begun, Done: ended, Order: t.order}
		if len(c.pieces) > 0 {
			r.From = c.pieces[0]
			whole, off := r.From.Region, memory.Bytes(i)*ring.SlotSize
			var ok bool
			if r.From.Region, ok = whole.Part(off, min(ring.SlotSize, msg.Bytes-off)); !ok {
				return fmt.Errorf("rows of %v do not fill slots of %v evenly: Load it first", whole.RowBytes, ring.SlotSize)
			}
			r.Path = c.m.Route(nil, r.From.Memory, ring.Memory)
		}
		ring.Put(msg, i, &r)
	}
	return nil
}

// credit takes a credit, waiting for one to come back if all are out: asleep, or
// looking for it every few cycles.
func (c *Core) credit(ring *ipcq.Ring) {
	first := c.now
	for {
		at, ok := ring.TakeCredit(c.now)
		if ok {
			if poll := c.poll; poll > 0 && at > c.now {
				at = c.now + (at-c.now+poll-1)/poll*poll
				c.pe.Polled += at - c.now
			}
			c.now = at
			c.waited("credit", first, ring.CreditBy())
			return
		}
		began := c.now
		ring.AwaitCredit(c.proc, c.now)
		if c.poll == 0 {
			c.caughtUp()
		} else {
			c.now = began // the next look is counted from the first
		}
	}
}

// receive is a message on its way to this kernel.
type receive struct {
	ipcq.Receive
	port tl.Port
}

// Recv asks for the next message of a queue.
func (c *Core) Recv(name tl.Port, v *tl.Value, into *tl.Block, wait bool) (tl.Handle, tl.Port, error) {
	if err := c.tick(); err != nil {
		return tl.Handle{}, name, err
	}
	if name == tl.AnyPort {
		var err error
		if name, err = c.anyPort(); err != nil {
			return tl.Handle{}, name, err
		}
	}
	p, err := c.port(name)
	if err != nil {
		return tl.Handle{}, name, err
	}
	rc := c.newReceive()
	rc.port = name
	rc.Reset(v.Shape, v.DType, memory.Bytes(v.Bytes()))
	if into == nil {
		if err := c.newTile(v, p.in.Fragments(rc.Bytes)); err != nil {
			return tl.Handle{}, name, err
		}
		rc.Tile = v.Slot
	} else if rc.Into, err = c.into(into, p.in); err != nil {
		return tl.Handle{}, name, err
	}
	if c.m.Log != nil {
		op := c.op(oplog.Recv)
		op.Shape, op.DType, op.Port, op.Args = v.Shape, v.DType, int32(name), make([]oplog.Operand, 1)
		if into != nil {
			op.Mem = Accesses(c.pieces)
		}
		v.ID = c.m.Log.Add(op)
		if into == nil {
			c.made(v)
		}
		rc.ID = v.ID
		c.m.receives[rc.ID] = rc
		rc.Begun, rc.Done = c.m.event(evMatched, uint64(rc.ID)), c.m.event(evReceived, uint64(rc.ID))
	}
	if into != nil {
		t := transfer{id: rc.ID, core: c, ends: 1, order: c.hold(rc.ID, memory.Write)}
		_, rc.Done = c.m.transfer(t)
		rc.Order = t.order
	}
	rc.At = c.arrival() // newTile may have taken time
	p.in.Post(&rc.Receive)
	if wait {
		return tl.Handle{}, name, c.await(rc)
	}
	return c.later(pending{receive: rc, id: v.ID}), name, nil
}

// await waits for a receive.
func (c *Core) await(rc *receive) error {
	began := c.now
	err := rc.Await(c.proc, c.now)
	c.caughtUp()
	c.waited("message", began, c.proc.Woken)
	if rc.Into == nil && rc.ID == 0 { // nothing refers to it any more
		c.unusedReceives = append(c.unusedReceives, rc)
	}
	return err
}

func (c *Core) newReceive() *receive {
	if n := len(c.unusedReceives); n > 0 {
		rc := c.unusedReceives[n-1]
		c.unusedReceives = c.unusedReceives[:n-1]
		return rc
	}
	return &receive{}
}

// anyPort waits for a message on any port, and returns the port whose turn it is.
func (c *Core) anyPort() (tl.Port, error) {
	if len(c.ports) == 0 {
		_, err := c.port(tl.AnyPort)
		return tl.AnyPort, err
	}
	c.sync()
	began := c.now
	for {
		for i := range c.ports {
			p := (c.turn + i) % len(c.ports)
			if in := c.ports[p].in; in != nil && in.Waiting() {
				c.turn = p + 1
				c.waited("message", began, c.proc.Woken)
				return tl.Port(p), nil
			}
		}
		c.listen(true)
		c.proc.Park(anyMessage{c})
		c.listen(false)
		c.caughtUp()
	}
}

// listen switches on or off that the arrival of any message wakes the kernel.
func (c *Core) listen(on bool) {
	for i := range c.ports {
		if in := c.ports[i].in; in != nil {
			in.To.Any = on
		}
	}
}

// anyMessage is what RecvAny waits for.
type anyMessage struct{ *Core }

func (anyMessage) String() string { return "a message on any port" }

// HeldBy returns the kernel at the other end of the first queue whose kernel has not ended,
// or else a kernel that has ended.
func (m anyMessage) HeldBy() (ended *sim.Proc) {
	for i := range m.ports {
		if in := m.ports[i].in; in != nil && in.From.Proc != nil {
			if ended = in.From.Proc; !ended.Done() {
				return ended
			}
		}
	}
	return ended
}

// into returns the function that appends the transfers of a message to memory.
func (c *Core) into(to *tl.Block, ring *ipcq.Ring) (func([]pe.Request, memory.Bytes, memory.Bytes) []pe.Request, error) {
	if err := c.find(to); err != nil {
		return nil, err
	}
	pieces := slices.Clone(c.pieces)
	paths := make([][]topology.LinkID, len(pieces))
	for i, p := range pieces {
		paths[i] = c.m.Route(nil, ring.Memory, p.Memory)
	}
	return func(out []pe.Request, off, n memory.Bytes) []pe.Request {
		for i, p := range pieces {
			whole := p.Region
			size := whole.Bytes()
			for off < size && n > 0 {
				take := min(n, size-off)
				var ok bool
				if p.Region, ok = whole.Part(off, take); !ok { // to the end of a row, or whole rows
					if take = whole.RowBytes - off%whole.RowBytes; take == whole.RowBytes {
						take = min(n, size-off) / take * take
					}
					p.Region, _ = whole.Part(off, take)
				}
				out = append(out, pe.Request{Op: memory.Write, Path: paths[i], To: p})
				off, n = off+take, n-take
			}
			off -= size
		}
		return out
	}, nil
}

// Seen records in the op log that a message has arrived.
func (m *System) Seen(id oplog.ID) {
	op := m.Log.Op(id)
	op.End = m.Engine.Now()
	if m.causedByOperand(op) {
		op.Start = m.Log.Op(op.Cause).End
	}
}

// matched records that a receive knows its message.
func (m *System) matched(id oplog.ID) {
	op, rc := m.Log.Op(id), m.receives[id]
	if len(op.Mem) > 0 {
		delete(m.receives, id) // its end is that of a transfer
	}
	op.Args[0] = oplog.Operand{From: rc.Send, Shape: rc.Shape, DType: rc.DType}
	op.Start, op.Cause = max(m.Engine.Now(), rc.At), rc.Send
}

// received records the end of a receive into a tile.
func (m *System) received(id oplog.ID) {
	op := m.Log.Op(id)
	op.End = max(m.receives[id].End, op.Start)
	delete(m.receives, id)
}
