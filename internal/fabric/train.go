package fabric

import (
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/topology"
)

const (
	maxTrains = 64      // trains of a message without other traffic
	splitSize = 4 << 10 // bytes: a train in service may be split at multiples of this size
	maxShares = 256     // most shares of a message; above maxShares·splitSize bytes, shares are larger
)

// train is a sequence of flits that move together. It waits in front of a server or is in
// flight to one. Its first flit arrives at head, its last flit at tail, and the others
// evenly in between.
type train struct {
	msg        int32 // number of the message; a residual train no longer belongs to it
	stage      int32 // index of the server in the stages of the message
	class      Class
	last       bool  // the train contains the last flit of the message
	refill     bool  // the source offers the next train when this one has left
	atSource   bool  // at its source, where flits arrive as fast as they are served
	residual   bool  // a residual train: occupies the server and delivers nothing
	short      bool  // the train is one flit, which is smaller than the others
	first      int64 // index of the first flit in the message
	flits      int64
	share      int64 // flits to serve at a time while another message waits
	head, tail Time
	offered    Time  // when the source offered the train; head is later if it is deferred
	next       int32 // next train in the queue of a server, or in the free list
}

// gap returns the time between the arrivals of two successive flits of t.
func (t *train) gap() Time {
	if t.flits < 2 {
		return 0
	}
	return (t.tail - t.head) / Time(t.flits-1)
}

// restAfter returns a train of the flits of t after the first k.
func (t *train) restAfter(k int64) train {
	rest := *t
	rest.first += k
	rest.flits -= k
	rest.head += Time(k) * t.gap()
	return rest
}

// firstFlits returns the first k flits of t as a train.
func (t *train) firstFlits(k int64) train {
	part := *t
	part.flits = k
	part.tail = t.head + Time(k-1)*t.gap()
	part.last, part.refill = false, false
	return part
}

// trains is the Train model: it moves trains of flits with one event per hop.
type trains struct {
	*Fabric
	target  sim.Target
	all     []train     // pool; index 0 means none
	unused  int32       // first train of the free list, 0 for none
	links   []linkState // by link
	servers [][]server  // servers of links that trains have used, by linkState.server
	slices  []*server   // by HBM slice
	split   int64       // splitSize in flits
	sources []source    // by message
	recent  [4]serializeTime
}

// source offers the trains of a message to the first server, one after another.
type source struct {
	perTrain  int64  // flits per train
	offered   int64  // flits offered so far
	refillSeq uint32 // number of the valid evRefill; those with another number are ignored
	endSeq    uint32 // number of the valid evFinish; those with another number are ignored
	deferral  Time   // deferral of the next train, see serviceStart
	left      []Time // when the last train left each stage
	ends      []Time // when each HBM channel has written the bytes that have arrived
}

const (
	evArrive        sim.Kind = iota // the head of a train arrives at its server
	evFree                          // a server becomes free while trains wait
	evRefill                        // a source offers its next train
	evFinish                        // the last byte of a message arrives
	evSingleFlit                    // a single-flit message arrives at its next link
	evSingleFlitEnd                 // a single-flit message arrives at its destination
)

// newTrains returns an idle Train model.
func newTrains(f *Fabric) *trains {
	m := &trains{Fabric: f, all: make([]train, 1), links: make([]linkState, f.net.NumLinks())}
	m.split = max(1, splitSize/int64(f.cfg.Flit))
	m.target = f.eng.Register(m)
	return m
}

// Handle handles an event of the model. The event constants say what each kind means.
func (m *trains) Handle(kind sim.Kind, arg uint64) {
	switch kind & 0xff {
	case evArrive:
		m.arrive(int32(uint32(arg)), stage(arg>>32))
	case evFree:
		m.serveNext(m.server(stage(int32(arg))))
	case evRefill:
		if i := int32(uint32(arg)); m.sources[i].refillSeq == uint32(arg>>32) {
			m.offer(i)
		}
	case evFinish:
		if i := int32(uint32(arg)); m.sources[i].endSeq == uint32(arg>>32) {
			m.sources[i].endSeq++
			m.finish(i)
		}
	case evSingleFlit:
		m.passSingleFlit(int32(uint32(arg)), int(kind>>8), stage(arg>>32))
	case evSingleFlitEnd:
		m.finish(int32(arg))
	}
}

func (m *trains) stats(id topology.LinkID) Stats {
	l := &m.links[id]
	var t tally
	if l.use == servesTrains {
		t = m.serverAt(l.server).tally
	}
	t.bytes += l.bytes
	t.busy += l.busy
	t.flits += int64(l.count)
	return t.stats()
}

// start starts message i: as a single-flit message if it has one flit and touches no HBM,
// else as trains.
func (m *trains) start(i int32) {
	if msg := &m.messages[i]; msg.flits == 1 && !msg.banked {
		if int(i) < len(m.sources) {
			m.sources[i].refillSeq++ // cancels refills of an earlier message with this number
		}
		m.passSingleFlit(i, 0, msg.stages[0])
		return
	}
	m.initSource(i)
	m.offer(i)
}

// initSource initializes the source of message i, which offers the message's trains one
// after another.
func (m *trains) initSource(i int32) {
	msg := &m.messages[i]
	for len(m.sources) <= int(i) {
		m.sources = append(m.sources, source{})
	}
	src := &m.sources[i]
	src.offered, src.deferral = 0, 0
	src.refillSeq++
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

// offer takes the next train of message i from its source and adds it to the queue of the
// first server.
func (m *trains) offer(i int32) {
	msg, src := &m.messages[i], &m.sources[i]
	now := m.eng.Now()
	t := train{
		msg: i, class: msg.Class, first: src.offered, flits: min(src.perTrain, msg.flits-src.offered),
		atSource: true, offered: now, head: now + src.deferral, tail: now + src.deferral, share: max(m.split, msg.flits/maxShares),
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

// add stores t in the pool and returns its number.
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

// drop returns train i to the pool.
func (m *trains) drop(i int32) {
	m.all[i].next = m.unused
	m.unused = i
}

// trainQueue is a linked list of trains, sorted by the arrival of their heads.
type trainQueue struct{ first, last int32 }

// push adds train i, which has just arrived, to the queue, behind all trains whose head
// arrived earlier or at the same time.
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

// insert adds train i to the queue, before the first train for which the function `after`
// returns true.
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

// pop removes the train to serve next and returns its number. This is the first train of
// the queue, unless that train is at its source. In this case it is the train at its source
// that was offered earliest. The reason is that sources delay their trains in favour of
// trains that arrive over other links, not in favour of each other.
func (q *trainQueue) pop(all []train) int32 {
	before, i := int32(0), q.first
	if all[i].atSource {
		for prev, j := i, all[i].next; j != 0; prev, j = j, all[j].next {
			if all[j].atSource && all[j].offered < all[i].offered {
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
