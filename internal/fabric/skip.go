package fabric

// No message ever waits for a link of unlimited bandwidth, nor for a link that carries only
// what is read from one HBM slice and that is as fast as the slice. A train passes such links
// without an event. The counters of the links and the observer see the train as usual.

// skipUnlimited moves t over the links of unlimited bandwidth that follow on its path, and
// returns the sum of their latencies. No message waits for such a link, so that a train
// needs no event there. Small messages skip no link, because then messages that arrive at
// the same time could change places.
func (m *trains) skipUnlimited(t *train) (delay Time) {
	if m.messages[t.msg].flits <= m.turn {
		return 0
	}
	stages := m.messages[t.msg].stages
	for ; int(t.stage) < len(stages) && stages[t.stage] >= 0; t.stage++ {
		link := stages[t.stage]
		if !m.isUnlimited(link) {
			break
		}
		l := m.link(link)
		l.bytes += m.trainBytes(t)
		if m.observe != nil {
			m.passage++
			m.observePassage(t.msg, t.first == 0, Passage{Link: link, Bytes: m.trainBytes(t), Head: t.head + delay, Start: t.head + delay, End: t.end + delay, ID: m.passage})
		}
		delay += l.hop.Latency
	}
	t.head, t.tail, t.end = t.head+delay, t.tail+delay, t.end+delay
	return delay
}

// pass moves t over a link that serves its first flit from the time `start` on and its other
// flits as they arrive. perFlit and short are the service times of a whole flit and of the
// short last flit.
func (t *train) pass(start, perFlit, short, latency Time) {
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

// countSkipped adds the bytes and the busy time of t to the counters of a link that t skips,
// or subtracts them if sign is -1.
func (m *trains) countSkipped(link stage, t *train, sign int64) {
	if m.isUnlimited(link) {
		m.links[link].bytes += Bytes(sign) * m.trainBytes(t)
	} else {
		m.count(m.server(link), t, sign)
	}
}

// uncountSkipped corrects the counters of the links that service a has skipped, after a has
// been cut: the train `rest` does not pass them.
func (m *trains) uncountSkipped(s *server, a *service, rest *train) {
	delay := s.hop.Latency
	for k, link := range m.messages[a.msg].stages[a.stage+1 : a.next] {
		l := &m.links[link]
		m.countSkipped(link, rest, -1)
		perFlit := m.serialize(l.hop.Bandwidth, m.cfg.Flit)
		if s.slice != nil && k == 0 {
			l.free = min(l.free, a.left+Time(m.groupFlits(s))*perFlit)
		}
		if m.observe != nil {
			m.observe(Passage{
				Link: link, Class: a.class, Bytes: m.trainBytes(&a.train), Start: a.since + delay, End: a.left + delay,
				Head: a.since + delay, ID: a.passage + 1 + uint64(k), Cut: true,
			})
		}
		delay += perFlit + l.hop.Latency
	}
}

// skipFirst sets a.next and a.delay of a read that skips the first links of its path: the
// link that the slice s feeds, or links of unlimited bandwidth. It returns the fed link, or
// nil.
func (m *trains) skipFirst(s *server, a *service) (fed *linkState) {
	stages := m.messages[a.msg].stages
	if m.feeds(s, stages) {
		l := m.link(stages[1])
		a.next, a.delay = 2, m.serialize(l.hop.Bandwidth, m.cfg.Flit)+l.hop.Latency
		return l
	}
	for int(a.next) < len(stages) && stages[a.next] >= 0 && m.isUnlimited(stages[a.next]) {
		a.delay += m.link(stages[a.next]).hop.Latency
		a.next++
	}
	return nil
}

// skipTo moves t, which has been read from HBM, over the first links of its path to stage
// `next`. A flit takes the time `delay` for them. `fed` is the first link if the slice feeds
// it, and sends the first flit of t at the time `start`; else it is nil.
func (m *trains) skipTo(next int32, delay Time, fed *linkState, t *train, start Time) {
	t.stage = next
	if fed == nil {
		t.head, t.tail, t.end = t.head+delay, t.tail+delay, t.end+delay
		return
	}
	var short Time
	if t.short {
		short = m.serialize(fed.hop.Bandwidth, m.messages[t.msg].lastFlitBytes(m.cfg.Flit))
	}
	t.pass(start, m.serialize(fed.hop.Bandwidth, m.cfg.Flit), short, fed.hop.Latency)
}

// countFirst adds the train of service a, a read, to the counters of the links that it skips.
// `head` is when the first flit is read.
func (m *trains) countFirst(a *service, head Time) {
	a.passage = m.passage // those of the links follow
	for _, link := range m.messages[a.msg].stages[1:a.next] {
		l := m.link(link)
		m.countSkipped(link, &a.train, 1)
		delay := m.serialize(l.hop.Bandwidth, m.cfg.Flit)
		if m.observe != nil {
			m.passage++
			m.observePassage(a.msg, a.first == 0, Passage{Link: link, Bytes: m.trainBytes(&a.train), Head: head, Start: head, End: max(head, a.left) + delay, ID: m.passage})
		}
		head += delay + l.hop.Latency
	}
}

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
