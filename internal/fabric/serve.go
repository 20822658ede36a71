package fabric

// arrive handles the arrival of train i at the server of stage `at`. It serves the train if
// the server is free and no other train waits there. If not, it queues the train. The stage
// is in the event, because looking it up in the message, which is rarely in the processor
// cache, would take longer than the rest of the function.
func (m *trains) arrive(i int32, at stage) {
	t, s := m.all.At(i), m.server(at)
	if t.void {
		m.drop(i)
		return
	}
	now := m.eng.Now()
	if s.free <= now && (s.queuesEmpty() || s.nextReady(&m.all) > now) {
		m.serve(s, i)
		return
	}
	if s.ahead > now {
		m.withdraw(at, &s.linkState)
		m.arrive(i, at)
		return
	}
	if s.queues[t.class].join(&m.all, &t.flitRange) {
		m.drop(i)
		return
	}
	s.queues[t.class].push(&m.all, i)
	m.interrupt(s, i)
	m.wakeWhenFree(s)
}

// serveNext serves the next waiting train of s, unless s has become busy since the event
// was scheduled. It ignores an event that another one has replaced.
func (m *trains) serveNext(s *server) {
	if s.woken != m.eng.Now()+1 {
		return
	}
	s.woken = 0
	if s.nextReady(&m.all) <= m.eng.Now() {
		m.serve(s, s.pick(&m.all, m.eng.Now()))
	} else {
		m.wakeWhenFree(s)
	}
}

