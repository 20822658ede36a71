package fabric

// A train in service can be cut: only its first flits go on, and the rest waits in front of
// the server or goes back to the source. The next server must learn that fewer flits come.
// If the head of the train has not arrived there, the train in flight is shortened. If it
// has arrived, an event cuts the train at the next server when the last of the remaining
// flits arrives. By then the next server has served no other flits of the train, unless it
// expected them too early (see trim). From there the cut moves on in the same way.

// cut says that a server receives no more flits of a message for now.
type cut struct {
	msg   int32
	stage int32 // index of the server in the stages of the message
	at    stage // that stage, since the message is rarely in the processor cache
	end   int64 // index of the first flit that does not come
	void  bool  // replaced by a cut with fewer flits
	next  int32 // the next cut that the server expects; 0 if there is none

	train   int32 // the train in flight that has these flits
	arrives Time  // when the last of the remaining flits arrives
}

// cut reduces the service a of server s to its first k flits, the last of which arrives at
// the time `tail`. It returns the rest. k is 0 if no flit has arrived: arrivals within a
// train are estimates.
func (m *trains) cut(s *server, a *service, k int64, tail Time) (rest flitRange) {
	rest = a.restAfter(k)
	m.count(s, &rest, -1)
	msg := m.messages.At(a.msg)
	if a.refill {
		msg.refillSeq++ // the refill waits for the rest
	}
	whole := a.flitRange
	a.flitRange = a.firstFlits(k)
	a.tail, a.end = tail, tail
	at := msg.progressAt(a.stage)
	at.passed = min(at.passed, a.first+k)
	if s.slice != nil {
		a.left = m.cutSlice(s, a, &whole)
	} else if a.round != 0 {
		a.left = max(a.since+Time(k)*a.pace, a.tail+s.perFlit)
		s.shortenRound(a.round, Time(rest.whole())*s.perFlit+m.shortFlit(s, &rest))
	} else {
		work := Time(k) * s.perFlit
		a.left = max(a.since+work, a.tail+s.perFlit)
		if a.rate == fullRate {
			until := min(a.until, a.since+work+s.limitedWork(a.since, work, a.class, a.atSource))
			a.left = max(a.left, until)
			if s.free == a.until {
				s.free = until
			}
			a.until = until
		}
	}
	if k == 0 {
		a.left = m.eng.Now()
		if a.round == 0 {
			s.free = min(s.free, max(a.since, a.left))
		}
	}
	a.left = max(a.left, m.eng.Now()) // the last of these flits arrives or starts to leave now
	if m.observe != nil && s.slice == nil {
		m.observe(Passage{Link: s.key, Class: a.class, Bytes: m.trainBytes(&a.flitRange), Head: a.head, Start: a.since, End: a.left, ID: a.passage, Cut: true})
	}
	m.cutForwarded(s, a, m.uncountSkipped(s, a, &rest))
	s.latest = max(s.latest, a.left)
	at.left = a.left
	for j := range s.active { // accesses to HBM overlap
		if o := &s.active[j]; o.msg == a.msg && o.stage == a.stage && o.first < a.first {
			at.left = max(at.left, o.left)
		}
	}
	if rest.last && msg.leaves && msg.left.stage == a.stage {
		msg.left.seq++ // the rest leaves last
	}
	if rest.last && int(a.next) == len(msg.stages) {
		msg.endSeq++ // the message ends with the rest
	}
	return rest
}

