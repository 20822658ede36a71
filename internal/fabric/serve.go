package fabric

// arrive brings a train to the server of its stage. Events know the stage, since looking
// it up at the message, which few have touched lately, takes longer than all the rest.
func (m *trains) arrive(i int32, at stage) {
	t, s := &m.all[i], m.server(at)
	if s.ready(t.class) <= m.eng.Now() && s.idle() {
		m.serve(s, i)
		return
	}
	s.queues[t.class].push(m.all, i)
	m.interrupt(s, i)
	m.wake(s)
}

// freed serves the next train of s, unless s has been given work since.
func (m *trains) freed(s *server) {
	s.woken = 0
	if s.next() <= m.eng.Now() && !s.idle() {
		m.serve(s, s.pick(m.all, m.eng.Now()))
	}
}

// serve lets train i through s: the whole of it, or its share if another message
// waits. The rest waits on, or stays with its source.
func (m *trains) serve(s *server, i int32) {
	t := &m.all[i]
	if k := m.turn(s, t); k < t.flits {
		rest := t.behind(k)
		*t = t.before(k)
		if t.asServed {
			t.refill = true
			m.takeBack(rest)
			m.pass(s, i)
		} else {
			m.pass(s, i)
			m.requeue(s, rest)
		}
	} else {
		m.pass(s, i)
	}
	m.wake(s)
}

// takeBack returns what was offered of a message, and not served, to its source.
func (m *trains) takeBack(rest train) { m.sources[rest.msg].offered -= rest.flits }

// turn is how many flits of t are served before those of another message that
// waits: those that came before the other's, and at least a share.
func (m *trains) turn(s *server, t *train) int64 {
	other := s.rival(m.all, t)
	if other == nil {
		return t.flits
	}
	k := min(t.share, other.share)
	if !t.asServed && other.head > t.head {
		gap := t.gap()
		if gap == 0 {
			return t.flits
		}
		k = max(k, 1+int64((other.head-t.head)/gap))
	}
	if !t.asServed && t.flits-k < m.split {
		return t.flits // what would be left is not worth a train
	}
	return min(k, t.flits)
}

// interrupt splits the train in service at s if train i must not wait for the
// whole of it: it is of a higher class, or came before the rest of it.
func (m *trains) interrupt(s *server, i int32) {
	t, cur := &m.all[i], &s.serving
	now := m.eng.Now()
	if s.perFlit == 0 || s.free <= now+s.perFlit || t.class > cur.class || !cur.ghost && t.msg == cur.msg {
		return
	}
	k := s.begun(now)
	if t.class == cur.class && !cur.asServed {
		if gap := cur.gap(); gap == 0 {
			return
		} else if now > cur.head {
			k = max(k, 1+int64((now-cur.head)/gap))
		}
	}
	k = max(1, (k+m.split-1)/m.split) * m.split
	if k >= cur.flits || t.class == cur.class && cur.flits-k < m.split {
		return // it ends by then, or nearly
	}
	rest := cur.behind(k)
	work := Time(k) * s.perFlit // of what has begun by then, with what goes on in the background
	s.free = min(s.free, s.since+work+s.background(s.since, work, cur.class))
	back := s.lent / Time(cur.flits) * Time(cur.flits-k)
	s.owed, s.lent = s.owed-back, s.lent-back
	m.cutShort(s, &rest, k)
	*cur = cur.before(k)
	switch {
	case rest.ghost:
		rest.asServed = false
		rest.head = min(rest.head, s.free)
		m.requeue(s, rest)
	case rest.asServed:
		cur.refill = true
		m.takeBack(rest)
		m.refill(rest.msg, s.free)
	default:
		m.requeue(s, rest)
	}
}

// cutShort lets s serve only the first k flits of the train it serves. If the
// next server has not seen that train yet, it will see k flits and the rest
// later. Otherwise the whole train has gone on and stays there: the rest only
// occupies s, as a ghost, so that everybody behind it waits as long as they
// should.
func (m *trains) cutShort(s *server, rest *train, k int64) {
	cur := &s.serving
	s.count(m.Fabric, rest, -1)
	if cur.refill {
		m.sources[cur.msg].turn++ // the refill must wait for the rest
	}
	switch {
	case cur.ghost:
	case s.slice == nil && m.eng.Now() < s.passedOn:
		left := max(s.free, cur.head+Time(k-1)*cur.gap()+s.perFlit)
		m.sources[cur.msg].left[cur.stage] = left
		if s.passed != 0 {
			on := &m.all[s.passed]
			on.flits, on.last, on.tail = k, false, left+s.hop.Latency
		} else if cur.last {
			m.sources[cur.msg].end++ // it ends with the rest
		}
		if m.observe != nil {
			part := cur.before(k)
			m.observe(Passage{Link: s.key, Class: cur.class, Bytes: m.trainBytes(&part), Head: cur.head, Start: s.since, End: left, Cut: true})
		}
	default:
		rest.ghost = true
	}
	if s.slice != nil && !cur.ghost {
		s.slice.Undo()
		part := cur.before(k)
		m.access(s, &part, nil, nil)
	}
}

