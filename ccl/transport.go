package ccl

import (
	"github.com/kernbench/kernbench/tl"
)

// member is a rank at work: its arguments, its PE, and the ways to its neighbours.
//
// Kernels exchange messages over ports, and never an empty one. Where there are queues
// a port is one. Where a rank has more neighbours than a PE has ports, messages go to
// inboxes in the receiver's memory: the sender puts each one behind the one before
// and then counts it in the receiver's signal of the same number. A kernel uses each
// element of an inbox once, so that nobody ever waits for room.
type member struct {
	*Args
	t     *tl.PE
	lines []line // by port; none if there are queues
	spent []tl.Tile

	waits   []tl.Case // of play
	waiting []int
}

// line is the way to a neighbour and back where there are no queues.
type line struct {
	peer     int    // rank in the launch
	signal   int    // of the peer
	out      tl.Ptr // where the next message goes, in the peer's inbox
	in       tl.Ptr // where the next message from there will be
	inbox    int    // whose signal counts them
	received int    // messages so far
}

// join makes a rank a member, given the neighbours and the inboxes of its algorithm.
func join(t *tl.PE, a *Args, neighbors func(*Plan, int) []Neighbor, inbox func(*Plan) int) *member {
	m := &member{Args: a, t: t}
	if !a.Work.DType.Valid() {
		return m
	}
	size := inbox(a.Plan)
	for i, n := range neighbors(a.Plan, a.Rank) {
		for int(n.Port) >= len(m.lines) {
			m.lines = append(m.lines, line{})
		}
		m.lines[n.Port] = line{
			peer: a.First + n.Rank, signal: n.Inbox, out: a.Work.Add(n.Inbox * size),
			in: a.Work.Add(i * size), inbox: i,
		}
	}
	return m
}

// send sends a tile to the neighbour at a port.
func (m *member) send(port tl.Port, x tl.Tile) {
	if m.lines == nil {
		m.t.Send(port, x)
		return
	}
	l := &m.lines[port]
	m.t.Put(l.peer, l.out, x)
	m.t.Notify(l.peer, l.signal, tl.Add, 1)
	l.out = l.out.Add(x.Dim(0))
}

// recv takes the next message, of n elements, from the neighbour at a port.
func (m *member) recv(port tl.Port, n int) tl.Tile {
	if m.lines == nil {
		return m.t.Recv(port, tl.Shape{n}, m.DType)
	}
	l := &m.lines[port]
	l.received++
	m.t.WaitSignal(l.inbox, tl.GE, l.received)
	x := m.load(l.in, n)
	l.in = l.in.Add(n)
	return x
}

// spend gives a pinned tile back, but not at once: its room would be the next that is
// needed, and it may be on its way to somebody.
func (m *member) spend(x tl.Tile) {
	if m.spent = append(m.spent, x); len(m.spent) > min(m.tiles()/8, 64) {
		m.spent[0].Free()
		m.spent = m.spent[1:]
	}
}

// load brings n elements into TCM.
func (m *member) load(p tl.Ptr, n int) tl.Tile { return m.t.Load(p, tl.Shape{n}, m.DType) }

// addend brings n elements that are to be combined with those of other ranks.
func (m *member) addend(p tl.Ptr, n int) tl.Tile { return m.Addend(m.load(p, n)) }

// copy copies n elements that stay with their rank.
func (m *member) copy(to, from tl.Ptr, n int) {
	if to.Addr == from.Addr {
		return
	}
	for at, n := range m.messages(n) {
		m.t.Store(to.Add(at), m.load(from.Add(at), n))
	}
}

// alone does a collective of one rank, and reports whether it is one.
func (m *member) alone() bool {
	if m.Ranks > 1 || m.Collective == SendRecv {
		return false
	}
	switch {
	case m.Collective == Barrier || m.count(0) == 0:
	case m.Collective.Reduces() && (m.Reduction == PremulSum || m.Reduction == Avg && m.Divisor > 1):
		for at, n := range m.messages(m.count(0)) {
			x := m.addend(m.In(0).Add(at), n)
			m.t.Store(m.Out(0).Add(at), m.Result(x))
		}
	default:
		m.copy(m.Out(0), m.In(0), m.count(0))
	}
	return true
}
