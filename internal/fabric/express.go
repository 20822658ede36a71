package fabric

// A message of one flit that touches no HBM, such as a small queue message, a
// credit or a command, cannot be split and has no rest to wait for. As long as it
// finds every link free it travels as an express: one event a link and nothing else.
// Where it has to wait it becomes a train like any other.

// express lets message i over link number st of its path, where it is now.
func (m *trains) express(i int32, st int) {
	msg := &m.messages[i]
	s := m.servers[msg.stages[st]]
	if s == nil {
		s = m.server(msg.stages[st])
	}
	now := m.eng.Now()
	if s.free+s.owed > now || !s.idle() || len(s.slow) > 0 {
		m.join(i, st)
		return
	}
	takes := s.perFlit
	if msg.Bytes != m.cfg.Flit {
		takes = s.shortTime(msg.Bytes)
	}
	s.free = now + takes
	s.bytes += msg.Bytes
	s.busy += takes
	s.flits++
	if m.observe != nil {
		m.observe(Passage{Link: s.id, Head: now, Start: now, End: s.free})
	}
	at := s.free + s.hop.Latency
	if st++; st < len(msg.stages) {
		m.eng.At(at, m.target, evExpress, uint64(st)<<32|uint64(uint32(i)))
	} else {
		m.eng.At(at, m.target, evExpressEnd, uint64(uint32(i)))
	}
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
	}))
}

// shortTime is how long n bytes, less than a flit, take on a link. Most messages of
// one kind are of one size.
func (s *server) shortTime(n Bytes) Time {
	if s.lastShort != n {
		s.lastShort, s.lastTime = n, s.hop.Bandwidth.Serialize(n)
	}
	return s.lastTime
}
