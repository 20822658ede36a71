package fabric

import (
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/topology"
)

const (
	maxTrains = 64      // of a message that meets nobody
	splitSize = 4 << 10 // bytes: where a train in service may be split for another message
	maxShares = 256     // bounds the splits of a large message that meets another large one
)

// train is a run of flits that travel together, waiting in front of a server or
// on its way to one. Its head arrives at `head`, its tail at `tail`, the flits
// between evenly.
type train struct {
	msg        int32 // message it is of; for a ghost, was
	stage      int32 // which of the message's servers it is at
	class      Class
	last       bool // the message ends with it
	refill     bool // when it has left, its source offers the next
	asServed   bool // its flits arrive as fast as they are taken: it is at its source
	ghost      bool // only occupies the server: what follows it has gone on already
	short      bool // one flit, not whole
	first      int64
	flits      int64
	share      int64 // flits served at a time while another message waits
	head, tail Time
	offered    Time  // by its source, if it is there still; head is later if it stands back
	next       int32 // in the queue of a server, or in the free list
}

// gap is the time between the arrivals of two flits.
func (t *train) gap() Time {
	if t.flits < 2 {
		return 0
	}
	return (t.tail - t.head) / Time(t.flits-1)
}

// behind is what is left of t when its first k flits have gone.
func (t *train) behind(k int64) train {
	rest := *t
	rest.first += k
	rest.flits -= k
	rest.head += Time(k) * t.gap()
	return rest
}

// before is the first k flits of t.
func (t *train) before(k int64) train {
	part := *t
	part.flits = k
	part.tail = t.head + Time(k-1)*t.gap()
	part.last, part.refill = false, false
	return part
}

// trains is the Train model.
type trains struct {
	*Fabric
	target  sim.Target
	all     []train // pool; index 0 means none
	unused  int32
	lanes   []lane     // of links by id
	servers [][]server // of links that trains have used, by lane.server
	slices  []*server  // of HBM slices
	split   int64      // splitSize in flits
	sources []source   // by message
	lately  [4]serialized
}

// source is where a message comes from: it hands its trains to the first server
// one by one.
type source struct {
	perTrain int64  // flits
	offered  int64  // flits handed over
	turn     uint32 // tells the refill that is due from one that was put off
	end      uint32 // tells the end of the message from one that was put off
	yield    Time   // how far its next train stands back, see begin
	left     []Time // when the last train so far left each stage
	ends     []Time // when each channel has written what came so far
}

const (
	evArrive     sim.Kind = iota // a train's head is at its server
	evFree                       // a server is free and trains wait
	evRefill                     // a source offers its next train
	evFinish                     // the last byte of a message is there
	evExpress                    // an express is at its next link
	evExpressEnd                 // or at its destination
)

func newTrains(f *Fabric) *trains {
	m := &trains{Fabric: f, all: make([]train, 1), lanes: make([]lane, f.net.NumLinks())}
	m.split = max(1, splitSize/int64(f.cfg.Flit))
	m.target = f.eng.Register(m)
	return m
}

// Handle is the model's events.
func (m *trains) Handle(kind sim.Kind, arg uint64) {
	switch kind & 0xff {
	case evArrive:
		m.arrive(int32(uint32(arg)), stage(arg>>32))
	case evFree:
		m.freed(m.server(stage(int32(arg))))
	case evRefill:
		if i := int32(uint32(arg)); m.sources[i].turn == uint32(arg>>32) {
			m.offer(i)
		}
	case evFinish:
		if i := int32(uint32(arg)); m.sources[i].end == uint32(arg>>32) {
			m.sources[i].end++
			m.finish(i)
		}
	case evExpress:
		m.express(int32(uint32(arg)), int(kind>>8), stage(arg>>32))
	case evExpressEnd:
		m.finish(int32(arg))
	}
}

