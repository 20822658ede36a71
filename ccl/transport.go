package ccl

import "github.com/kernbench/kernbench/tl"

// Transport carries messages between a rank and its neighbours, by port, and never an empty
// one. Where every rank has a port for each neighbour, a message goes through a queue. Where
// some rank has more neighbours than a PE has ports, messages go to inboxes in the receiver's
// memory: the sender puts each message behind the one before and then counts it in the
// receiver's signal of the same number. Each element of an inbox is used once, so that no
// sender ever waits for room. A kernel that uses a Transport does not know which it is.
type Transport struct {
	t     *tl.PE
	dtype tl.DType
	lines map[tl.Port]*line // nil if there are queues
}

// line is the connection to a neighbour where there are no queues.
type line struct {
	peer     int    // rank in the launch
	signal   int    // of the peer
	out      tl.Ptr // where the next message goes, in the peer's inbox
	room     int    // elements that fit there
	in       tl.Ptr // where the next message from there will be
	inbox    int    // whose signal counts them
	received int    // messages so far
}

// Connect returns the transport of a rank, given Neighbors and Inbox of its algorithm.
func (a *Args) Connect(t *tl.PE, neighbors func(*Plan, int) []Neighbor, inbox func(*Plan) int) *Transport {
	c := &Transport{t: t, dtype: a.DType}
	if !a.Work.DType.Valid() {
		return c
	}
	size := inbox(a.Plan)
	c.lines = map[tl.Port]*line{}
	for i, n := range neighbors(a.Plan, a.Rank) {
		c.lines[n.Port] = &line{
			peer: a.First + n.Rank, signal: n.Inbox, out: a.Work.Add(n.Inbox * size), room: size,
			in: a.Work.Add(i * size), inbox: i,
		}
	}
	return c
}

// line returns the connection to the neighbour at a port.
func (c *Transport) line(port tl.Port) *line {
	l := c.lines[port]
	if l == nil {
		c.t.Assert(false, "no port %v: Neighbors of the algorithm gives this rank none", port)
	}
	return l
}

// Send sends a tile to the neighbour at a port. It waits for room in the queue, if there is
// one.
func (c *Transport) Send(port tl.Port, x tl.Tile) {
	if c.lines == nil {
		c.t.Send(port, x)
		return
	}
	l, n := c.line(port), x.Dim(0)
	if n > l.room {
		c.t.Assert(false, "%d elements to port %v, and the inbox there has room for %d: Inbox of the algorithm has to count all that a neighbour sends", n, port, l.room)
	}
	c.t.Put(l.peer, l.out, x)
	c.t.Notify(l.peer, l.signal, tl.Add, 1)
	l.out, l.room = l.out.Add(n), l.room-n
}

// Recv waits for the next message of the neighbour at a port, of n elements, and returns it.
func (c *Transport) Recv(port tl.Port, n int) tl.Tile {
	if c.lines == nil {
		return c.t.Recv(port, tl.Shape{n}, c.dtype)
	}
	l := c.line(port)
	l.received++
	c.t.WaitSignal(l.inbox, tl.GE, l.received)
	x := c.t.Load(l.in, tl.Shape{n}, c.dtype)
	l.in = l.in.Add(n)
	return x
}

// CanRecv returns the case, for Select, that a message of the neighbour at a port is there.
func (c *Transport) CanRecv(port tl.Port) tl.Case {
	if c.lines == nil {
		return tl.CanRecv(port)
	}
	l := c.line(port)
	return tl.CanSignal(l.inbox, tl.GE, l.received+1)
}

// CanSend appends to cases that there is room for n elements to the neighbour at a port. It
// appends nothing where there always is.
func (c *Transport) CanSend(cases []tl.Case, port tl.Port, n int) []tl.Case {
	if c.lines != nil {
		return cases
	}
	return append(cases, tl.CanSend(port, tl.Shape{n}, c.dtype))
}