// requeue puts the rest of a split train back, ahead of what arrived at the same time, which
// may be the train behind it.
func (m *trains) requeue(s *server, rest train) {
	i := m.add(rest)
	s.queues[rest.class].insert(m.all, i, func(other *train) bool { return other.head >= rest.head })
}

// pass commits the server to all of train i and sends it on its way.
func (m *trains) pass(s *server, i int32) {
	t := &m.all[i]
	perFlit := s.perFlit
	if t.short {
		perFlit = s.serialize(m.messages[t.msg].short(m.cfg.Flit))
	}
	start, waits := m.begin(s, t)
	s.owed, s.lent = max(0, s.ready(Compute)-start), 0 // what was idle since has paid for it
	s.serving, s.since, s.free = *t, start, start+Time(t.flits)*perFlit
	s.count(m.Fabric, t, 1)
	if t.ghost || s.slice != nil {
		m.passNoLink(s, i)
	} else {
		m.passLink(s, i, perFlit, waits)
	}
}

// begin is when the service of t begins, and how long its first flit has waited.
func (m *trains) begin(s *server, t *train) (start, waits Time) {
	free := s.ready(t.class)
	start = max(free, t.head)
	waits = start - t.head
	if t.ghost {
		return start, waits
	}
	src := &m.sources[t.msg]
	if t.asServed {
		// Each of its flits, one by one, would have let go first what was
		// waiting by then. It goes first as a train, and stands back after.
		start = max(free, m.eng.Now())
		src.yield = Time(t.flits) * s.backlog(m.all, t.class, start)
		t.head, t.tail = start, start
	}
	if s.slice == nil {
		start = max(start, src.left[t.stage])
	}
	return start, waits
}

// passNoLink lets a ghost occupy the server, or takes train i through the channels of an HBM
// slice. Accesses overlap: channels that are free serve the next train, which is asked for
// already.
func (m *trains) passNoLink(s *server, i int32) {
	switch t := &m.all[i]; {
	case s.slice == nil:
		s.makeWay(t)
	case t.ghost:
		s.slice.Occupy(s.since, Bytes(t.flits)*m.cfg.Flit)
	default:
		s.free = min(s.free, m.throughMemory(s, i))
	}
	if t := &m.all[i]; t.refill { // throughMemory may have moved it
		m.refill(t.msg, s.free)
	}
	m.drop(i)
}

// passLink sends train i over a link to its next server, or to its destination.
func (m *trains) passLink(s *server, i int32, perFlit, waits Time) {
	t := &m.all[i]
	left := max(s.free, t.tail+perFlit) // its last flit
	if s.trickles(t, s.since) {
		s.free = s.since + perFlit
	} else {
		s.makeWay(t)
		left = max(left, s.free)
	}
	m.sources[t.msg].left[t.stage] = left
	if t.refill {
		m.refill(t.msg, left)
	}
	if t.asServed {
		s.wait(waits, 1) // the others are offered as they are taken
	} else {
		s.wait((waits+left-perFlit-t.tail)/2, t.flits) // evenly, from the first to the last
	}
	if m.observe != nil {
		m.passed(t.msg, t.first == 0, Passage{Link: s.key, Bytes: m.trainBytes(t), Head: t.head, Start: s.since, End: left})
	}
	t.stage++
	t.head, t.tail = s.since+perFlit+s.hop.Latency, left+s.hop.Latency
	t.asServed, t.refill = false, false
	if stages := m.messages[t.msg].stages; int(t.stage) < len(stages) {
		s.passed, s.passedOn, s.arrives = i, t.head, t.head
		m.arriveAt(t.head, i, stages[t.stage])
		return
	}
	s.passed, s.passedOn = 0, t.tail
	if t.last {
		m.finishAt(t.msg, t.tail)
	}
	m.drop(i)
}

// trainBytes is how much a train carries.
func (m *trains) trainBytes(t *train) Bytes {
	all := Bytes(t.flits) * m.cfg.Flit
	return min(all, m.messages[t.msg].Bytes-Bytes(t.first)*m.cfg.Flit)
}

// arriveAt brings train i to the server of its stage at an instant.
func (m *trains) arriveAt(head Time, i int32, at stage) {
	m.eng.At(head, m.target, evArrive, uint64(uint32(at))<<32|uint64(uint32(i)))
}

// finishAt ends message i at an instant, unless that is put off before.
func (m *trains) finishAt(i int32, at Time) {
	m.eng.At(at, m.target, evFinish, uint64(m.sources[i].end)<<32|uint64(uint32(i)))
}

// refill lets the source of message i offer its next train at an instant, unless
// that is put off before.
func (m *trains) refill(i int32, at Time) {
	m.eng.At(at, m.target, evRefill, uint64(m.sources[i].turn)<<32|uint64(uint32(i)))
}

// wake makes sure that s goes on with its queue when it is free.
func (m *trains) wake(s *server) {
	if at := max(s.next(), m.eng.Now()); !s.idle() && s.woken != at+1 {
		s.woken = at + 1 // so that 0 is none
		m.eng.At(at, m.target, evFree, uint64(uint32(s.key)))
	}
}
