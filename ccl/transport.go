package ccl

import "github.com/kernbench/kernbench/tl"

// Transport carries messages between a rank and its neighbours, addressed by port. Messages
// must not be empty. If every rank has a port for each neighbour, messages go through
// queues. If some rank has more neighbours than a PE has ports, messages go to inboxes in
// the receiver's memory: the sender puts each message behind the previous one, and then
// increments the receiver's signal with the number of the inbox. Each element of an inbox
// is used only once, so no sender waits for free space. Kernels use a Transport in the same
// way in both cases.
type Transport struct {
	t     *tl.PE
	dtype tl.DType
	links map[tl.Port]*inboxLink // by port; nil if messages go through queues
}

// inboxLink is the connection to a neighbour through inboxes.
type inboxLink struct {
	peer     int    // rank in the launch
	signal   int    // signal of the peer that counts our messages
	out      tl.Ptr // address of the next message to the peer, in its inbox
	free     int    // elements that still fit into the inbox of the peer
	in       tl.Ptr // address of the next message from the peer, in our inbox
	inbox    int    // number of our inbox, and of the signal that counts its messages
	received int    // messages received so far
}

// Connect returns the transport of a rank. Messages go through queues if a.Work is not set,
// and otherwise through inboxes. `neighbors` and `inbox` are the functions Neighbors and
// Inbox of the rank's algorithm.
func (a *Args) Connect(t *tl.PE, neighbors func(*Plan, int) []Neighbor, inbox func(*Plan) int) *Transport {
	c := &Transport{t: t, dtype: a.DType}
	if !a.Work.DType.Valid() {
		return c
	}
	size, room := a.InboxElems(inbox), inbox(a.Plan)
	c.links = map[tl.Port]*inboxLink{}
	for i, n := range neighbors(a.Plan, a.Rank) {
		c.links[n.Port] = &inboxLink{
			peer: a.First + n.Rank, signal: n.Inbox, out: a.Work.Add(n.Inbox * size), free: room,
			in: a.Work.Add(i * size), inbox: i,
		}
	}
	return c
}

// InboxElems returns the number of elements between the starts of two inboxes of a rank:
// inbox(p), rounded up to whole bursts of HBM, because messages of two neighbours in one
// burst would wait for each other.
func (p *Plan) InboxElems(inbox func(*Plan) int) int {
	burst := max(1, 256/p.DType.Size())
	return max(1, tl.CDiv(inbox(p), burst)) * burst
}

// link returns the connection through inboxes to the neighbour at a port.
func (c *Transport) link(port tl.Port) *inboxLink {
	l := c.links[port]
	if l == nil {
		c.t.Assert(false, "no port %v: Neighbors of the algorithm gives this rank none", port)
	}
	return l
}

// Send sends a tile to the neighbour at a port. If messages go through queues, it waits
// until the queue has free slots.
func (c *Transport) Send(port tl.Port, x tl.Tile) {
	if c.links == nil {
		c.t.Send(port, x)
	} else {
		c.sendToInbox(port, x)
	}
}

// sendToInbox implements Send for messages that go to inboxes.
func (c *Transport) sendToInbox(port tl.Port, x tl.Tile) {
	l, n := c.link(port), x.Dim(0)
	if n > l.free {
		c.t.Assert(false, "%d elements to port %v, and the inbox there has room for %d: Inbox of the algorithm has to count all that a neighbour sends", n, port, l.free)
	}
	c.t.Put(l.peer, l.out, x)
	c.t.Notify(l.peer, l.signal, tl.Add, 1)
	l.out, l.free = l.out.Add(n), l.free-n
}

// Recv waits for the next message of the neighbour at a port. It returns the n elements of
// the message as a tile.
func (c *Transport) Recv(port tl.Port, n int) tl.Tile {
	if c.links == nil {
		return c.t.Recv(port, tl.Shape{n}, c.dtype)
	}
	return c.recvFromInbox(port, n)
}

// recvFromInbox implements Recv for messages that go to inboxes.
func (c *Transport) recvFromInbox(port tl.Port, n int) tl.Tile {
	l := c.link(port)
	l.received++
	c.t.WaitSignal(l.inbox, tl.GE, l.received)
	x := c.t.Load(l.in, tl.Shape{n}, c.dtype)
	l.in = l.in.Add(n)
	return x
}

// CanRecv returns a case for Select, which holds when a message of the neighbour at a port
// has arrived.
func (c *Transport) CanRecv(port tl.Port) tl.Case {
	if c.links == nil {
		return tl.CanRecv(port)
	}
	l := c.link(port)
	return tl.CanSignal(l.inbox, tl.GE, l.received+1)
}

// CanSend appends a case for Select to `cases`. The case holds when n elements can be sent
// to the neighbour at a port without waiting. CanSend appends nothing if messages go to
// inboxes, because sending to an inbox never waits.
func (c *Transport) CanSend(cases []tl.Case, port tl.Port, n int) []tl.Case {
	if c.links != nil {
		return cases
	}
	return append(cases, tl.CanSend(port, tl.Shape{n}, c.dtype))
}
