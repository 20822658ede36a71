package procpe

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/tl"
)

// Connection joins a port of one member of a group with a port of another, both ways. A
// and B count members from 0.
type Connection struct {
	A     int
	APort tl.Port
	B     int
	BPort tl.Port
}

// Group is workers of a session that run one kernel together, with queues between them.
type Group struct {
	session *Session
	kernel  string
	queues  []*queue
	running int // members that have not left
}

// Join builds the queues of a neighbour table between workers that run no kernel, which are
// the members of the group in that order. kernel is the name of their kernel in errors. The
// caller has checked the table.
func (s *Session) Join(kernel string, members []*Worker, table []Connection) *Group {
	s.mustGoOn()
	g := &Group{session: s, kernel: kernel, running: len(members)}
	for _, c := range table {
		a, b := &end{member: c.A, port: c.APort}, &end{member: c.B, port: c.BPort}
		there, back := &queue{from: a, to: b}, &queue{from: b, to: a}
		g.queues = append(g.queues, there, back)
		members[c.A].core.join(c.APort, port{out: there, in: back})
		members[c.B].core.join(c.BPort, port{out: back, in: there})
	}
	return g
}

// join gives the core the queues of a port.
func (c *core) join(at tl.Port, p port) {
	for int(at) >= len(c.ports) {
		c.ports = append(c.ports, port{})
	}
	c.ports[at] = p
}

// Leave ends the part of a member, whose kernel has ended. When the last member leaves, it
// returns an error if there are messages that no member received.
func (g *Group) Leave(w *Worker) error {
	for _, p := range w.core.ports {
		if p.out != nil {
			p.out.from.ended = true
		}
	}
	w.core.ports, w.core.turn = w.core.ports[:0], 0
	if g.running--; g.running > 0 {
		return nil
	}
	if i := slices.IndexFunc(g.queues, func(q *queue) bool { return len(q.messages) > 0 }); i >= 0 {
		q := g.queues[i]
		return fmt.Errorf("kernel %s on %s: ended with %d slots in use of %v, by messages that nobody received", g.kernel, g.session.rank.name(), q.slots, q)
	}
	return nil
}
