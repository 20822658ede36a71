package procpe

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/tl"
)

// A queue between workers has as many slots as a queue of the default simulated system, so
// that a kernel which waits for a free slot there waits here as well. A message takes one
// slot per slotBytes, and at least one.
const (
	slots     = 4
	slotBytes = 4 << 10
)

// fragments returns the number of slots that a message of the given size takes.
func fragments(bytes int64) int { return max(1, int((bytes+slotBytes-1)/slotBytes)) }

// port is the pair of queues between a worker and one peer.
type port struct{ out, in *queue }

// queue carries messages from one worker to another.
type queue struct {
	from, to *queueEnd
	messages []message  // messages sent and not received
	slots    int        // slots that the messages take
	posted   []*receive // receives that wait for messages, in order
}

// queueEnd is one port of a member of a group. One incoming and one outgoing queue end at
// the port.
type queueEnd struct {
	member int
	port   tl.Port
	ended  bool // the member's kernel has ended
}

func (e *queueEnd) String() string { return fmt.Sprintf("member %d %v", e.member, e.port) }

// String returns a text that names both ends of the queue.
func (q *queue) String() string { return fmt.Sprintf("the queue %v -> %v", q.from, q.to) }

// message is a tile that was sent.
type message struct {
	tl.Value
	bytes []byte
}

// receive is a call of Recv or RecvAsync.
type receive struct {
	message        // the expected value; its bytes are those of the tile, if there is one
	tiles   *tiles // nil if the message goes to memory
	port    tl.Port
	queue   *queue
	done    bool
	err     error
}

// hasMessage reports whether the queue has a message that no posted receive will take.
func (q *queue) hasMessage() bool { return len(q.posted) == 0 && len(q.messages) > 0 }

// hasSpace reports whether the queue has enough free slots for a message of the given size.
// A message larger than the queue needs all slots.
func (q *queue) hasSpace(bytes int64) bool { return q.slots+min(fragments(bytes), slots) <= slots }

// match delivers the messages in the queue to the posted receives, in order. If a message
// does not have the size and dtype of its receive, match sets the error of the receive and
// stops.
func (q *queue) match() {
	for len(q.posted) > 0 && len(q.messages) > 0 {
		rc, m := q.posted[0], q.messages[0]
		rc.done = true
		if m.Value.Bytes() != rc.Value.Bytes() || m.DType != rc.DType {
			rc.err = fmt.Errorf("the message from %v is %v, and %v was asked for: send and receive must agree on dtype and size", q.from, m.Value, rc.Value)
			return
		}
		if rc.tiles != nil {
			rc.tiles.slots[rc.Slot].pinned = false
			copy(rc.bytes, m.bytes)
		} else {
			rc.bytes = m.bytes
		}
		q.slots -= fragments(m.Value.Bytes())
		q.posted, q.messages = slices.Delete(q.posted, 0, 1), slices.Delete(q.messages, 0, 1)
	}
}

var errQueues = errors.New("ranks have no queues between them: Put into a window of the peer and Notify it, and have it WaitSignal")

// findPort returns the two queues of the port `at`. It returns an error if the worker has
// no queues at that port.
func (c *core) findPort(at tl.Port) (*port, error) {
	if int(at) >= len(c.ports) || c.ports[at].out == nil {
		return nil, errQueues
	}
	return &c.ports[at], nil
}

// Send puts a tile or a Ref into the outgoing queue of the port `at`. Then it waits while
// the messages in the queue take more slots than the queue has.
func (c *core) Send(at tl.Port, v tl.Value) error {
	p, err := c.findPort(at)
	if err != nil {
		return err
	}
	c.delay()
	bytes, err := c.dataOf(&v)
	if err != nil {
		return err
	}
	q := p.out
	q.messages = append(q.messages, message{tl.Value{Shape: v.Shape, DType: v.DType}, slices.Clone(bytes)})
	q.slots += fragments(v.Bytes())
	q.match()
	if q.slots <= slots {
		return nil
	}
	_, err = c.await(nil, localWait{fmt.Sprintf("a free slot of %v", q), q.to, func() bool { return q.slots <= slots }})
	return err
}

