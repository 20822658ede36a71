package fabric

import (
	"math"
	"slices"

	"github.com/kernbench/kernbench/simtime"
)

// Trains of one class that wait for a server at the same time are served together, in a
// round: their flits leave interleaved. At a link, the flits leave in the order of their
// arrivals. At an HBM slice, the channels read the bursts of the reads in turn. A round takes
// one event for each train, however long the trains are. It ends early when another train
// arrives (see yield).

const (
	leastRound = 16 // least length of a round of reads, in turns; shorter reads take turns one by one
	maxRest    = 2  // a round at a link serves a whole train unless it would leave this many times what it serves
)

// place is the part of a round at a link that one of its trains takes.
type place struct {
	round uint64 // number of the round; 0 if the train is served alone
	start Time   // when the first flit can leave
	left  Time   // when the last flit leaves, if all flits arrive in time
	until Time   // end of the round
}

// alone is the place of a train that is served alone.
var alone = place{left: simtime.Never}

// serveRound serves train i at s together with the trains that wait there, and reports
// whether it has done so. If no train can be served together with train i, it does nothing.
func (m *trains) serveRound(s *server, i int32) bool {
	t := m.all.At(i)
	q := &s.queues[t.class]
	if q.first == 0 || s.perFlit == 0 || t.class == Compute && s.queues[Comm].first != 0 {
		return false
	}
	m.round = append(m.round[:0], i)
	switch {
	case s.slice != nil && t.atSource && m.gatherReads(s, q):
		m.rounds += m.step
		m.readRound(s)
		return true
	case s.slice == nil && !t.atSource && m.gatherArrived(s, q):
		m.rounds += m.step
		m.linkRound(s)
		return true
	}
	return false
}

// gatherReads adds all waiting reads of an HBM slice to m.round and shortens those that are
// longer than the shortest. Reads of at most one turn do not shorten the others. It reports
// false, and changes nothing, if a write waits, if a read has several rows, or if the round
// would be short.
func (m *trains) gatherReads(s *server, q *trainQueue) bool {
	for j := q.first; j != 0; j = m.all.At(j).next {
		m.round = append(m.round, j)
	}
	least, share := int64(math.MaxInt64), int64(math.MaxInt64)
	for _, j := range m.round {
		t := m.all.At(j)
		if !t.atSource || m.messages.At(t.msg).banks.Read.Region.Rows > 1 {
			return false
		}
		if t.flits > s.turn() {
			least, share = min(least, t.flits), min(share, m.share(&t.flitRange))
		}
	}
	if least == math.MaxInt64 || least < leastRound*s.turn() {
		return false
	}
	k := max(least, share)
	*q = trainQueue{}
	for _, j := range m.round {
		if t := m.all.At(j); t.flits-k >= s.turn() {
			rest := t.restAfter(k)
			t.flitRange = t.firstFlits(k)
			m.keepAtSource(s, rest)
		}
	}
	return true
}

// keepAtSource puts `rest`, flits of a read that have not been read, into the queue of s.
func (m *trains) keepAtSource(s *server, rest flitRange) {
	q := &s.queues[rest.class]
	for j := q.first; j != 0; j = m.all.At(j).next {
		if w := m.all.At(j); w.msg == rest.msg && w.atSource { // the flits that follow
			w.first = rest.first
			w.flits += rest.flits
			return
		}
	}
	at := max(s.free, m.eng.Now())
	rest.head, rest.tail, rest.end, rest.refill = at, at, at, false
	m.messages.At(rest.msg).waiting = true
	q.push(&m.all, m.add(&rest, at))
}

// readRound reads the trains of m.round from the slice of s. The reads have equal shares of
// the bandwidth. Each read goes to its first link as one train.
func (m *trains) readRound(s *server) {
	start := max(s.free, m.eng.Now())
	var work, first, done Time // first: when the first flit of the round is read
	for _, j := range m.round {
		work += Time(m.all.At(j).flits) * s.perFlit
	}
	taken := s.limitedWork(start, work, m.all.At(m.round[0]).class, true)
	members := len(s.active)
	for k, j := range m.round {
		t := m.all.At(j)
		m.serviceStart(s, &t.flitRange)
		m.count(s, &t.flitRange, 1)
		a := service{flitRange: t.flitRange, since: start, rate: fullRate, round: m.rounds, next: 1}
		part := m.partOf(&a, &t.flitRange, nil)
		if k == 0 {
			flit := part
			flit.To = min(part.From+part.Flit, part.To)
			first = s.slice.Serve(flit, nil)
			part.From, done = flit.To, first
		}
		done = max(done, s.slice.Serve(part, nil))
		s.addService(&a)
	}
	s.slice.Occupy(taken)
	done += taken
	s.free = min(start+work+taken, done)
	for k, i := range m.round {
		a := &s.active[members+k]
		var after Time // service time of the flits that are read after the last flit of a
		for l := range m.round {
			o := &s.active[members+l]
			after += Time(max(0, o.flits-a.flits)) * s.perFlit
			if l > k && o.flits == a.flits {
				after += s.slice.BurstTime
			}
		}
		a.until = s.free
		a.taken = simtime.MulDiv(uint64(taken), uint64(Time(a.flits)*s.perFlit), uint64(work))
		p := m.messages.At(a.msg).progressAt(0)
		floor := max(p.left, m.eng.Now())
		a.left = max(floor, start+s.slice.BurstTime, done-after)
		a.pace = max(1, (a.left-start)/Time(a.flits))
		p.left = a.left
		s.latest = max(s.latest, a.left)
		if a.refill {
			m.refillAt(a.msg, s.free)
		}
		m.sendRead(s, a, i, max(floor, first+Time(k)*s.slice.BurstTime))
	}
}

