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
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// port is a pair of queues that connects the PE with a peer. out is nil if the port does
// not exist.
type port struct{ out, in *ipcq.Ring }

// port returns the port named p. If the PE has no such port, it returns an error that lists
// the ports of the PE.
func (c *Core) port(p tl.Port) (*port, error) {
	if p >= 0 && int(p) < len(c.ports) && c.ports[p].out != nil {
		return &c.ports[p], nil
	}
	return nil, c.portError(p)
}

// portError returns the error for a port that the PE does not have.
func (c *Core) portError(p tl.Port) error {
	var known []string
	for i := range c.ports {
		if c.ports[i].out != nil {
			known = append(known, tl.Port(i).String())
		}
	}
	if len(known) == 0 {
		return fmt.Errorf("no port %v: the launch has no neighbour table, or this PE is not in it", p)
	}
	return fmt.Errorf("no port %v: this PE has %s", p, strings.Join(known, ", "))
}

// Join connects port `at` of the core with its two queues: queue `out` to the peer and
// queue `in` from the peer.
func (c *Core) Join(at tl.Port, out, in *ipcq.Ring) {
	for int(at) >= len(c.ports) {
		c.ports = append(c.ports, port{})
	}
	c.ports[at] = port{out, in}
	c.turn = 0
}

// Attach sets proc as the process that uses the core's queues. Messages and credits wake
// proc, and reports of deadlocks name it.
func (c *Core) Attach(proc *sim.Proc) {
	for i := range c.ports {
		if c.ports[i].out != nil {
			c.ports[i].out.From.Proc, c.ports[i].in.To.Proc = proc, proc
		}
	}
}

// Leave disconnects the core from its queues. Reports of deadlocks name proc as the process
// that used the queues.
func (c *Core) Leave(proc *sim.Proc) {
	c.Attach(proc)
	clear(c.ports)
	c.ports = c.ports[:0]
}

// Send sends a tile, or a ref to memory, through the queue of a port.
func (c *Core) Send(name tl.Port, v tl.Value) error {
	if err := c.tick(); err != nil {
		return err
	}
	p, err := c.port(name)
	if err != nil {
		return err
	}
	if v.InMem {
		err = c.findRef(&v)
	} else {
		err = c.use(&v)
	}
	if err != nil {
		return err
	}
	ring := p.out
	msg := ipcq.Message{Shape: v.Shape, DType: v.DType, Bytes: memory.Bytes(v.Bytes()), After: c.pe.DMA.LastOrder()}
	if c.m.Log != nil {
		msg.ID = c.recordSend(name, &v)
	}
	if v.InMem {
		return c.sendMemory(ring, &msg)
	}
	for i, n := 0, ring.Fragments(msg.Bytes); i < n; {
		count, at := c.takeCredits(ring, n-i)
		ring.PutTile(&msg, i, count, v.Slot, at+c.scheduler, c.cpu.credit)
		if i += count; i < n && c.poll == 0 { // the link is busy with these fragments
			ring.Gather(c.proc, n-i, at+c.scheduler+simtime.Time(count)*ring.SlotTime)
		}
	}
	return nil
}

// findRef sets c.pieces to the memory of a ref.
func (c *Core) findRef(v *tl.Value) error {
	b := v.Block()
	return c.find(&b, memory.Read)
}

// sendMemory sends the memory c.pieces as a message, without copying it into a tile first.
// A request for each fragment reads the fragment in place. All fragments are one access in
// the PE's program. In the op log, this access takes effect when the read of the last
// fragment begins.
func (c *Core) sendMemory(ring *ipcq.Ring, msg *ipcq.Message) error {
	if len(c.pieces) > 1 {
		return fmt.Errorf("the memory to send is in %d pieces: Load it, or send it piece by piece", len(c.pieces))
	}
	n := ring.Fragments(msg.Bytes)
	t := transfer{id: msg.ID, kind: oplog.Send, core: c, begins: n, ends: n}
	if len(c.pieces) > 0 {
		t.order = c.hold(msg.ID, memory.Read)
	}
	begun, ended := c.m.addTransfer(t)
	for i := range n {
		c.takeCredits(ring, 1)
		r := pe.Request{ID: msg.ID, At: c.arrival(), Begun: begun, Done: ended, Order: t.order}
		if len(c.pieces) > 0 {
			r.From = c.pieces[0]
			whole, off := r.From.Region, memory.Bytes(i)*ring.SlotSize
			var ok bool
			if r.From.Region, ok = whole.Part(off, min(ring.SlotSize, msg.Bytes-off)); !ok {
				return fmt.Errorf("rows of %v do not fill slots of %v evenly: Load it first", whole.RowBytes, ring.SlotSize)
			}
			r.Path = c.m.Route(nil, r.From.Memory, ring.Memory)
			r.Remote = c.remoteSend(&r, ring)
		}
		if r.Remote != nil && r.Remote.Border > 0 { // the memory is read when the last byte has left
			left := *r.Remote
			left.Left = ended
			r.Remote, r.Done = &left, sim.Event{}
		}
		ring.Put(msg, i, 1, &r)
	}
	return nil
}

