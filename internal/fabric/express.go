package fabric

import (
	"slices"

	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/topology"
)

// A message of one flit that touches no HBM, such as a small queue message, a
// credit or a command, cannot be split and has no rest to wait for. As long as it
// finds every link free it travels as an express: one event a link and nothing else.
// Where it has to wait it becomes a train like any other.

// express lets message i over a link, number st of its path, where it is now.
//
// If all that the next link carries comes over this one, nothing can come between:
// the message passes both in one event.
func (m *trains) express(i int32, st int, link stage) {
	l := &m.lanes[link] // known from the event, to be fetched beside the message
	msg := &m.messages[i]
	at := m.eng.Now()
	if l.state == unused {
		m.lane(link)
	}
	if !m.open(l, at) {
		m.join(i, st)
		return
	}
	for {
		takes := m.serialize(l.hop.Bandwidth, msg.Bytes)
		l.free = at + takes
		l.bytes += msg.Bytes
		l.busy += takes
		l.count++
		if m.observe != nil {
			m.passed(i, true, Passage{Link: link, Bytes: msg.Bytes, Head: at, Start: at, End: l.free})
		}
		at = l.free + l.hop.Latency
		if st++; st == len(msg.stages) {
			m.eng.At(at, m.target, evExpressEnd, uint64(uint32(i)))
			return
		}
		next := msg.stages[st]
		if l.feeds == notKnown {
			l.feeds = m.feeds(link, next)
		}
		if l.feeds == next && l.arrives < m.eng.Now() && m.open(m.lane(next), at) {
			l, link = m.lane(next), next
			continue
		}
		l.arrives = at
		m.eng.At(at, m.target, evExpress|sim.Kind(st)<<8, uint64(next)<<32|uint64(uint32(i)))
		return
	}
}

// serialize is how long a message takes on a link. Most links of a machine are alike,
// and so are most messages.
func (m *trains) serialize(bw topology.BytesPerSec, n Bytes) Time {
	c := &m.lately[bw>>20&3]
	if c.bandwidth != bw || c.bytes != n {
		*c = serialized{bw, n, bw.Serialize(n)}
	}
	return c.takes
}

// serialized is what serialize found out.
type serialized struct {
	bandwidth topology.BytesPerSec
	bytes     Bytes
	takes     Time
}

// feeds is next if all that it carries comes over the link before it. A link that
// feeds one so is followed by no other.
func (m *trains) feeds(link, next stage) stage {
	if f, ok := m.net.(Feeder); ok && f.FedBy(next) == link {
		return next
	}
	return none
}

// open reports whether a link will take an express at an instant, as far as what has
// come by now goes.
func (m *trains) open(l *lane, at Time) bool {
	if l.free > at {
		return false
	}
	if l.state == plain {
		return true
	}
	s := m.numbered(l.server)
	return s.free+s.owed <= at && s.idle() && len(s.slow) == 0
}

// join makes a train of an express that has to wait in front of link st.
func (m *trains) join(i int32, st int) {
	m.source(i)
	if st == 0 {
		m.offer(i)
		return
	}
	msg, now := &m.messages[i], m.eng.Now()
	m.sources[i].offered = 1
	m.arrive(m.add(train{
		msg: i, stage: int32(st), class: msg.Class, last: true, flits: 1, short: msg.isShort(0, m.cfg.Flit),
		head: now, tail: now, share: m.split,
	}), msg.stages[st])
}

// trickle is a train that arrives more slowly than the link could send it. It
// does not block the link: others use what it leaves over.
type trickle struct {
	until Time
	rate  int64 // of the link's bandwidth, in parts of wholeRate
	class Class
}

const wholeRate = 1 << 20

// trickles reports whether t, served from start on, can pass as a trickle: its
// flits come one by one, and the link has that much bandwidth to spare.
func (s *server) trickles(t *train, start Time) bool {
	gap := t.gap()
	if t.ghost || t.asServed || gap <= s.perFlit || start > t.head+s.perFlit {
		return false
	}
	rate := int64((s.perFlit*wholeRate + gap - 1) / gap)
	sum := rate
	s.slow = slices.DeleteFunc(s.slow, func(o trickle) bool { return o.until <= start })
	for _, o := range s.slow {
		sum += o.rate
	}
	if sum > wholeRate {
		return false
	}
	s.slow = append(s.slow, trickle{start + s.perFlit + t.tail - t.head, rate, t.class}) // all but its first flit
	return true
}

// background is what the trickles down to a class take of the link while it does
// other work from start on. They have gone on already, so the other work makes
// way.
func (s *server) background(start, work Time, class Class) (taken Time) {
	spare := int64(wholeRate)
	for _, o := range s.slow {
		if o.until > start && o.class <= class {
			spare -= o.rate
		}
	}
	for _, o := range s.slow {
		if o.until <= start || o.class > class {
			continue
		}
		share := simtime.MulDiv(uint64(o.until-start), uint64(o.rate), wholeRate)
		if spare > 0 {
			share = min(share, simtime.MulDiv(uint64(work), uint64(o.rate), uint64(spare)))
		}
		taken += share
	}
	return taken
}

// makeWay stretches the service of t, which has just begun, by what the trickles
// take. Comm goes before those of class Compute: that is owed to them, and later
// Compute pays for it.
func (s *server) makeWay(t *train) {
	if len(s.slow) == 0 || t.flits == 1 { // a single flit waits for at most one other, and has
		return
	}
	work := s.free - s.since
	taken := s.background(s.since, work, t.class)
	s.free += taken
	if t.class == Comm {
		s.lent = max(0, s.background(s.since, work, Compute)-taken)
		s.owed += s.lent
	}
}
