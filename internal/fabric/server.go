package fabric

import (
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
)

// server is a link, or the channels of an HBM slice, in the Train model. The fields are in the
// order in which a train uses them, since most of a machine's servers are not in the processor
// cache: the first two cache lines are all that an arrival at a busy server needs.
type server struct {
	linkState
	queues  [numClasses]trainQueue
	active  []service // trains in service, and some whose service has ended; in order of start
	latest  Time      // no service has a later `left`
	perFlit Time      // service time of a whole flit
	woken   Time      // time of the pending evFree event plus one; 0 for none
	waits
	least int32         // see turn
	cuts  int32         // the first of the cuts whose evCut is pending; 0 if there is none
	slice *memory.Slice // nil for a link
	key   stage
	feeds stage      // of a slice: the link that it feeds; or none, or notKnown
	_     int64      // completes a cache line
	first [1]service // memory of active until two trains are in service
}

// service is a train in service at a server. Its times can still change: another train may
// cut it, or its flits may arrive later than expected.
type service struct {
	flitRange          // as it arrived at the server
	rate        int32  // share of the bandwidth in units of 1/fullRate; less for a rate-limited train
	forwarded   int32  // number of the train in flight to the next server; 0 if none
	left        Time   // when the last flit has left
	since       Time   // start of the service
	until       Time   // the server is occupied until then; only if rate is fullRate
	forwardedAt Time   // when the forwarded train arrives
	pace        Time   // time between the services of two flits, which is longer in a round
	round       uint64 // number of the round in which the train is served; 0 if it is served alone
	next        int32  // index of the next server in the stages of the message
	taken       Time   // delay by rate-limited trains; only at an HBM slice
	passage     uint64 // the ID for the observer; 0 without one
}

const (
	fullRate  = 1 << 20
	rateSlack = fullRate / 32 // by which rate-limited trains may exceed the bandwidth: bursts arrive in groups
)

// linkState is the state of a link. It is the whole state while only single-flit messages
// have used the link. When a train uses the link, the state moves to a server. A linkState
// fits into one cache line, since a machine has many links.
type linkState struct {
	free   Time // when the link can serve the next train
	ahead  Time // when the single-flit message arrives that has reserved the link; past if none has
	hop    Hop
	bytes  Bytes
	busy   Time
	count  uint32 // number of single-flit messages
	by     int32  // that message
	used   bool   // false if the other fields are not set
	served bool   // the state is in a server
	of     uint16 // the partition in which the link transmits
	after  uint16 // the partition in which a message is after the link
}

// server returns the server of stage st, which is a link or an HBM slice. It creates the
// server on first use.
func (m *trains) server(st stage) *server {
	if st >= 0 {
		if s := m.byLink[st]; s != nil {
			return s
		}
	}
	return m.findServer(st)
}

// findServer implements server for HBM slices and for links without a server.
func (m *trains) findServer(st stage) *server {
	slice, ok := hbmSlice(st)
	if !ok {
		l := m.link(st)
		l.served = true
		s := m.newServer(server{linkState: *l, key: st, least: int32(m.turn)})
		s.perFlit = s.hop.Bandwidth.Serialize(m.cfg.Flit)
		m.byLink[st] = s
		return s
	}
	for len(m.slices) <= int(slice) {
		m.slices = append(m.slices, nil)
	}
	if m.slices[slice] == nil {
		h := m.cfg.HBM
		m.slices[slice] = m.newServer(server{
			linkState: linkState{used: true}, feeds: notKnown, key: st, slice: memory.NewSlice(h),
			perFlit: h.BurstTime * Time(m.cfg.Flit) / Time(h.Burst) / Time(h.Channels),
			least:   int32(max(m.turn, groupsPerTurn*int64(Bytes(h.Channels)*h.Burst/m.cfg.Flit))),
		})
	}
	return m.slices[slice]
}

// turn returns the least number of flits after which two messages take turns.
func (s *server) turn() int64 { return int64(s.least) }

// serverBatch is the number of servers that are allocated at a time. Servers never move. A
// batch is so large that it starts at a cache line.
const serverBatch = 128

