package machine

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
func (c *core) port(p tl.Port) (*port, error) {
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

// Send puts a tile, or memory that stands for one, into a queue.
func (c *core) Send(name tl.Port, v tl.Value) error {
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
	msg := ipcq.Message{Shape: v.Shape, DType: v.DType, Bytes: memory.Bytes(v.Bytes()), After: c.pe.DMA.Mark()}
	if c.m.Log != nil {
		op := c.op(oplog.Send)
		op.Shape, op.DType, op.Port, op.Args = v.Shape, v.DType, int32(name), []oplog.Operand{operand(&v)}
		op.Start = c.arrival()
		if v.InMem {
			op.Args[0].Mem = accesses(c.pieces)
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
func (c *core) sendMemory(ring *ipcq.Ring, msg *ipcq.Message) error {
	if len(c.pieces) > 1 {
		return fmt.Errorf("the memory to send is in %d pieces: Load it, or send it piece by piece", len(c.pieces))
	}
	n := ring.Fragments(msg.Bytes)
	t := transfer{id: msg.ID, core: c, begins: n, ends: n}
	for _, p := range c.pieces {
		t.order = c.pe.DMA.Hold(msg.ID, []pe.Access{c.m.Access(p.memory, p.region)}, nil, false)
	}
	begun, ended := c.m.transfers.add(t)
	for i := range n {
		c.credit(ring)
		r := pe.Request{ID: msg.ID, At: c.arrival(), Begun: begun, Done: ended, Order: t.order}
		if len(c.pieces) > 0 {
			whole := c.pieces[0]
			off := memory.Bytes(i) * ring.SlotSize
			part, ok := slice(whole.region, off, min(ring.SlotSize, msg.Bytes-off))
			if !ok {
				return fmt.Errorf("rows of %v do not fill slots of %v evenly: Load it first", whole.region.RowBytes, ring.SlotSize)
			}
			r.From = c.m.Access(whole.memory, part)
			path, err := c.m.route(nil, whole.memory, ring.Memory)
			if err != nil {
				return err
			}
			r.Path = path
		}
		ring.Put(msg, i, &r)
	}
	return nil
}

// slice is bytes off to off+n of a region, in row-major order. ok is false if that
// is not a region.
func slice(r memory.Region, off, n memory.Bytes) (memory.Region, bool) {
	row, col := off/r.RowBytes, off%r.RowBytes
	at := r.Addr + memory.Addr(row*r.Stride+col)
	switch {
	case col+n <= r.RowBytes:
		return memory.Contiguous(at, n), true
	case col == 0 && n%r.RowBytes == 0:
		return memory.Region{Addr: at, Rows: int64(n / r.RowBytes), RowBytes: r.RowBytes, Stride: r.Stride}, true
	}
	return memory.Region{}, false
}

// credit takes a credit, waiting for one to come back if all are out: asleep, or
// looking for it every few cycles.
func (c *core) credit(ring *ipcq.Ring) {
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
		ring.AwaitRoom(c.proc, c.now)
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
func (c *core) Recv(name tl.Port, v *tl.Value, into *tl.Block, wait bool) (tl.Handle, tl.Port, error) {
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
			op.Mem = accesses(c.pieces)
		}
		v.ID = c.m.Log.Add(op)
		if into == nil {
			c.made(v)
		}
		rc.ID = v.ID
		rc.Begun, rc.Done = c.m.recvs.events(rc)
	}
	if into != nil {
		t := transfer{id: rc.ID, core: c, ends: 1, order: c.hold(rc.ID, c.requests)}
		_, rc.Done = c.m.transfers.add(t)
		rc.Order = t.order
	}
	rc.At = c.arrival() // newTile may have taken time
	p.in.Post(&rc.Receive)
	if wait {
		return tl.Handle{}, name, c.await(rc)
	}
	return c.handles.add(pending{receive: rc, id: v.ID}), name, nil
}

// await waits for a receive.
func (c *core) await(rc *receive) error {
	began := c.now
	err := rc.Await(c.proc, c.now)
	c.caughtUp()
	c.waited("message", began, c.proc.Woken)
	if rc.Into == nil && rc.ID == 0 { // nobody is interested in its end
		c.unusedReceives = append(c.unusedReceives, rc)
	}
	return err
}

func (c *core) newReceive() *receive {
	if n := len(c.unusedReceives); n > 0 {
		rc := c.unusedReceives[n-1]
		c.unusedReceives = c.unusedReceives[:n-1]
		return rc
	}
	return &receive{}
}

// anyPort is the port whose turn it is among those with a message, waiting for one.
func (c *core) anyPort() (tl.Port, error) {
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

// listen has the arrival of any message wake the kernel, or no more.
func (c *core) listen(on bool) {
	for i := range c.ports {
		if in := c.ports[i].in; in != nil {
			in.To.Any = on
		}
	}
}

// anyMessage is what RecvAny waits for.
type anyMessage struct{ *core }

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

// into is how a message gets to memory.
func (c *core) into(to *tl.Block, ring *ipcq.Ring) (func([]pe.Request, memory.Bytes, memory.Bytes) []pe.Request, error) {
	if err := c.find(to); err != nil {
		return nil, err
	}
	pieces := slices.Clone(c.pieces)
	c.requests = c.requests[:0]
	paths := make([][]topology.LinkID, len(pieces))
	for i, p := range pieces {
		c.requests = append(c.requests, pe.Request{Op: memory.Write, To: c.m.Access(p.memory, p.region)})
		var err error
		if paths[i], err = c.m.route(nil, ring.Memory, p.memory); err != nil {
			return nil, err
		}
	}
	return func(out []pe.Request, off, n memory.Bytes) []pe.Request {
		for i, p := range pieces {
			size := p.region.Bytes()
			for off < size && n > 0 {
				take := min(n, size-off)
				part, ok := slice(p.region, off, take)
				if !ok { // to the end of a row, or whole rows
					if take = p.region.RowBytes - off%p.region.RowBytes; take == p.region.RowBytes {
						take = min(n, size-off) / take * take
					}
					part, _ = slice(p.region, off, take)
				}
				out = append(out, pe.Request{Op: memory.Write, Path: paths[i], To: c.m.Access(p.memory, part)})
				off, n = off+take, n-take
			}
			off -= size
		}
		return out
	}, nil
}

// seen notes that a message has arrived.
func (m *Machine) seen(id oplog.ID) {
	op := m.Log.Op(id)
	op.End = m.Engine.Now()
	if m.causedByOperand(op) {
		op.Start = m.Log.Op(op.Cause).End
	}
}

// recvs tells the op log of receives.
type recvs struct {
	m      *Machine
	target sim.Target
	all    map[oplog.ID]*receive
}

// events is what a receive calls when it knows its message, and when that is in
// memory.
func (rs *recvs) events(rc *receive) (begun, done sim.Event) {
	rs.all[rc.ID] = rc
	return beginAndEnd(rs.target, uint64(rc.ID))
}

// Handle is those two.
func (rs *recvs) Handle(kind sim.Kind, arg uint64) {
	id := oplog.ID(arg)
	op, rc := rs.m.Log.Op(id), rs.all[id]
	if kind == evBegun {
		if len(op.Mem) > 0 {
			delete(rs.all, id) // its end is that of a transfer
		}
		op.Args[0] = oplog.Operand{From: rc.Send, Shape: rc.Shape, DType: rc.DType}
		op.Start, op.Cause = max(rs.m.Engine.Now(), rc.At), rc.Send
		return
	}
	delete(rs.all, id)
	op.End = max(rc.End, op.Start)
}
