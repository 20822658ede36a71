package fabric

import (
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/simtime"
)

// server is a link, or the channels of an HBM slice, in the Train model: it
// serves one train after another.
type server struct {
	*lane
	owed    Time // to trickles of class Compute that Comm went before: it delays Compute only
	queues  [numClasses]trainQueue
	slow    []trickle
	perFlit Time // of a whole flit
	key     stage
	slice   *memory.Slice // nil for a link
	woken   Time          // when it will look at its queue, plus one; 0 for not at all
	lent    Time          // of what is owed, by the train it serves
	tally

	serving  train // what it serves, or served last
	since    Time  // and from when
	passed   int32 // the train that it became, on its way to the next server,
	passedOn Time  // and when that sees it
}

// lane is what there is to know of a link that only expresses have used: one cache
// line, of which a machine has very many.
type lane struct {
	free    Time // when it can take the next train
	arrives Time // when what it passed on last reaches the next server
	hop     Hop
	bytes   Bytes // carried by expresses
	busy    Time
	count   uint32 // of expresses
	feeds   stage  // the link that carries only what comes over this one, or none
	server  int32  // its number, if it is managed
	state   laneState
}

type laneState uint8

// What a lane may feed instead of a link.
const (
	notKnown stage = -2
	none     stage = -1
)

const (
	unused  laneState = iota // nothing has come over it: the rest is not set
	plain                    // expresses have
	managed                  // trains have: it has a server
)

// server finds or makes the server of a stage.
func (m *trains) server(st stage) *server {
	if slice, ok := slice(st); ok {
		for len(m.slices) <= int(slice) {
			m.slices = append(m.slices, nil)
		}
		if m.slices[slice] == nil {
			h := m.cfg.HBM
			m.slices[slice] = &server{
				lane: &lane{state: managed}, key: st, slice: memory.NewSlice(h),
				perFlit: h.BurstTime * Time(m.cfg.Flit) / Time(h.Burst) / Time(h.Channels),
			}
		}
		return m.slices[slice]
	}
	l := m.lane(st)
	if l.state == plain {
		m.manage(st, l)
	}
	return m.numbered(l.server)
}

// batch is how many servers are made at a time. They stay where they are.
const batch = 64

// manage gives a link a server.
func (m *trains) manage(st stage, l *lane) {
	n := len(m.servers)
	if n == 0 || len(m.servers[n-1]) == batch {
		m.servers = append(m.servers, make([]server, 0, batch))
		n++
	}
	last := &m.servers[n-1]
	l.state, l.server = managed, int32((n-1)*batch+len(*last))
	*last = append(*last, server{lane: l, key: st, perFlit: l.hop.Bandwidth.Serialize(m.cfg.Flit)})
}

// numbered is the server of a link that has one.
func (m *trains) numbered(i int32) *server { return &m.servers[uint32(i)/batch][uint32(i)%batch] }

// lane is the lane of a link.
func (m *trains) lane(st stage) *lane {
	l := &m.lanes[st]
	if l.state == unused {
		l.state, l.hop, l.feeds = plain, m.net.Hop(st), notKnown
	}
	return l
}

// serialize is how long n bytes, less than a flit, occupy the server.
func (s *server) serialize(n Bytes) Time {
	if s.slice != nil {
		return s.perFlit
	}
	return s.hop.Bandwidth.Serialize(n)
}

// count adds a train to what the server did, or takes it back.
func (s *server) count(f *Fabric, t *train, sign int64) {
	n, busy := Bytes(t.flits)*f.cfg.Flit, Time(t.flits)*s.perFlit
	if t.short {
		n = f.messages[t.msg].short(f.cfg.Flit)
		busy = s.serialize(n)
	}
	s.tally.bytes += Bytes(sign) * n
	s.tally.busy += Time(sign) * busy
	s.flits += sign * t.flits
}

// begun is how many flits of the train in service have begun to leave by now,
// trickles beside it having taken their part.
func (s *server) begun(now Time) int64 {
	spent := now - s.since
	for _, o := range s.slow {
		if until := min(o.until, now); until > s.since && o.class <= s.serving.class {
			spent -= simtime.MulDiv(uint64(until-s.since), uint64(o.rate), wholeRate)
		}
	}
	return int64((max(spent, 0) + s.perFlit - 1) / s.perFlit)
}

// ready is when it can take a train of a class.
func (s *server) ready(class Class) Time {
	if class == Compute {
		return s.free + s.owed
	}
	return s.free
}

// next is when it can take the next train that waits.
func (s *server) next() Time {
	if s.queues[Comm].first != 0 {
		return s.ready(Comm)
	}
	return s.ready(Compute)
}

func (s *server) idle() bool { return s.queues[Comm].first == 0 && s.queues[Compute].first == 0 }

// pick takes the train to serve next out of the queues: class Comm if it is there
// by now, else whatever came, or comes, first.
func (s *server) pick(all []train, now Time) int32 {
	comm, compute := s.queues[Comm].first, s.queues[Compute].first
	if compute == 0 || comm != 0 && (all[comm].asServed || all[comm].head <= max(now, all[compute].head)) {
		return s.queues[Comm].pop(all)
	}
	return s.queues[Compute].pop(all)
}

// backlog is the work of the flits of a class that wait at an instant, but for
// those at their source.
func (s *server) backlog(all []train, class Class, at Time) (work Time) {
	for i := s.queues[class].first; i != 0; i = all[i].next {
		t := &all[i]
		if t.asServed || t.head > at {
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

// rival is the first waiting train of another message that t must share with.
func (s *server) rival(all []train, t *train) *train {
	for class := Comm; class <= t.class; class++ {
		for i := s.queues[class].first; i != 0; i = all[i].next {
			if all[i].ghost || t.ghost || all[i].msg != t.msg {
				return &all[i]
			}
		}
	}
	return nil
}
