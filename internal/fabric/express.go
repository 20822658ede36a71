package fabric

import (
	"github.com/kernbench/kernbench/internal/sim"
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
