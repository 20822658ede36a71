package fabric

// arrive handles the arrival of train i at the server of stage `at`. It serves the train if
// the server is free and no other train waits. If not, it queues the train. The stage is in
// the event, because looking it up in the message, which is rarely in the processor cache,
// would take longer than the rest of the function.
func (m *trains) arrive(i int32, at stage) {
	t, s := &m.all[i], m.server(at)
	if s.ready(t.class) <= m.eng.Now() && s.queuesEmpty() {
		m.serve(s, i)
		return
	}
	s.queues[t.class].push(m.all, i)
	m.interrupt(s, i)
	m.wakeWhenFree(s)
}

// serveNext serves the next waiting train of s, unless s has become busy since the event
// was scheduled.
func (m *trains) serveNext(s *server) {
	s.woken = 0
	if s.nextReady() <= m.eng.Now() && !s.queuesEmpty() {
		m.serve(s, s.pick(m.all, m.eng.Now()))
	}
}

// serve serves train i at s. If another message waits, it serves only the first flits of
// the train, as many as flitsToServe returns. The remaining flits go back to the queue or,
// at the start of the path, to the source.
func (m *trains) serve(s *server, i int32) {
	t := &m.all[i]
	if k := m.flitsToServe(s, t); k < t.flits {
		rest := t.restAfter(k)
		*t = t.firstFlits(k)
		if t.atSource {
			t.refill = true
			m.returnToSource(rest)
			m.pass(s, i)
		} else {
			m.pass(s, i)
			m.requeue(s, rest)
		}
	} else {
		m.pass(s, i)
	}
	m.wakeWhenFree(s)
}

// returnToSource gives the flits of the train `rest` back to the source of their message,
// which offers them again later. The source had offered these flits, but the server did not
// serve them.
func (m *trains) returnToSource(rest train) { m.sources[rest.msg].offered -= rest.flits }

// flitsToServe returns how many flits of t the server serves now. If no other message
// waits, this is the whole train. If another message waits, it is the flits that arrived
// before that message, but at least a share. A share is the number of flits after which two
// messages take turns. If the rest would be too small for a train, it is the whole train.
func (m *trains) flitsToServe(s *server, t *train) int64 {
	other := s.rival(m.all, t)
	if other == nil {
		return t.flits
	}
	k := min(t.share, other.share)
	if !t.atSource && other.head > t.head {
		gap := t.gap()
		if gap == 0 {
			return t.flits
		}
		k = max(k, 1+int64((other.head-t.head)/gap))
	}
	if !t.atSource && t.flits-k < m.split {
		return t.flits // the rest would be too small for a train
	}
	return min(k, t.flits)
}

// interrupt splits the train in service at s if the waiting train i must be served before
// the last flits of that train. This is so if train i has a higher class, or if it arrived
// before these flits.
func (m *trains) interrupt(s *server, i int32) {
	t, cur := &m.all[i], &s.serving
	now := m.eng.Now()
	if s.perFlit == 0 || s.free <= now+s.perFlit || t.class > cur.class || !cur.residual && t.msg == cur.msg {
		return
	}
	k := s.startedFlits(now)
	if t.class == cur.class && !cur.atSource {
		if gap := cur.gap(); gap == 0 {
			return
		} else if now > cur.head {
			k = max(k, 1+int64((now-cur.head)/gap))
		}
	}
	k = max(1, (k+m.split-1)/m.split) * m.split
	if k >= cur.flits || t.class == cur.class && cur.flits-k < m.split {
		return // the train in service ends at or shortly after the split
	}
	rest := cur.restAfter(k)
	work := Time(k) * s.perFlit // without the part of the rate-limited trains
	s.free = min(s.free, s.since+work+s.limitedWork(s.since, work, cur.class))
	avoided := s.servingDelay / Time(cur.flits) * Time(cur.flits-k)
	s.computeDelay, s.servingDelay = s.computeDelay-avoided, s.servingDelay-avoided
	m.shorten(s, &rest, k)
	*cur = cur.firstFlits(k)
	switch {
	case rest.residual:
		rest.atSource = false
		rest.head = min(rest.head, s.free)
		m.requeue(s, rest)
	case rest.atSource:
		cur.refill = true
		m.returnToSource(rest)
		m.refillAt(rest.msg, s.free)
	default:
		m.requeue(s, rest)
	}
}