func (m *trains) stats(id topology.LinkID) Stats {
	l := &m.lanes[id]
	var t tally
	if l.state == managed {
		t = m.numbered(l.server).tally
	}
	t.bytes += l.bytes
	t.busy += l.busy
	t.flits += int64(l.count)
	return t.stats()
}

func (m *trains) start(i int32) {
	if msg := &m.messages[i]; msg.flits == 1 && !msg.banked {
		if int(i) < len(m.sources) {
			m.sources[i].turn++ // nothing is to come of who had the number before
		}
		m.express(i, 0, msg.stages[0])
		return
	}
	m.source(i)
	m.offer(i)
}

// source makes the source of message i, which has offered nothing yet.
func (m *trains) source(i int32) {
	msg := &m.messages[i]
	for len(m.sources) <= int(i) {
		m.sources = append(m.sources, source{})
	}
	src := &m.sources[i]
	src.offered, src.yield = 0, 0
	src.turn++
	src.left = append(src.left[:0], make([]Time, len(msg.stages))...)
	if msg.banked && m.banks[i].Write.Slice != 0 {
		src.ends = append(src.ends[:0], make([]Time, m.cfg.HBM.Channels)...)
	}
	whole, slots := msg.flits, int64(maxTrains)
	if msg.isShort(msg.flits-1, m.cfg.Flit) {
		whole, slots = whole-1, slots-1
	}
	src.perTrain = max(m.split, (whole+slots-1)/slots)
}

// offer hands the next train of message i to its first server.
func (m *trains) offer(i int32) {
	msg, src := &m.messages[i], &m.sources[i]
	now := m.eng.Now()
	t := train{
		msg: i, class: msg.Class, first: src.offered, flits: min(src.perTrain, msg.flits-src.offered),
		asServed: true, offered: now, head: now + src.yield, tail: now + src.yield, share: max(m.split, msg.flits/maxShares),
	}
	end := t.first + t.flits
	if msg.isShort(end-1, m.cfg.Flit) {
		if t.flits > 1 {
			t.flits, end = t.flits-1, end-1
		} else {
			t.short = true
		}
	}
	t.last, t.refill = end == msg.flits, end < msg.flits
	src.offered = end
	m.arrive(m.add(t), msg.stages[t.stage])
}

func (m *trains) add(t train) int32 {
	i := m.unused
	if i == 0 {
		m.all = append(m.all, t)
		return int32(len(m.all) - 1)
	}
	m.unused = m.all[i].next
	m.all[i] = t
	return i
}

func (m *trains) drop(i int32) {
	m.all[i].next = m.unused
	m.unused = i
}

// trainQueue is trains in order of the arrival of their heads.
type trainQueue struct{ first, last int32 }

// push adds a train that has just arrived, behind all that came before.
func (q *trainQueue) push(all []train, i int32) {
	if q.last != 0 && all[i].head < all[q.last].head {
		q.insert(all, i, func(other *train) bool { return other.head > all[i].head })
		return
	}
	all[i].next = 0
	if q.last == 0 {
		q.first = i
	} else {
		all[q.last].next = i
	}
	q.last = i
}

func (q *trainQueue) insert(all []train, i int32, after func(*train) bool) {
	at := &q.first
	for *at != 0 && !after(&all[*at]) {
		at = &all[*at].next
	}
	all[i].next = *at
	if *at == 0 {
		q.last = i
	}
	*at = i
}

// pop takes the first train. If that is at its source, sources take turns: the one
// that offered earliest goes, since they stand back for others, not for each other.
func (q *trainQueue) pop(all []train) int32 {
	before, i := int32(0), q.first
	if all[i].asServed {
		for prev, j := i, all[i].next; j != 0; prev, j = j, all[j].next {
			if all[j].asServed && all[j].offered < all[i].offered {
				before, i = prev, j
			}
		}
	}
	if before == 0 {
		q.first = all[i].next
	} else {
		all[before].next = all[i].next
	}
	if q.last == i {
		q.last = before
	}
	return i
}