// remoteSend returns what concerns other SIPs of request r, which sends memory as a message,
// or nil if nothing does.
func (c *Core) remoteSend(r *pe.Request, ring *ipcq.Ring) *pe.Remote {
	tcm := c.pe.Memory(topology.KindTCM)
	var remote pe.Remote
	if r.From.Memory.SIP != tcm.SIP {
		remote.ReadWay = c.m.ControlTime(c.m.Route(nil, tcm, r.From.Memory))
	}
	if ring.Memory.SIP != tcm.SIP { // else the PE knows when the message arrives
		if remote.Border = c.m.Border(r.Path); remote.Border == 0 {
			remote.Border = int32(len(r.Path))
		}
	}
	if remote == (pe.Remote{}) {
		return nil
	}
	return &remote
}

// takeCredits takes credits of a queue for at most n fragments that can travel together. It
// returns their number and the time of the first credit. The CPU's clock advances to the
// time of the last one. If the queue has no credit left, takeCredits waits until a credit
// returns: asleep if c.poll is 0, otherwise polling at the interval c.poll.
func (c *Core) takeCredits(ring *ipcq.Ring, n int) (count int, first simtime.Time) {
	began := c.now
	if c.poll > 0 {
		n = 1 // each poll finds one credit
	}
	for {
		count, first, last := ring.TakeCredits(c.now, n)
		if count > 0 {
			if poll := c.poll; poll > 0 && first > c.now {
				first = c.now + (first-c.now+poll-1)/poll*poll
				c.pe.Polled += first - c.now
				last = first
			}
			c.traceCredit(ring, began, first, last)
			c.now = last
			c.recordWait("credit", began, ring.CreditBy())
			return count, first
		}
		before := c.now
		ring.AwaitCredit(c.proc, c.now)
		if c.poll == 0 {
			c.catchUp()
		} else {
			c.now = before // polls are at multiples of the interval from the first one
		}
	}
}

// receive is a posted receive of a message, and its port.
type receive struct {
	ipcq.Receive
	port tl.Port
}

// Recv receives the next message of the named port; AnyPort stands for any port. The
// message goes into a new tile v, or into memory if `into` is not nil. If `wait` is false,
// Recv returns a handle before the message has arrived. Recv also returns the port of the
// message.
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
		if err := c.newTileOf(v, rc.Bytes, p.in.Parts(rc.Bytes), nil); err != nil {
			return tl.Handle{}, name, err
		}
		rc.Tile = v.Slot
	} else if rc.Into, err = c.requestsInto(into, p.in); err != nil {
		return tl.Handle{}, name, err
	}
	if c.m.Log != nil {
		c.recordRecv(rc, v, into != nil)
	}
	if into != nil {
		c.beginReceiveInto(rc)
	}
	rc.At = c.arrival() // newTile may have taken time
	p.in.Post(&rc.Receive)
	if wait {
		return tl.Handle{}, name, c.await(rc)
	}
	return c.newHandle(pending{receive: rc, id: v.ID}), name, nil
}

// beginReceiveInto adds a receive into the memory c.pieces to the transfers in flight.
func (c *Core) beginReceiveInto(rc *receive) {
	t := transfer{id: rc.ID, core: c, ends: 1, order: c.hold(rc.ID, memory.Write)}
	if len(c.pieces) > 0 {
		t.kind = oplog.Recv
	}
	_, rc.Done = c.m.addTransfer(t)
	rc.Order = t.order
}