// sendRead sends the flits of service a, a read of a round, to the first link as train i.
// `head` is when the first flit is read.
func (m *trains) sendRead(s *server, a *service, i int32, head Time) {
	perFlit := m.server(m.messages.At(a.msg).stages[1]).perFlit
	t := m.all.At(i)
	t.flitRange = a.flitRange
	t.stage, t.atSource, t.refill, t.earlier = 1, false, false, 0
	t.head, t.tail = min(head, a.left), a.left
	if group := m.groupFlits(s); Time(t.flits-group)*perFlit <= t.tail-t.head {
		// The link sends each group of bursts before the next one is read.
		t.tail += Time(max(0, min(group, t.whole())-1)) * perFlit
	}
	t.end = t.tail
	if t.flits == 1 {
		t.head = t.tail
	} else if t.short {
		t.end += perFlit
	}
	delay, fed := m.skipFirst(s, a)
	m.observeFirst(a, t.head)
	start := t.head
	if fed != nil {
		start = m.startFed(&t.flitRange, start, perFlit)
	}
	m.skipTo(a.next, delay, fed, &t.flitRange, start)
	a.forwarded, a.forwardedAt = m.forward(i)
}

// gatherArrived adds the waiting trains to m.round whose heads arrived together with the
// first flits of the first train. It reports false, and changes nothing, if there are none.
// Flits that arrive after the last flit of another train of the round stay in the queue if
// they are many.
func (m *trains) gatherArrived(s *server, q *trainQueue) bool {
	t := m.all.At(m.round[0])
	if t.flits <= s.turn() {
		return false
	}
	limit := t.arrival(max(s.turn(), t.flits/4))
	end, share := t.end, m.share(&t.flitRange)
	for before, j := int32(0), q.first; j != 0; {
		o := m.all.At(j)
		next := o.next
		if o.atSource {
			break
		}
		if o.head > limit || o.head >= t.end {
			end = min(end, o.head)
			break
		}
		if m.inRound(o.msg) {
			before = j
		} else {
			q.remove(&m.all, before, j)
			m.round = append(m.round, j)
			if o.flits > s.turn() {
				end, share = min(end, o.end), min(share, m.share(&o.flitRange))
			}
		}
		j = next
	}
	if len(m.round) == 1 {
		return false
	}
	for _, j := range m.round {
		o := m.all.At(j)
		k := max(o.arrivedBy(end), share, s.turn())
		if o.flits-k >= max(s.turn(), maxRest*k) {
			rest := o.restAfter(k)
			o.flitRange = o.firstFlits(k)
			m.requeue(s, rest)
		}
	}
	return true
}

// inRound reports whether a train of message i is in m.round.
func (m *trains) inRound(i int32) bool {
	return slices.ContainsFunc(m.round, func(j int32) bool { return m.all.At(j).msg == i })
}

// linkRound serves the trains of m.round at the link of s. A flit leaves after all flits of
// the round that arrived before it.
func (m *trains) linkRound(s *server) {
	start := max(s.free, m.eng.Now())
	var work Time
	for _, j := range m.round {
		work += m.arrivedWork(s, &m.all.At(j).flitRange, simtime.Never)
	}
	taken := s.limitedWork(start, work, m.all.At(m.round[0]).class, false)
	until := start + work + taken
	after := func(part Time) Time { return start + simtime.MulDiv(uint64(part), uint64(work+taken), uint64(work)) }
	m.places = m.places[:0]
	for k, j := range m.round {
		t := m.all.At(j)
		var first, last Time // work that goes before the first flit of t, and before its end
		for l, i := range m.round {
			o := &m.all.At(i).flitRange
			if l < k {
				first += m.arrivedWork(s, o, t.head)
			}
			end := t.end
			if l > k {
				end-- // of flits that arrive at one instant, those of the first train go first
			}
			last += m.arrivedWork(s, o, end)
		}
		m.places = append(m.places, place{round: m.rounds, start: after(first), left: after(last), until: until})
	}
	for k, j := range m.round {
		t := m.all.At(j)
		start, waits := m.serviceStart(s, &t.flitRange)
		if own := m.places[k].start; own > start {
			start, waits = own, waits+own-start
		}
		m.passLink(s, j, start, waits, &m.places[k])
	}
	s.free = until
}

// arrivedWork returns the service time of the flits of t that have arrived at s by the time
// `at`.
func (m *trains) arrivedWork(s *server, t *flitRange, at Time) Time {
	if at >= t.end {
		return Time(t.whole())*s.perFlit + m.shortFlit(s, t)
	}
	return Time(t.arrivedBy(at)) * s.perFlit
}

// shortenRound moves the end of a round of s forward by the time `by`.
func (s *server) shortenRound(round uint64, by Time) {
	for i := range s.active {
		if a := &s.active[i]; a.round == round {
			if s.free == a.until {
				s.free -= by
			}
			a.until -= by
		}
	}
}
