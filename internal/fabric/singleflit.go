package fabric

import (
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/topology"
)

// A message of one flit that touches no HBM, such as a small queue message, a credit or a
// command, cannot be split. While every link is free, it takes one event per link. Where it
// must wait, it becomes a train.

// passSingleFlit sends message i over the given link, which is number st of its path, at
// the current time. If the link is not free, the message becomes a train.
//
// If all traffic of the next link arrives over this link, no other message can come
// between. Then the message passes both links in one event.
func (m *trains) passSingleFlit(i int32, st int, link stage) {
	l := m.link(link) // the event carries the link, so that the loads of l and msg overlap
	msg := &m.messages[i]
	at := m.eng.Now()
	if !m.isFree(link, at) {
		m.convertToTrain(i, st)
		return
	}
	for {
		takes := m.serialize(l.hop.Bandwidth, msg.Bytes)
		l.free = at + takes
		l.bytes += msg.Bytes
		l.busy += takes
		l.count++
		if m.observe != nil {
			m.observePassage(i, true, Passage{Link: link, Bytes: msg.Bytes, Head: at, Start: at, End: l.free})
		}
		at = l.free + l.hop.Latency
		if st++; st == len(msg.stages) {
			m.eng.At(at, m.target, evSingleFlitEnd, uint64(uint32(i)))
			return
		}
		next := msg.stages[st]
		if l.feeds == notKnown {
			l.feeds = m.fedLink(link, next)
		}
		if l.feeds == next && l.lastArrival < m.eng.Now() && m.isFree(next, at) {
			l, link = m.link(next), next
			continue
		}
		l.lastArrival = max(l.lastArrival, at)
		m.eng.At(at, m.target, evSingleFlit|sim.Kind(st)<<8, uint64(next)<<32|uint64(uint32(i)))
		return
	}
}

// serialize returns how long n bytes occupy a link of bandwidth bw. It caches recent
// results, because most links of a machine have the same bandwidth and most messages the
// same size.
func (m *trains) serialize(bw topology.BytesPerSec, n Bytes) Time {
	c := &m.recent[bw>>20&3]
	if c.bandwidth != bw || c.bytes != n {
		*c = serializeTime{bw, n, bw.Serialize(n)}
	}
	return c.takes
}

// serializeTime is a cached result of serialize.
type serializeTime struct {
	bandwidth topology.BytesPerSec
	bytes     Bytes
	takes     Time
}

// fedLink returns the link `next` if the given link feeds it, else `none`. A link feeds
// another link if all traffic of the other link arrives over it. Its own traffic then
// continues only on the other link, so each link feeds at most one link. A link of unlimited
// bandwidth, which large messages skip, neither feeds nor is fed.
func (m *trains) fedLink(link, next stage) stage {
	f, ok := m.net.(Feeder)
	if !ok || f.FedBy(next) != link || m.isUnlimited(link) || m.isUnlimited(next) {
		return none
	}
	return next
}

// isFree reports whether a link can serve a single-flit message at the time `at` without a
// wait. It considers only the traffic that has arrived by now.
func (m *trains) isFree(link stage, at Time) bool {
	s := m.byLink[link]
	if s == nil {
		return m.link(link).free <= at
	}
	if s.free > at || !s.queuesEmpty() {
		return false
	}
	if s.latest <= at {
		return true
	}
	for i := range s.active {
		if s.active[i].left > at {
			return false
		}
	}
	return true
}

// convertToTrain turns single-flit message i into a train, because it must wait in front of
// the st-th link of its path.
func (m *trains) convertToTrain(i int32, st int) {
	m.initSource(i)
	if st == 0 {
		m.offer(i)
		return
	}
	msg, now := &m.messages[i], m.eng.Now()
	msg.offered = 1
	m.arrive(m.add(&flitRange{
		msg: i, stage: int32(st), class: msg.Class, last: true, flits: 1, short: msg.isShort(0, m.cfg.Flit),
		head: now, tail: now, end: now,
	}, 0), msg.stages[st])
}