// await waits until the message of a receive has arrived.
func (c *Core) await(rc *receive) error {
	began := c.now
	err := rc.Await(c.proc, c.now)
	c.catchUp()
	c.recordWait("message", began, c.proc.Woken)
	if rc.Into == nil && rc.ID == 0 { // nothing refers to it any longer
		c.unusedReceives = append(c.unusedReceives, rc)
	}
	return err
}

// newReceive returns a receive for a new message. It reuses a receive that is no longer in
// use, if there is one.
func (c *Core) newReceive() *receive {
	if n := len(c.unusedReceives); n > 0 {
		rc := c.unusedReceives[n-1]
		c.unusedReceives = c.unusedReceives[:n-1]
		return rc
	}
	return &receive{}
}

// anyPort waits until a port has a message and returns that port. If several ports have a
// message, it chooses among them in round-robin order.
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
				c.recordWait("message", began, c.proc.Woken)
				return tl.Port(p), nil
			}
		}
		c.listen(true)
		c.proc.Park(anyMessage{c})
		c.listen(false)
		c.catchUp()
	}
}

// listen sets whether the arrival of a message on any port wakes the kernel.
func (c *Core) listen(on bool) {
	for i := range c.ports {
		if in := c.ports[i].in; in != nil {
			in.To.Any = on
		}
	}
}

// anyMessage is the condition that RecvAny waits for, as deadlock reports show it.
type anyMessage struct{ *Core }

func (anyMessage) String() string { return "a message on any port" }

// HeldBy returns a process that could end the wait for a message on any port: the first
// sender whose kernel has not ended. If the kernels of all senders have ended, it returns
// one of the ended processes.
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

// requestsInto returns a function that appends requests to a list. The arguments of the
// function are the list, an offset in a message and a number of bytes. The requests write
// these bytes of the message to the memory of block `to`. ring is the queue that holds the
// message.
func (c *Core) requestsInto(to *tl.Block, ring *ipcq.Ring) (func([]pe.Request, memory.Bytes, memory.Bytes) []pe.Request, error) {
	if err := c.find(to, memory.Write); err != nil {
		return nil, err
	}
	pieces := slices.Clone(c.pieces)
	routes := make([]route, len(pieces))
	for i, p := range pieces {
		path := c.m.Route(nil, ring.Memory, p.Memory)
		routes[i] = route{path: path, remote: c.m.Remote(memory.Write, ring.Memory, p.Memory, path)}
	}
	return func(out []pe.Request, off, n memory.Bytes) []pe.Request {
		for i, p := range pieces {
			whole := p.Region
			size := whole.Bytes()
			for off < size && n > 0 {
				take := min(n, size-off)
				var ok bool
				if p.Region, ok = whole.Part(off, take); !ok { // take the rest of a row, or whole rows
					if take = whole.RowBytes - off%whole.RowBytes; take == whole.RowBytes {
						take = min(n, size-off) / take * take
					}
					p.Region, _ = whole.Part(off, take)
				}
				out = append(out, pe.Request{Op: memory.Write, Path: routes[i].path, Remote: routes[i].remote, To: p})
				off, n = off+take, n-take
			}
			off -= size
		}
		return out
	}, nil
}

// RecordVisible records in the op log that the message of a Send has become visible to its
// receiver.
func (m *System) RecordVisible(id oplog.ID) {
	if !m.Log.Kept() {
		return
	}
	op := m.Log.Op(id)
	op.End = m.Engine.Now()
	if m.setCause(op) {
		op.Start = m.Log.Op(op.Cause).End
	}
}

// recordMatch records in the op log which Send a receive has been matched with, and when
// the receive started.
func (m *System) recordMatch(id oplog.ID) {
	rc := m.receives[id]
	m.Log.Match(id, oplog.Operand{From: rc.Send, Shape: rc.Shape, DType: rc.DType})
	if !m.Log.Kept() {
		delete(m.receives, id) // its end need not be recorded
		return
	}
	op := m.Log.Op(id)
	if len(op.Mem) > 0 {
		delete(m.receives, id) // for a receive into memory, a transfer records the end
	}
	op.Start, op.Cause = max(m.Engine.Now(), rc.At), rc.Send
}

// recordReceive records in the op log when a receive into a tile ended.
func (m *System) recordReceive(id oplog.ID) {
	op := m.Log.Op(id)
	op.End = max(m.receives[id].End, op.Start)
	delete(m.receives, id)
}