// newServer adds a server to m.
func (m *trains) newServer(s server) *server {
	n := len(m.servers)
	if n == 0 || len(m.servers[n-1]) == serverBatch {
		m.servers = append(m.servers, make([]server, 0, serverBatch))
		n++
	}
	batch := &m.servers[n-1]
	*batch = append(*batch, s)
	added := &(*batch)[len(*batch)-1]
	added.active = added.first[:0]
	return added
}

// link returns the state of link st. It initializes the state on first use.
func (m *trains) link(st stage) *linkState {
	l := &m.links[st]
	if l.served {
		return &m.byLink[st].linkState
	}
	if !l.used {
		m.initLink(l, st)
	}
	return l
}

// initLink initializes link st, whose state is l.
func (m *trains) initLink(l *linkState, st stage) {
	l.used, l.hop = true, m.net.Hop(st)
	if m.parts != nil {
		of, after := m.parts.Partitions(st)
		l.of, l.after = uint16(of), uint16(after)
	}
}

// shortFlit returns the service time of the short last flit of t. It is 0 if t has none.
func (m *trains) shortFlit(s *server, t *flitRange) Time {
	if !t.short {
		return 0
	}
	return m.serializeShort(s, t.msg)
}

// serializeShort returns the service time of the short last flit of message i.
func (m *trains) serializeShort(s *server, i int32) Time {
	if s.slice != nil {
		return s.perFlit
	}
	return m.serialize(s.hop.Bandwidth, m.messages.At(i).lastFlitBytes(m.cfg.Flit))
}

// count adds the bytes and the busy time of t to the counters of s, or subtracts them if
// sign is -1.
func (m *trains) count(s *server, t *flitRange, sign int64) {
	s.bytes += Bytes(sign) * m.trainBytes(t)
	s.busy += Time(sign) * (Time(t.whole())*s.perFlit + m.shortFlit(s, t))
	s.flits += sign * t.flits
}

// startedFlits returns how many flits of service a have started to leave by now, if it
// uses the whole bandwidth. The time that the server has spent on rate-limited trains does
// not count.
func (s *server) startedFlits(a *service, now Time) int64 {
	spent := now - a.since
	for i := range s.active {
		o := &s.active[i]
		if until := min(o.left, now); o.rate < fullRate && until > a.since && o.class <= a.class {
			spent -= simtime.MulDiv(uint64(until-a.since), uint64(o.rate), fullRate)
		}
	}
	return int64((max(spent, 0) + a.pace - 1) / max(1, a.pace))
}

// followed reports whether flits that follow service number j in the same message are in
// service too.
func (s *server) followed(j int, now Time) bool {
	a := &s.active[j]
	for i := j + 1; i < len(s.active); i++ {
		if o := &s.active[i]; o.msg == a.msg && o.stage == a.stage && o.flits > 0 && o.left >= now {
			return true
		}
	}
	return false
}

// forget removes the services that ended before the time `now`, except rate-limited trains
// that have delayed a train in service. A service that ends now can still be cut by an
// event of this instant.
func (s *server) forget(now Time) {
	if s.latest < now {
		s.active = s.active[:0]
	} else {
		s.forgetEnded(now)
	}
}

// forgetEnded implements forget if a service of s has perhaps not ended.
func (s *server) forgetEnded(now Time) {
	earliest, ended := simtime.Never, false // start of the trains in service
	for i := range s.active {
		if a := &s.active[i]; a.left < now {
			ended = true
		} else if a.rate == fullRate {
			earliest = min(earliest, a.since)
		}
	}
	if !ended {
		return
	}
	kept := 0
	for i := range s.active {
		if a := &s.active[i]; a.left >= now || a.rate < fullRate && a.left > earliest {
			if kept < i {
				s.active[kept] = *a
			}
			kept++
		}
	}
	s.active = s.active[:kept]
}

// addService adds a to the services of s.
func (s *server) addService(a *service) {
	s.active = append(s.active, *a)
	s.latest = max(s.latest, a.left)
}

// nextReady returns when the server can start to serve the next waiting train: when the
// server is free and the train has arrived. A train at its source has always arrived. It
// returns simtime.Never if no train waits.
func (s *server) nextReady(all *sim.Pool[train]) Time {
	at := simtime.Never
	for _, q := range s.queues {
		if q.first == 0 {
			continue
		}
		if t := all.At(q.first); t.atSource {
			at = s.free
		} else {
			at = min(at, max(s.free, t.head))
		}
	}
	return at
}

