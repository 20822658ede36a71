package fabric

// No message ever waits for a link of unlimited bandwidth, nor for a link that carries only
// what is read from one HBM slice and that is as fast as the slice. A train passes such links
// without an event. The counters of the links and the observer see the train as usual.

// skipUnlimited moves t over the links of unlimited bandwidth that follow on its path, up to
// the link of its Left event, and returns the sum of their latencies. No message waits for
// such a link, so that a train needs no event there. Small messages skip no link, because then messages that arrive at
// the same time could change places.
func (m *trains) skipUnlimited(t *flitRange) (delay Time) {
	msg := m.messages.At(t.msg)
	if msg.flits <= m.turn {
		return 0
	}
	stages := msg.untilBorder(t.stage)
	if len(stages) == 0 || !m.isUnlimited(stages[0]) {
		return 0
	}
	if m.observe != nil {
		m.observeSkipped(t)
	}
	var n int32
	n, delay = m.passUnlimited(stages, m.trainBytes(t))
	t.stage += n
	t.head, t.tail, t.end = t.head+delay, t.tail+delay, t.end+delay
	return delay
}

// observeSkipped reports to the observer that t passes the links of unlimited bandwidth that
// follow on its path.
func (m *trains) observeSkipped(t *flitRange) {
	var delay Time
	for _, link := range m.messages.At(t.msg).untilBorder(t.stage) {
		if !m.isUnlimited(link) {
			return
		}
		m.passage++
		m.observePassage(t.msg, t.first == 0, Passage{Link: link, Bytes: m.trainBytes(t), Head: t.head + delay, Start: t.head + delay, End: t.end + delay, ID: m.passage})
		delay += m.link(link).hop.Latency
	}
}

// pass moves t over a link that serves its first flit from the time `start` on and its other
// flits as they arrive. perFlit and short are the service times of a whole flit and of the
// short last flit.
func (t *flitRange) pass(start, perFlit, short, latency Time) {
	first := short
	var left Time // of the whole flits
	if t.whole() > 0 {
		first = perFlit
		left = max(start+Time(t.whole())*perFlit, t.tail+perFlit)
	}
	t.head = start + first + latency
	t.tail = left + latency
	if t.short {
		t.end = max(left, t.end, start) + short + latency
		if t.flits == 1 {
			t.tail = t.end
		}
	} else {
		t.end = t.tail
	}
}

// uncountSkipped corrects the counters of the links that service a has skipped, after a has
// been cut: the flits `rest` do not pass them. It returns the latency from s to the next
// server of the message.
func (m *trains) uncountSkipped(s *server, a *service, rest *flitRange) (delay Time) {
	delay = s.hop.Latency
	for k, link := range m.messages.At(a.msg).stages[a.stage+1 : a.next] {
		l := m.link(link)
		if m.isUnlimited(link) {
			l.bytes -= m.trainBytes(rest)
		} else {
			m.count(m.server(link), rest, -1)
		}
		perFlit := m.serialize(l.hop.Bandwidth, m.cfg.Flit)
		if s.slice != nil && k == 0 {
			left := a.left + Time(m.groupFlits(s))*perFlit
			p := m.messages.At(a.msg).progressAt(1)
			l.free, p.left = min(l.free, left), min(p.left, left)
		}
		if m.observe != nil {
			m.observe(Passage{
				Link: link, Class: a.class, Bytes: m.trainBytes(&a.flitRange), Start: a.since + delay, End: a.left + delay,
				Head: a.since + delay, ID: a.passage + 1 + uint64(k), Cut: true,
			})
		}
		delay += perFlit + l.hop.Latency
	}
	return delay
}

// skipFirst moves service a, a read, over the first links of its path that need no event: the
// link that the slice s feeds, or links of unlimited bandwidth. It sets a.next and adds the
// train to the counters of the links. It returns the sum of their latencies, and the fed link
// or nil.
func (m *trains) skipFirst(s *server, a *service) (delay Time, fed *linkState) {
	stages := m.messages.At(a.msg).stages
	if m.feeds(s, stages) {
		first := m.server(stages[1])
		a.next = 2
		m.count(first, &a.flitRange, 1)
		return first.perFlit + first.hop.Latency, &first.linkState
	}
	if path := m.messages.At(a.msg).untilBorder(1); len(path) > 0 && m.isUnlimited(path[0]) {
		var n int32
		n, delay = m.passUnlimited(path, m.trainBytes(&a.flitRange))
		a.next += n
	}
	return delay, nil
}

// startFed returns when the link that a slice feeds sends the first flit of t: at the time
// `start`, or when the link has sent the earlier flits of the message. perFlit is the service
// time of a flit on the link.
func (m *trains) startFed(t *flitRange, start, perFlit Time) Time {
	p := m.messages.At(t.msg).progressAt(1)
	start = max(start, p.left)
	p.left = start + Time(t.flits)*perFlit
	return start
}

// skipTo moves t, which has been read from HBM, over the first links of its path to stage
// `next`. A flit takes the time `delay` for them. `fed` is the first link if the slice feeds
// it, and sends the first flit of t at the time `start`; else it is nil.
func (m *trains) skipTo(next int32, delay Time, fed *linkState, t *flitRange, start Time) {
	t.stage = next
	if fed == nil {
		t.head, t.tail, t.end = t.head+delay, t.tail+delay, t.end+delay
		return
	}
	var short Time
	if t.short {
		short = m.serialize(fed.hop.Bandwidth, m.messages.At(t.msg).lastFlitBytes(m.cfg.Flit))
	}
	t.pass(start, m.serialize(fed.hop.Bandwidth, m.cfg.Flit), short, fed.hop.Latency)
}

// observeFirst reports to the observer that the train of service a, a read, passes the links
// that it skips. `head` is when the first flit is read.
func (m *trains) observeFirst(a *service, head Time) {
	if m.observe == nil {
		return
	}
	a.passage = m.passage // those of the links follow
	for _, link := range m.messages.At(a.msg).stages[1:a.next] {
		hop := m.link(link).hop
		delay := m.serialize(hop.Bandwidth, m.cfg.Flit)
		m.passage++
		m.observePassage(a.msg, a.first == 0, Passage{Link: link, Bytes: m.trainBytes(&a.flitRange), Head: head, Start: head, End: max(head, a.left) + delay, ID: m.passage})
		head += delay + hop.Latency
	}
}

// The values of server.feeds that are not links.
const (
	notKnown stage = -2
	none     stage = -1
)

// feeds reports whether slice s feeds the first link of a path, and that link is as fast as
// the slice and not the last one.
func (m *trains) feeds(s *server, stages []stage) bool {
	if s.feeds == notKnown {
		s.feeds = none
		f, ok := m.net.(SliceFeeder)
		if ok && f.FedBySlice(stages[1]) && !m.isUnlimited(stages[1]) && m.server(stages[1]).perFlit <= s.perFlit {
			s.feeds = stages[1]
		}
	}
	return s.feeds == stages[1] && len(stages) > 2 && stages[2] >= 0
}
