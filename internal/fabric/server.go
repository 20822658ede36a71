package fabric

import (
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/simtime"
)

// server is a link, or the channels of an HBM slice, in the Train model. It serves one
// train after another.
type server struct {
	*linkState
	// computeDelay is an extra delay of class Compute only: the work of rate-limited trains
	// of class Compute that was postponed by trains of class Comm.
	computeDelay Time
	queues       [numClasses]trainQueue
	limited      []rateLimited // rate-limited trains that the server currently serves
	perFlit      Time          // service time of a whole flit
	key          stage
	slice        *memory.Slice // nil for a link
	woken        Time          // time of the pending evFree event plus one; 0 for none
	servingDelay Time          // the part of computeDelay that the train in service caused
	tally

	serving     train // the train in service, or the train that was served last
	since       Time  // start of its service
	forwarded   int32 // number of the same train in flight to the next server; 0 if none
	forwardedAt Time  // when that train arrives at the next server
}

// linkState is the state of a link. It is the whole state while only single-flit messages
// have used the link. Once a train has used the link, the link also has a server. A
// linkState fits into one cache line, since a machine has many links.
type linkState struct {
	free        Time // when the link can serve the next train
	lastArrival Time // when the train or message served last arrives at the next server
	hop         Hop
	bytes       Bytes  // bytes of single-flit messages
	busy        Time   // busy time of single-flit messages
	count       uint32 // number of single-flit messages
	feeds       stage  // the link whose traffic all comes over this one; or none, or notKnown
	server      int32  // number of the server if use is servesTrains
	use         linkUse
}

// The values of linkState.feeds that are not links.
const (
	notKnown stage = -2
	none     stage = -1
)

// linkUse says whether nothing, only single-flit messages, or trains have used a link.
type linkUse uint8

const (
	notUsed      linkUse = iota // nothing: the other fields of linkState are not set
	singleFlits                 // only single-flit messages
	servesTrains                // trains: the link has a server
)

// server returns the server of stage st, which is a link or an HBM slice. It creates the
// server on first use.
func (m *trains) server(st stage) *server {
	if slice, ok := hbmSlice(st); ok {
		for len(m.slices) <= int(slice) {
			m.slices = append(m.slices, nil)
		}
		if m.slices[slice] == nil {
			h := m.cfg.HBM
			m.slices[slice] = &server{
				linkState: &linkState{use: servesTrains}, key: st, slice: memory.NewSlice(h),
				perFlit: h.BurstTime * Time(m.cfg.Flit) / Time(h.Burst) / Time(h.Channels),
			}
		}
		return m.slices[slice]
	}
	l := m.link(st)
	if l.use == singleFlits {
		m.addServer(st, l)
	}
	return m.serverAt(l.server)
}

// serverBatch is the number of servers that are allocated at a time. Servers never move.
const serverBatch = 64

// addServer creates the server of link st and stores its number in l.
func (m *trains) addServer(st stage, l *linkState) {
	n := len(m.servers)
	if n == 0 || len(m.servers[n-1]) == serverBatch {
		m.servers = append(m.servers, make([]server, 0, serverBatch))
		n++
	}
	last := &m.servers[n-1]
	l.use, l.server = servesTrains, int32((n-1)*serverBatch+len(*last))
	*last = append(*last, server{linkState: l, key: st, perFlit: l.hop.Bandwidth.Serialize(m.cfg.Flit)})
}

// serverAt returns server number i.
func (m *trains) serverAt(i int32) *server {
	return &m.servers[uint32(i)/serverBatch][uint32(i)%serverBatch]
}

// link returns the state of link st. It initializes the state on first use.
func (m *trains) link(st stage) *linkState {
	l := &m.links[st]
	if l.use == notUsed {
		l.use, l.hop, l.feeds = singleFlits, m.net.Hop(st), notKnown
	}
	return l
}

// serialize returns how long n bytes occupy the server. n is at most the size of a flit.
func (s *server) serialize(n Bytes) Time {
	if s.slice != nil {
		return s.perFlit
	}
	return s.hop.Bandwidth.Serialize(n)
}

// count adds the bytes and the busy time of t to the counters of s, or subtracts them if
// sign is -1.
func (s *server) count(f *Fabric, t *train, sign int64) {
	n, busy := Bytes(t.flits)*f.cfg.Flit, Time(t.flits)*s.perFlit
	if t.short {
		n = f.messages[t.msg].lastFlitBytes(f.cfg.Flit)
		busy = s.serialize(n)
	}
	s.tally.bytes += Bytes(sign) * n
	s.tally.busy += Time(sign) * busy
	s.flits += sign * t.flits
}

// startedFlits returns how many flits of the train in service have started to leave by now.
// The time that the server has spent on rate-limited trains does not count.
func (s *server) startedFlits(now Time) int64 {
	spent := now - s.since
	for _, o := range s.limited {
		if until := min(o.until, now); until > s.since && o.class <= s.serving.class {
			spent -= simtime.MulDiv(uint64(until-s.since), uint64(o.rate), fullRate)
		}
	}
	return int64((max(spent, 0) + s.perFlit - 1) / s.perFlit)
}

// ready returns when the server can start to serve a train of the given class.
func (s *server) ready(class Class) Time {
	if class == Compute {
		return s.free + s.computeDelay
	}
	return s.free
}

// nextReady returns when the server can start to serve the next waiting train.
func (s *server) nextReady() Time {
	if s.queues[Comm].first != 0 {
		return s.ready(Comm)
	}
	return s.ready(Compute)
}

// queuesEmpty reports whether no train waits for the server.
func (s *server) queuesEmpty() bool { return s.queues[Comm].first == 0 && s.queues[Compute].first == 0 }

// pick removes the train to serve next from the queues and returns its number. This is the
// first train of class Comm if it has arrived by now, else the train of either class that
// arrives first.
func (s *server) pick(all []train, now Time) int32 {
	comm, compute := s.queues[Comm].first, s.queues[Compute].first
	if compute == 0 || comm != 0 && (all[comm].atSource || all[comm].head <= max(now, all[compute].head)) {
		return s.queues[Comm].pop(all)
	}
	return s.queues[Compute].pop(all)
}

// backlog returns the service time of all flits of the given class that have arrived at the
// server by the time `at` and wait there. Trains that are still at their source do not
// count.
func (s *server) backlog(all []train, class Class, at Time) (work Time) {
	for i := s.queues[class].first; i != 0; i = all[i].next {
		t := &all[i]
		if t.atSource || t.head > at {
			continue
		}
		arrived := t.flits
		if gap := t.gap(); gap > 0 {
			arrived = min(arrived, 1+int64((at-t.head)/gap))
		}
		work += Time(arrived) * s.perFlit
	}
	return work
}

// rival returns the first waiting train that competes with t for the server: a train of
// another message, of the same class or a higher one. It returns nil if there is none.
func (s *server) rival(all []train, t *train) *train {
	for class := Comm; class <= t.class; class++ {
		for i := s.queues[class].first; i != 0; i = all[i].next {
			if all[i].residual || t.residual || all[i].msg != t.msg {
				return &all[i]
			}
		}
	}
	return nil
}