// shorten reduces the train in service at s to its first k flits. `rest` is the train of
// the other flits. If the train has not yet arrived at the next server, only k flits arrive
// there, and `rest` follows later. Otherwise the whole train has moved on, and `rest`
// becomes a residual train: it only occupies s, so that later trains wait long enough.
func (m *trains) shorten(s *server, rest *train, k int64) {
	cur := &s.serving
	s.count(m.Fabric, rest, -1)
	if cur.refill {
		m.sources[cur.msg].refillSeq++ // the refill waits for the rest
	}
	switch {
	case cur.residual:
	case s.slice == nil && m.eng.Now() < s.forwardedAt:
		left := max(s.free, cur.head+Time(k-1)*cur.gap()+s.perFlit)
		m.sources[cur.msg].left[cur.stage] = left
		if s.forwarded != 0 {
			moved := &m.all[s.forwarded]
			moved.flits, moved.last, moved.tail = k, false, left+s.hop.Latency
		} else if cur.last {
			m.sources[cur.msg].endSeq++ // the message ends with the rest
		}
		if m.observe != nil {
			part := cur.firstFlits(k)
			m.observe(Passage{Link: s.key, Class: cur.class, Bytes: m.trainBytes(&part), Head: cur.head, Start: s.since, End: left, Cut: true})
		}
	default:
		rest.residual = true
	}
	if s.slice != nil && !cur.residual {
		s.slice.Undo()
		part := cur.firstFlits(k)
		m.access(s, &part, nil, nil)
	}
}

// requeue puts `rest`, the unserved part of a split train, back into the queue of s. It
// inserts `rest` before trains that arrived at the same time, because one of them may be
// the next train of the same message.
func (m *trains) requeue(s *server, rest train) {
	i := m.add(rest)
	s.queues[rest.class].insert(m.all, i, func(other *train) bool { return other.head >= rest.head })
}

// pass serves the whole train i at s and sends it to its next server.
func (m *trains) pass(s *server, i int32) {
	t := &m.all[i]
	perFlit := s.perFlit
	if t.short {
		perFlit = s.serialize(m.messages[t.msg].lastFlitBytes(m.cfg.Flit))
	}
	start, waits := m.serviceStart(s, t)
	s.computeDelay, s.servingDelay = max(0, s.ready(Compute)-start), 0 // reduced by the idle time since
	s.serving, s.since, s.free = *t, start, start+Time(t.flits)*perFlit
	s.count(m.Fabric, t, 1)
	if t.residual || s.slice != nil {
		m.passWithoutLink(s, i)
	} else {
		m.passLink(s, i, perFlit, waits)
	}
}

// serviceStart returns when the service of t at s starts, and how long the first flit of t
// has waited. If t is at its source, it also computes by how much the source defers its
// next train.
func (m *trains) serviceStart(s *server, t *train) (start, waits Time) {
	free := s.ready(t.class)
	start = max(free, t.head)
	waits = start - t.head
	if t.residual {
		return start, waits
	}
	src := &m.sources[t.msg]
	if t.atSource {
		// In the Flit model, the waiting flits would go before each flit of this source.
		// Here the train goes first as a whole. In return, the next train of the source
		// is deferred.
		start = max(free, m.eng.Now())
		src.deferral = Time(t.flits) * s.backlog(m.all, t.class, start)
		t.head, t.tail = start, start
	}
	if s.slice == nil {
		start = max(start, src.left[t.stage])
	}
	return start, waits
}