// Recv posts a receive for the next message of the port `at`, or of any port. The message
// goes to the new tile v, or to the block `into` if `into` is not nil. If `wait` is set,
// Recv waits for the message. Otherwise it returns a handle for Wait. The second result is
// the port that the message comes from.
func (c *core) Recv(at tl.Port, v *tl.Value, into *tl.Block, wait bool) (tl.Handle, tl.Port, error) {
	c.delay()
	if at == tl.AnyPort {
		var err error
		if at, err = c.anyPort(); err != nil {
			return tl.Handle{}, at, err
		}
	}
	p, err := c.findPort(at)
	if err != nil {
		return tl.Handle{}, at, err
	}
	rc := &receive{port: at, queue: p.in}
	if into == nil {
		if rc.bytes, err = c.tiles.add(v); err != nil {
			return tl.Handle{}, at, err
		}
		rc.tiles = &c.tiles
		c.tiles.slots[v.Slot].pinned = true // until the message has arrived
	}
	rc.Value = *v
	p.in.posted = append(p.in.posted, rc)
	p.in.match()
	if !wait {
		c.handles++
		if c.receives == nil {
			c.receives = map[tl.Handle]*receive{}
		}
		h := tl.Handle{N: c.handles}
		c.receives[h] = rc
		return h, at, nil
	}
	if err := c.receive(rc); err != nil || into == nil {
		return tl.Handle{}, at, err
	}
	return tl.Handle{}, at, c.write(into, rc.bytes)
}

// receive waits until the message of the posted receive rc has arrived.
func (c *core) receive(rc *receive) error {
	if !rc.done {
		description := fmt.Sprintf("a message %v on %v", rc.Value, rc.queue)
		if _, err := c.await(nil, localWait{description, rc.queue.from, func() bool { return rc.done }}); err != nil {
			return err
		}
	}
	return rc.err
}

// Wait waits for the message of the RecvAsync that returned handle h. The handle of a
// composite needs no wait, because a composite has ended when its call returns.
func (c *core) Wait(h tl.Handle) error {
	rc := c.receives[h]
	if rc == nil {
		return nil
	}
	delete(c.receives, h)
	return c.receive(rc)
}

// anyPort waits until a port has a message and returns that port. If several ports have
// messages, it chooses the ports in turn.
func (c *core) anyPort() (tl.Port, error) {
	if len(c.ports) == 0 {
		return tl.AnyPort, errQueues
	}
	next := func() int {
		for i := range c.ports {
			at := (c.turn + i) % len(c.ports)
			if in := c.ports[at].in; in != nil && in.hasMessage() {
				return at
			}
		}
		return -1
	}
	if next() < 0 {
		if _, err := c.await(nil, localWait{"a message on any port", nil, func() bool { return next() >= 0 }}); err != nil {
			return tl.AnyPort, err
		}
	}
	at := next()
	c.turn = at + 1
	return tl.Port(at), nil
}

// Select waits until at least one of the cases is true. It returns the index of the first
// case of the list that is true.
func (c *core) Select(cases []tl.Case) (int, error) {
	conditions, locals := c.conditions[:0], []localWait(nil)
	for i := range cases {
		if s := &cases[i]; s.Kind == tl.SignalCase {
			conditions = append(conditions, comm.Condition{Signal: s.Signal, Cmp: s.Cmp, Value: s.Value})
			continue
		}
		wait, err := c.portCase(&cases[i])
		if err != nil {
			return 0, err
		}
		locals = append(locals, wait)
	}
	found, err := c.waitAny(conditions, locals...)
	if err != nil || len(locals) == 0 || len(conditions) == 0 {
		return found, err
	}
	// waitAny checks all signals before all ports. Find the first true case of the list.
	for i := range cases {
		holds := false
		if s := &cases[i]; s.Kind == tl.SignalCase {
			holds, err = c.signals.TestSignal(s.Signal, s.Cmp, s.Value)
		} else {
			holds, locals = locals[0].holds(), locals[1:]
		}
		if holds || err != nil {
			return i, err
		}
	}
	return c.Select(cases) // another rank has changed the signal again
}

// portCase returns the condition for case s, which waits for a message on a port or for
// free slots of a port.
func (c *core) portCase(s *tl.Case) (localWait, error) {
	p, err := c.findPort(s.Port)
	if err != nil {
		return localWait{}, err
	}
	if s.Kind == tl.RecvCase {
		return localWait{fmt.Sprintf("a message on %v", p.in), p.in.from, p.in.hasMessage}, nil
	}
	bytes := s.Bytes
	return localWait{fmt.Sprintf("room for %d bytes in %v", bytes, p.out), p.out.to, func() bool { return p.out.hasSpace(bytes) }}, nil
}