// queuesEmpty reports whether no train waits for the server.
func (s *server) queuesEmpty() bool { return s.queues[Comm].first == 0 && s.queues[Compute].first == 0 }

// pick removes the train to serve next from the queues and returns its number. This is the
// first train of class Comm if it has arrived by now, else the train of either class that
// arrives first.
func (s *server) pick(all *sim.Pool[train], now Time) int32 {
	comm, compute := s.queues[Comm].first, s.queues[Compute].first
	if compute == 0 || comm != 0 && (all.At(comm).atSource || all.At(comm).head <= max(now, all.At(compute).head)) {
		return s.queues[Comm].pop(all)
	}
	return s.queues[Compute].pop(all)
}

// backlog returns the service time of all flits of the given class that have arrived at the
// server by the time `at` and wait there. Trains that are still at their source do not
// count.
func (s *server) backlog(all *sim.Pool[train], class Class, at Time) (work Time) {
	for i := s.queues[class].first; i != 0; i = all.At(i).next {
		if t := all.At(i); !t.atSource {
			work += Time(t.arrivedBy(at)) * s.perFlit
		}
	}
	return work
}

// rival returns the first waiting train that competes with t for the server: a train of
// another message, of the same class or a higher one. It returns nil if there is none.
func (s *server) rival(all *sim.Pool[train], t *flitRange) *train {
	for class := Comm; class <= t.class; class++ {
		for i := s.queues[class].first; i != 0; i = all.At(i).next {
			if all.At(i).msg != t.msg {
				return all.At(i)
			}
		}
	}
	return nil
}

// spareRate returns the share of the bandwidth that t needs from the time `start` on. It
// returns fullRate, which means that t needs the whole server, in two cases: t arrives as
// fast as the server can serve it, or the trains in service leave too little bandwidth.
func (s *server) spareRate(t *flitRange, start Time) int64 {
	w := t.whole()
	if t.atSource || w < 2 || start > t.head+s.perFlit || t.tail-t.head < (s.perFlit+1)*Time(w-1) {
		return fullRate
	}
	gap := t.gap() // more than s.perFlit
	rate := int64((s.perFlit*fullRate + gap - 1) / gap)
	sum := rate
	for i := range s.active {
		if o := &s.active[i]; o.left > start && o.msg != t.msg {
			sum += s.rateAfter(o, start)
		}
	}
	if sum > fullRate+rateSlack {
		return fullRate
	}
	return rate
}

// rateAfter returns the share of the bandwidth that service a uses from the time `start`
// on, before its last flit leaves.
func (s *server) rateAfter(a *service, start Time) int64 {
	if a.rate < fullRate || a.until > start {
		return int64(a.rate)
	}
	rest := Time(a.flits-a.arrivedBy(start)) * s.perFlit
	return int64(simtime.MulDiv(uint64(rest), fullRate, uint64(a.left-start)))
}

// limitedWork returns how long other work of the link is delayed by rate-limited trains.
// The other work starts at the time `start` and would take the time `work` by itself. Only
// rate-limited trains of the given class or a higher class count. Work of a source, if
// `source` is true, gets the bandwidth that they leave. Other work arrives by itself, so that
// only the flits count that arrive together with it.
func (s *server) limitedWork(start, work Time, class Class, source bool) (taken Time) {
	spare := int64(fullRate)
	for i := range s.active {
		if o := &s.active[i]; o.rate < fullRate && o.end >= start && o.class <= class {
			spare -= int64(o.rate)
		}
	}
	if spare == fullRate {
		return 0
	}
	for i := range s.active {
		o := &s.active[i]
		if o.rate == fullRate || o.end < start || o.class > class {
			continue
		}
		share := simtime.MulDiv(uint64(o.end+s.perFlit-start), uint64(o.rate), fullRate)
		if !source {
			share = min(share, simtime.MulDiv(uint64(work), uint64(o.rate), fullRate))
		} else if spare > 0 {
			share = min(share, simtime.MulDiv(uint64(work), uint64(o.rate), uint64(spare)))
		}
		taken += share
	}
	return taken
}