// passWithoutLink serves train i where it does not move over a link. It is either a
// residual train, which only occupies the server, or a train at the channels of an HBM
// slice. The accesses of successive trains to a slice overlap: a channel that is free
// serves the next train already.
func (m *trains) passWithoutLink(s *server, i int32) {
	switch t := &m.all[i]; {
	case s.slice == nil:
		s.stretchService(t)
	case t.residual:
		s.slice.Occupy(s.since, Bytes(t.flits)*m.cfg.Flit)
	default:
		s.free = min(s.free, m.passHBM(s, i))
	}
	if t := &m.all[i]; t.refill { // passHBM may have moved m.all
		m.refillAt(t.msg, s.free)
	}
	m.drop(i)
}

// passLink sends train i over the link of s to its next server or to its destination.
// perFlit is the service time of a flit of the train. `waits` is the time that the first
// flit of the train has waited.
func (m *trains) passLink(s *server, i int32, perFlit, waits Time) {
	t := &m.all[i]
	left := max(s.free, t.tail+perFlit) // when the last flit leaves
	if s.addRateLimited(t, s.since) {
		s.free = s.since + perFlit
	} else {
		s.stretchService(t)
		left = max(left, s.free)
	}
	m.sources[t.msg].left[t.stage] = left
	if t.refill {
		m.refillAt(t.msg, left)
	}
	if t.atSource {
		s.wait(waits, 1) // the other flits are offered when they can be served
	} else {
		s.wait((waits+left-perFlit-t.tail)/2, t.flits) // the mean of the first and the last flit
	}
	if m.observe != nil {
		m.observePassage(t.msg, t.first == 0, Passage{Link: s.key, Bytes: m.trainBytes(t), Head: t.head, Start: s.since, End: left})
	}
	t.stage++
	t.head, t.tail = s.since+perFlit+s.hop.Latency, left+s.hop.Latency
	t.atSource, t.refill = false, false
	if stages := m.messages[t.msg].stages; int(t.stage) < len(stages) {
		s.forwarded, s.forwardedAt, s.lastArrival = i, t.head, t.head
		m.arriveAt(t.head, i, stages[t.stage])
		return
	}
	s.forwarded, s.forwardedAt = 0, t.tail
	if t.last {
		m.finishAt(t.msg, t.tail)
	}
	m.drop(i)
}

// trainBytes returns the total size of the flits of t.
func (m *trains) trainBytes(t *train) Bytes {
	all := Bytes(t.flits) * m.cfg.Flit
	return min(all, m.messages[t.msg].Bytes-Bytes(t.first)*m.cfg.Flit)
}

// arriveAt schedules the arrival of train i at the server of stage `at`. `head` is the time
// of the arrival.
func (m *trains) arriveAt(head Time, i int32, at stage) {
	m.eng.At(head, m.target, evArrive, uint64(uint32(at))<<32|uint64(uint32(i)))
}

// finishAt schedules the end of message i. Incrementing endSeq of the message's source
// cancels the scheduled end.
func (m *trains) finishAt(i int32, at Time) {
	m.eng.At(at, m.target, evFinish, uint64(m.sources[i].endSeq)<<32|uint64(uint32(i)))
}

// refillAt schedules the time at which the source of message i offers its next train.
// Incrementing refillSeq of the source cancels the scheduled offer.
func (m *trains) refillAt(i int32, at Time) {
	m.eng.At(at, m.target, evRefill, uint64(m.sources[i].refillSeq)<<32|uint64(uint32(i)))
}

// wakeWhenFree schedules an event that serves the queue of s when s becomes free. It does
// nothing if no train waits or the event is scheduled already.
func (m *trains) wakeWhenFree(s *server) {
	if at := max(s.nextReady(), m.eng.Now()); !s.queuesEmpty() && s.woken != at+1 {
		s.woken = at + 1 // 0 means none
		m.eng.At(at, m.target, evFree, uint64(uint32(s.key)))
	}
}
