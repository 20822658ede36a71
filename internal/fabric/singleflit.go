package fabric

import (
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/topology"
)

// A message of one flit that touches no HBM, such as a small queue message, a credit or a
// command, cannot be split. While every link is free, it takes one event for the whole path:
// it reserves the links ahead that are idle now. A message that arrives at a reserved link
// earlier withdraws the reservation; the first message then arrives there with an event.
// Where a message must wait, it becomes a train.

// passSingleFlit sends message i over the given link at the current time, and ahead over the
// idle links that follow on its path. If the link is not free, the message becomes a train.
func (m *trains) passSingleFlit(i int32, link stage) {
	l := m.link(link) // the event carries the link, so that the loads of l and msg overlap
	msg := m.messages.At(i)
	now := m.eng.Now()
	if l.ahead > now {
		m.withdraw(link, l)
	} else if !m.isFree(l, link, now) {
		m.convertToTrain(i, int(msg.at))
		return
	}
	at := now
	for st := int(msg.at); ; {
		takes := m.serialize(l.hop.Bandwidth, msg.Bytes)
		if l.hop.Bandwidth != topology.Unlimited { // else no message waits
			l.free = at + takes
			l.ahead, l.by = at, i
		}
		l.bytes += msg.Bytes
		l.busy += takes
		l.count++
		if m.observe != nil {
			m.observePassage(i, true, Passage{Link: link, Bytes: msg.Bytes, Head: at, Start: at, End: at + takes, ID: m.passageOf(i, st)})
		}
		leaves := msg.leaves && int(msg.left.stage) == st
		if leaves {
			m.eng.At(at+takes, m.target, evSingleFlitLeft|msg.sequence(), uint64(uint32(i)))
		}
		at += takes + l.hop.Latency
		if st++; st == len(msg.stages) {
			msg.at = uint16(st)
			m.eng.AtIn(int32(l.after), at, m.target, evSingleFlitEnd|msg.sequence(), uint64(uint32(i)))
			return
		}
		link = msg.stages[st]
		// A message reserves no link in another partition.
		if l.of != l.after {
			msg.at = uint16(st)
			m.eng.AtIn(m.partition(msg.stages, int32(st)), at, m.target, evSingleFlit|msg.sequence(), uint64(link)<<32|uint64(uint32(i)))
			return
		}
		// Messages of this instant keep their order. A message reserves no link behind the one
		// of its Left event, so that both are withdrawn together.
		if l = m.link(link); at == now || leaves || !m.isIdle(l, link, now) || m.cfg.stepwise {
			msg.at = uint16(st)
			m.eng.At(at, m.target, evSingleFlit|msg.sequence(), uint64(link)<<32|uint64(uint32(i)))
			return
		}
	}
}

// passageOf returns the ID, for the observer, of the passage of single-flit message i over
// link number st of its path.
func (m *trains) passageOf(i int32, st int) uint64 {
	msg := m.messages.At(i)
	if st == 0 {
		msg.passages = m.passage
		m.passage += uint64(len(msg.stages))
	}
	return msg.passages + 1 + uint64(st)
}

// sequence returns the part of an event's kind that distinguishes the pending event of a
// single-flit message from those before a withdrawal.
func (m *message) sequence() sim.Kind { return sim.Kind(m.endSeq) << kindBits }

// isIdle reports whether link l, whose number is `link`, serves nothing now and has no
// reservation.
func (m *trains) isIdle(l *linkState, link stage, now Time) bool {
	if l.free > now {
		return false
	}
	if !l.served {
		return true
	}
	s := m.byLink[link]
	return s.queuesEmpty() && s.latest < now
}

// withdraw cancels the reservation of link l, whose number is `link`, and those that the same
// message has made behind it. The message arrives at the link with an event.
func (m *trains) withdraw(link stage, l *linkState) {
	i, arrives, now := l.by, l.ahead, m.eng.Now()
	msg := m.messages.At(i)
	for st := int(msg.at) - 1; ; st-- {
		l := m.link(msg.stages[st])
		takes := m.serialize(l.hop.Bandwidth, msg.Bytes)
		if l.hop.Bandwidth != topology.Unlimited { // else no message waits
			l.free, l.ahead = now, 0
		}
		l.bytes -= msg.Bytes
		l.busy -= takes
		l.count--
		if m.observe != nil {
			m.observe(Passage{Link: msg.stages[st], Class: msg.Class, Start: now, End: now, ID: m.passageOf(i, st), Cut: true})
		}
		if msg.stages[st] == link {
			msg.at = uint16(st)
			break
		}
	}
	msg.endSeq++
	m.eng.At(arrives, m.target, evSingleFlit|msg.sequence(), uint64(link)<<32|uint64(uint32(i)))
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

// isFree reports whether link l, whose number is `link`, can serve a single-flit message at
// the time `at` without a wait.
func (m *trains) isFree(l *linkState, link stage, at Time) bool {
	if l.free > at {
		return false
	}
	if !l.served {
		return true
	}
	s := m.byLink[link]
	if !s.queuesEmpty() {
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
	msg, now := m.messages.At(i), m.eng.Now()
	msg.offered = 1
	m.arrive(m.add(&flitRange{
		msg: i, stage: int32(st), class: msg.Class, last: true, flits: 1, short: msg.isShort(0, m.cfg.Flit),
		head: now, tail: now, end: now,
	}, 0), msg.stages[st])
}