// cutForwarded tells the next server that only the flits of a arrive, after a has been cut.
// `delay` is the latency from s to that server. In another partition, the server learns of the
// cut after this time.
func (m *trains) cutForwarded(s *server, a *service, delay Time) {
	end, arrives, known, in := a.first+a.flits, a.left+delay, m.eng.Now(), m.eng.Current()
	leaves := a.forwarded != 0 && m.leavesPartition(s, a)
	if leaves {
		known, in = known+delay, m.partition(m.messages.At(a.msg).stages, a.next)
	}
	for a.forwarded != 0 {
		c := cut{msg: a.msg, stage: a.next, end: end, train: a.forwarded, arrives: arrives}
		if a.forwardedAt <= known {
			stages := m.messages.At(a.msg).stages
			if int(a.next) == len(stages) {
				return // the destination, which has no server, has been told already
			}
			c.at = stages[a.next]
			if leaves {
				m.eng.AtIn(in, known, m.target, evCutKnown, uint64(m.cuts.Add(c)))
				return
			}
			m.expectCut(m.cuts.Add(c))
			return
		}
		t := m.all.At(a.forwarded)
		void := end <= t.first
		if leaves {
			m.eng.AtIn(in, known, m.target, evShorten, uint64(m.cuts.Add(c)))
		} else {
			m.shorten(&c)
			if s.slice != nil && !void {
				a.left = max(a.left, t.end-delay)
			}
		}
		if !void {
			return
		}
		a.forwarded, a.forwardedAt = t.earlier, t.at
	}
}

// expectCut schedules cut i, of which the server learns now, for the time at which the last of
// the remaining flits arrives. The cut replaces those with more flits that the server expects.
func (m *trains) expectCut(i int32) {
	c := m.cuts.At(i)
	s := m.server(c.at)
	for j := s.cuts; j != 0; {
		o := m.cuts.At(j)
		if o.msg == c.msg && o.stage == c.stage && o.end > c.end {
			o.void = true
		}
		j = o.next
	}
	c.next, s.cuts = s.cuts, i
	m.eng.At(max(c.arrives, m.eng.Now()), m.target, evCut, uint64(i))
}

// takeCut removes cut i, which is due, and returns it.
func (m *trains) takeCut(i int32) cut {
	c := m.cuts.Take(i)
	at := &m.server(c.at).cuts
	for *at != i {
		at = &m.cuts.At(*at).next
	}
	*at = c.next
	return c
}

// shorten applies c to its train, which is in flight.
func (m *trains) shorten(c *cut) {
	t := m.all.At(c.train)
	switch k := c.end - t.first; {
	case k <= 0:
		t.void = true
	case k < t.flits:
		arrives := max(c.arrives, t.head)
		t.flits, t.last, t.short, t.tail, t.end = k, false, false, arrives, arrives
	}
}

// leavesPartition reports whether s forwards service a to another partition.
func (m *trains) leavesPartition(s *server, a *service) bool {
	if m.parts == nil || s.slice != nil {
		return false
	}
	return m.partitionAt(m.messages.At(a.msg).stages, a.next) != int32(s.of)
}

// applyCut removes the flits that do not come from the trains in service and from the
// waiting trains of a server.
func (m *trains) applyCut(c cut) {
	if c.void {
		return
	}
	s := m.server(c.at)
	for class := range s.queues {
		q := &s.queues[class]
		for before, i := int32(0), q.first; i != 0; {
			t := m.all.At(i)
			next := t.next
			switch k := c.end - t.first; {
			case t.msg != c.msg || t.stage != c.stage || k >= t.flits:
				before = i
			case k <= 0:
				q.remove(&m.all, before, i)
				m.drop(i)
			default:
				t.flitRange = t.firstFlits(k)
				t.head = min(t.head, m.eng.Now()) // was an estimate
				t.tail, t.end = m.eng.Now(), m.eng.Now()
				before = i
			}
			i = next
		}
	}
	if s.latest >= m.eng.Now() { // else all services have ended
		m.cutServices(s, &c)
	}
	m.wakeWhenFree(s)
}

// cutServices removes the flits that do not come from the trains in service at s.
func (m *trains) cutServices(s *server, c *cut) {
	for j := range s.active {
		a := &s.active[j]
		if a.msg != c.msg || a.stage != c.stage || a.left < m.eng.Now() {
			continue // an ended message may have had the same number
		}
		if k := max(0, c.end-a.first); k < a.flits {
			m.cut(s, a, k, m.eng.Now())
		}
	}
}