// serve serves train i at s. If another message waits, it serves only the first flits of
// the train, as many as flitsToServe returns. The remaining flits go back to the queue or,
// at the start of the path, to the source.
func (m *trains) serve(s *server, i int32) {
	s.forget(m.eng.Now())
	if m.all.At(i).first > 0 && !m.trim(i) {
		m.wakeWhenFree(s)
		return
	}
	if len(s.active) > 0 {
		m.cutForNext(s, i)
	}
	if s.queuesEmpty() {
		m.pass(s, i)
		return
	}
	if m.serveRound(s, i) {
		m.wakeWhenFree(s)
		return
	}
	t := m.all.At(i)
	if k := m.flitsToServe(s, &t.flitRange); k < t.flits {
		rest := t.restAfter(k)
		t.flitRange = t.firstFlits(k)
		if t.atSource {
			t.refill = true
			m.messages.At(t.msg).offered -= rest.flits
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

// trim removes the flits of train i that the server has already served, and reports whether
// any flit is left. A server serves a flit too early if the train was cut before the flit
// came, and the server learned of the cut only later.
func (m *trains) trim(i int32) bool {
	t := m.all.At(i)
	switch k := m.messages.At(t.msg).progressAt(t.stage).passed - t.first; {
	case k <= 0:
		return true
	case k < t.flits:
		t.flitRange = t.restAfter(k)
		return true
	}
	m.drop(i)
	return false
}

// flitsToServe returns how many flits of t the server serves now. If no other message
// waits, this is the whole train. If another message waits, it is the flits that arrived
// before that message, but at least a share. A share is the number of flits after which two
// messages take turns. If the rest would be too small for a train, it is the whole train.
func (m *trains) flitsToServe(s *server, t *flitRange) int64 {
	other := s.rival(&m.all, t)
	if other == nil {
		return t.flits
	}
	k := max(s.turn(), min(m.share(t), m.share(&other.flitRange)))
	if !t.atSource {
		if other.head > t.head {
			k = max(k, t.arrivedBy(other.head))
		}
		if t.flits-k < s.turn() {
			return t.flits // the rest would be too small for a train
		}
	}
	return min(k, t.flits)
}

// interrupt cuts the train that occupies s if the waiting train i must be served before the
// last flits of that train. This is so if train i has a higher class, or if it arrived
// before these flits.
func (m *trains) interrupt(s *server, i int32) {
	now := m.eng.Now()
	if s.perFlit == 0 || s.free <= now+s.perFlit {
		return
	}
	s.forget(now)
	for j := range s.active {
		if a := &s.active[j]; a.rate == fullRate && a.until > now {
			m.yield(s, j, &m.all.At(i).flitRange)
		}
	}
}

// cutForNext cuts the trains in service that compete with train i. The server s is free, and
// train i starts now. Two kinds of trains can still be in service: rate-limited trains, and
// trains that have waited and whose last flits have not arrived yet. cutForNext cuts none of
// them if the bandwidth suffices for train i as well.
func (m *trains) cutForNext(s *server, i int32) {
	t := m.all.At(i)
	start := max(s.free, m.eng.Now(), t.head)
	if s.spareRate(&t.flitRange, start) < fullRate {
		return
	}
	small := t.flits <= s.turn()
	for j := range s.active {
		if a := &s.active[j]; t.class < a.class || t.class == a.class && !small {
			m.yield(s, j, &m.all.At(i).flitRange)
		}
	}
}

// yield cuts service number j of server s in favour of train t, which waits. The service
// keeps the flits that have started to leave and, if t has the same class, the flits that
// arrived before t. yield does nothing if the service keeps all flits. It also does nothing
// if later flits of the same message are in service, because flits of a message stay in
// order.
func (m *trains) yield(s *server, j int, t *flitRange) {
	a, now := &s.active[j], m.eng.Now()
	if t.class > a.class || t.msg == a.msg || a.left <= now || s.perFlit == 0 || s.followed(j, now) {
		return
	}
	k := m.keptFlits(s, a, t)
	if k >= a.flits {
		return
	}
	rest := m.cut(s, a, k, a.arrival(k-1))
	msg := m.messages.At(rest.msg)
	switch {
	case !rest.atSource:
		m.requeue(s, rest)
	case s.slice != nil && msg.offered == msg.flits && (t.atSource || !rest.last):
		m.keepAtSource(s, rest)
	default:
		msg.offered -= rest.flits
		msg.waiting = true
		a.refill = true
		m.refillAt(rest.msg, a.left)
	}
}

// keptFlits returns how many flits of service a go before train t, which waits and cuts a:
// the flits that have started to leave, those that have arrived if t has the same class, and
// at least a share if a is at its source. It returns all flits if a ends soon.
func (m *trains) keptFlits(s *server, a *service, t *flitRange) int64 {
	now := m.eng.Now()
	k := int64(1)
	if a.rate == fullRate {
		k = max(k, s.startedFlits(a, now))
	}
	if s.slice != nil && a.stage == 0 {
		k = max(k, m.readBy(s, a, now))
	}
	if !a.atSource && (t.class == a.class || a.rate < fullRate) {
		k = max(k, a.arrivedBy(now))
	}
	if t.class != a.class {
		return k
	}
	share := max(s.turn(), min(m.share(&a.flitRange), m.share(t)))
	var least int64 // flits that may remain
	switch {
	case a.atSource:
		if t.flits > share {
			k = max(k, share)
		}
		if t.atSource {
			least = s.turn()
		}
	case s.slice == nil:
		least = share
	}
	if a.flits-k < least {
		return a.flits
	}
	return k
}

// requeue puts `rest`, the unserved part of a split train, back into the queue of s. It
// inserts `rest` before trains that arrived at the same time, and before later flits of the
// same message, whose arrivals are estimates too.
func (m *trains) requeue(s *server, rest flitRange) {
	rest.refill = false
	q := &s.queues[rest.class]
	for i := q.first; i != 0; i = m.all.At(i).next {
		if later := m.all.At(i); later.msg == rest.msg && later.stage == rest.stage {
			rest.head = min(rest.head, later.head)
			break
		}
	}
	i := m.add(&rest, 0)
	q.insert(&m.all, i, func(other *train) bool { return other.head >= rest.head })
}

// pass serves the whole train i at s and sends it to its next server.
func (m *trains) pass(s *server, i int32) {
	t := m.all.At(i)
	start, waits := m.serviceStart(s, &t.flitRange)
	if s.slice != nil {
		m.count(s, &t.flitRange, 1)
		m.passSlice(s, i, start)
	} else {
		m.passLink(s, i, start, waits, &alone)
	}
}

// serviceStart returns when the service of t at s starts, and how long the first flit of t
// has waited. If t is at its source, it also computes by how much the source defers its
// next train.
func (m *trains) serviceStart(s *server, t *flitRange) (start, waits Time) {
	start = max(s.free, t.head, m.eng.Now())
	waits = start - t.head
	msg := m.messages.At(t.msg)
	if t.atSource {
		start = max(s.free, m.eng.Now())
		// In the Flit model, the waiting flits would go before each flit of this source.
		// Here the train goes first as a whole. In return, the next train of the source
		// is deferred.
		msg.deferral = 0
		if work := s.backlog(&m.all, t.class, start); work > 0 {
			msg.deferral = Time(t.flits) * work
		}
		t.head, t.tail, t.end = start, start, start
		if t.last {
			msg.waiting = false
			t.refill = msg.queued && msg.chain.next != 0
		}
	}
	p := msg.progressAt(t.stage)
	p.passed = t.first + t.flits
	if s.slice == nil {
		start = max(start, p.left)
	}
	return start, waits
}

// passLink sends train i over the link of s to its next server or to its destination. The
// service starts at the time `start`. `waits` is the time that the first flit of the train
// has waited. p is the place of the train in a round, or &alone.
func (m *trains) passLink(s *server, i int32, start, waits Time, p *place) {
	t := m.all.At(i)
	arrived := t.flitRange
	short := m.shortFlit(s, &arrived)
	whole := t.whole()
	work := Time(whole)*s.perFlit + short
	s.bytes += m.trainBytes(&arrived)
	s.busy += work
	s.flits += arrived.flits
	until, pace, rate := start+work, s.perFlit, int64(fullRate)
	if p.round != 0 {
		until = p.until
		pace = max(s.perFlit, (p.left-start)/Time(arrived.flits))
	} else if rate = s.spareRate(&arrived, start); rate < fullRate {
		until = start + s.perFlit
		s.free = until
	} else {
		s.free = until + s.limitedWork(start, work, arrived.class, arrived.atSource)
		if arrived.flits > 1 { // a single flit waits for at most one flit of another train, and has done so
			until = s.free
		}
	}
	var left, wholeLeft Time // when the last flit and the last whole flit have left
	first, last := short, short
	if whole > 0 {
		first = s.perFlit
		wholeLeft = max(start+work-short, arrived.tail+s.perFlit, min(until, p.left)-short)
	}
	if arrived.short {
		left = max(wholeLeft, arrived.end, start) + short
	} else {
		left, last = wholeLeft, s.perFlit
	}
	msg := m.messages.At(arrived.msg)
	msg.progressAt(arrived.stage).left = left
	if arrived.refill {
		m.refillAt(arrived.msg, left)
	}
	if arrived.last && msg.leaves {
		m.leaveAt(&arrived, left)
	}
	if arrived.atSource {
		s.wait(waits, 1) // the other flits are offered when they can be served
	} else {
		s.wait((waits+left-last-arrived.end)/2, arrived.flits) // the mean of the first and the last flit
	}
	var passage uint64
	if m.observe != nil {
		m.passage++
		passage = m.passage
		m.observePassage(arrived.msg, arrived.first == 0, Passage{Link: s.key, Bytes: m.trainBytes(&arrived), Head: arrived.head, Start: start, End: left, ID: passage})
	}
	t.stage++
	t.head, t.end = start+first+s.hop.Latency, left+s.hop.Latency
	t.tail = t.end
	if arrived.short && arrived.flits > 1 {
		t.tail = wholeLeft + s.hop.Latency
	}
	t.atSource, t.refill, t.earlier = false, false, 0
	m.skipUnlimited(&t.flitRange)
	next := t.stage
	forwarded, at := m.forward(i)
	if arrived.flits > 1 {
		s.addService(&service{
			flitRange: arrived, rate: int32(rate), forwarded: forwarded, forwardedAt: at, since: start, until: until, left: left, pace: pace,
			round: p.round, next: next, passage: passage,
		})
	}
}

// forward sends train i to its next server, or to its destination if no server follows. It
// returns the number of the train and when it arrives, or 0 if no event follows the train.
func (m *trains) forward(i int32) (forwarded int32, at Time) {
	t := m.all.At(i)
	msg := m.messages.At(t.msg)
	if int(t.stage) < len(msg.stages) {
		m.arriveAt(t.head, i, msg.stages[t.stage], m.partition(msg.stages, t.stage))
		return i, t.head
	}
	if msg.noted {
		forwarded, at = m.announce(i)
	}
	if t.last {
		m.finishAt(t.msg, t.end)
	}
	if forwarded == 0 {
		m.drop(i)
	}
	return forwarded, at
}

// announce schedules the Arriving event for train i, which is in flight to its destination.
// The event is due when the first flit of the train has arrived, or the last of the flits
// that the message's notice waits for. If the train ends before that flit, there is no
// event. announce returns the same as forward.
func (m *trains) announce(i int32) (forwarded int32, at Time) {
	t := m.all.At(i)
	msg := m.messages.At(t.msg)
	k := max(0, msg.notice.flits-1-t.first)
	if k >= t.flits {
		return 0, 0
	}
	at = t.arrival(k)
	m.eng.AtIn(m.partition(msg.stages, t.stage), at, m.target, evArriving, uint64(i))
	return i, at
}

// arriving calls the Arriving event of the message of train i.
func (m *trains) arriving(i int32) {
	t := m.all.At(i)
	void, event := t.void, m.messages.At(t.msg).notice.event
	m.arrival = Arrival{First: t.first, Flits: t.whole(), Head: t.head, Tail: t.tail}
	m.drop(i)
	if !void {
		m.eng.Call(event)
	}
}

// trainBytes returns the total size of the flits of t.
func (m *trains) trainBytes(t *flitRange) Bytes {
	if !t.short {
		return Bytes(t.flits) * m.cfg.Flit
	}
	return m.messages.At(t.msg).Bytes - Bytes(t.first)*m.cfg.Flit
}

// partition returns the partition in which a message with the given stages is at stage st, or at
// its destination, while the engine is split; else the current one. The link before the stage
// must be in the current partition.
func (m *trains) partition(stages []stage, st int32) int32 {
	if !m.eng.IsSplit() {
		return m.eng.Current()
	}
	return m.partitionAt(stages, st)
}

// partitionAt implements partition, also if the engine is not split.
func (m *trains) partitionAt(stages []stage, st int32) int32 {
	before := st - 1
	for before > 0 && stages[before] < 0 { // at most an HBM slice
		before--
	}
	if stages[before] < 0 {
		return m.eng.Current()
	}
	l := m.link(stages[before])
	if l.of != l.after && int(st) < len(stages) && stages[st] >= 0 {
		of, _ := m.parts.Partitions(stages[st]) // the state of that link is not of this partition
		return of
	}
	return int32(l.after)
}

// arriveAt schedules the arrival of train i at the server of stage `at`, which is in the given
// partition. `head` is the time of the arrival.
func (m *trains) arriveAt(head Time, i int32, at stage, in int32) {
	m.eng.AtIn(in, head, m.target, evArrive, uint64(uint32(at))<<32|uint64(uint32(i)))
}

// finishAt schedules the end of message i. Incrementing endSeq of the message's source
// cancels the scheduled end.
func (m *trains) finishAt(i int32, at Time) {
	msg := m.messages.At(i)
	m.eng.AtIn(m.partition(msg.stages, int32(len(msg.stages))), at, m.target, evFinish, uint64(msg.endSeq)<<32|uint64(uint32(i)))
}

// leaveAt schedules the Left event of the message of t at the time `at`, if t is at the link
// of the event. Incrementing the seq of the event cancels it.
func (m *trains) leaveAt(t *flitRange, at Time) {
	if l := &m.messages.At(t.msg).left; l.stage == t.stage {
		m.eng.At(at, m.target, evLeft, uint64(l.seq)<<32|uint64(uint32(t.msg)))
	}
}

// refillAt schedules the time at which the source of message i offers its next train.
// Incrementing refillSeq of the source cancels the scheduled offer.
func (m *trains) refillAt(i int32, at Time) {
	m.eng.At(at, m.target, evRefill, uint64(m.messages.At(i).refillSeq)<<32|uint64(uint32(i)))
}

// wakeWhenFree schedules an event that serves the queue of s when s becomes free. It does
// nothing if no train waits or the event is scheduled already.
func (m *trains) wakeWhenFree(s *server) {
	if !s.queuesEmpty() {
		m.wake(s)
	}
}

// wake implements wakeWhenFree for a server with a queue.
func (m *trains) wake(s *server) {
	if at := max(s.nextReady(&m.all), m.eng.Now()); s.woken != at+1 {
		s.woken = at + 1 // 0 means none
		m.eng.At(at, m.target, evFree, uint64(uint32(s.key)))
	}
}
