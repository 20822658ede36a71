package fabric

import (
	"math"
	"math/bits"

	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/topology"
)

const (
	turnBytes     = 1 << 10 // least number of bytes after which two messages take turns on a link
	groupsPerTurn = 2       // likewise for an HBM slice, in groups of one burst for each channel
	maxShares     = 32      // most turns of a message; above maxShares·turnBytes, turns are longer
)

// flitRange is a sequence of flits of one message at a server or in flight to one. Its first
// flit arrives at head, its last whole flit at tail, and the whole flits in between evenly.
type flitRange struct {
	msg        int32 // number of the message
	stage      int32 // index of the server in the stages of the message
	class      Class
	last       bool  // the range contains the last flit of the message
	refill     bool  // the source offers the next train when this one has left
	atSource   bool  // at its source, where flits arrive as fast as they are served
	short      bool  // the last flit is smaller than the others
	void       bool  // all flits were cut off while the train was in flight
	first      int64 // index of the first flit in the message
	flits      int64
	head, tail Time
	end        Time // when the last flit arrives: tail, unless that flit is short
}

// train is a sequence of flits that move together. It waits in front of a server or is in
// flight to one. A message starts as one train; it has more trains only after it has competed
// with other messages. The fields up to earlier take one cache line.
type train struct {
	flitRange
	next    int32 // next train in the queue of a server
	earlier int32 // the previous train that the same service sent on; 0 if none
	at      Time  // when the source offered it, if it is at its source; else when train `earlier` arrives
	_       [7]int64
}

// whole returns the number of flits of t that are not short.
func (t *flitRange) whole() int64 {
	if t.short {
		return t.flits - 1
	}
	return t.flits
}

// gap returns the time between the arrivals of two successive flits of t.
func (t *flitRange) gap() Time {
	if w := t.whole(); w >= 2 {
		return (t.tail - t.head) / Time(w-1)
	}
	return 0
}

// arrival returns when flit k of t arrives, counted from the first flit of t.
func (t *flitRange) arrival(k int64) Time {
	switch w := t.whole(); {
	case k == w:
		return t.end
	case w < 2:
		return t.head
	default:
		return t.head + simtime.MulDiv(uint64(t.tail-t.head), uint64(k), uint64(w-1))
	}
}

// arrivedBy returns how many flits of t have arrived by the time `at`.
func (t *flitRange) arrivedBy(at Time) int64 {
	switch w := t.whole(); {
	case at >= t.end:
		return t.flits
	case at >= t.tail:
		return w
	case at < t.head:
		return 0
	default:
		hi, lo := bits.Mul64(uint64(at-t.head), uint64(w-1))
		k, _ := bits.Div64(hi, lo, uint64(t.tail-t.head))
		return 1 + int64(k)
	}
}

// restAfter returns the flits of t after the first k.
func (t *flitRange) restAfter(k int64) flitRange {
	rest := *t
	rest.head = t.arrival(k)
	rest.first += k
	rest.flits -= k
	if rest.whole() == 0 {
		rest.tail = rest.end
	}
	return rest
}

// firstFlits returns the first k flits of t. k is less than t.flits.
func (t *flitRange) firstFlits(k int64) flitRange {
	part := *t
	part.flits = k
	part.last, part.refill, part.short = false, false, false
	if k > 0 {
		part.tail = t.arrival(k - 1)
	}
	part.end = part.tail
	return part
}

// trains is the Train model: it moves trains of flits with one event per hop.
type trains struct {
	*Fabric
	target      sim.Target
	all         sim.Pool[train] // number 0 means none
	links       []linkState     // by link; not valid if the link has a server
	limits      []limit         // by link
	servers     [][]server      // all servers, in batches
	byLink      []*server       // nil if no train has used the link
	slices      []*server       // by HBM slice
	turn        int64           // turnBytes in flits, at least 1
	cuts        sim.Pool[cut]
	step        uint64  // number of threads, by which the numbers of a thread's cuts and rounds grow
	reading     runs    // reused by every read
	round       []int32 // trains that are served together; reused by every round
	places      []place // of the trains of a round at a link; reused
	rounds      uint64  // number of the latest round
	recent      [4]serializeTime
	runs        []unlimitedRun // hash table, see runSlot
	runShift    int
	usedRuns    int      // entries of runs in use
	runsPending bool     // bytes of runs may be missing in the counters of links
	passage     uint64   // ID of the latest passage that may be cut; counted only with an observer
	_           [64]byte // keeps other objects out of its last cache line, since threads write to them
}

// source is the state of the source of a message in the Train model, which offers the trains
// to the first server, one after another.
type source struct {
	offered   int64  // flits offered so far
	deferral  Time   // deferral of the next train, see serviceStart
	refillSeq uint32 // number of the valid evRefill; those with another number are ignored
	endSeq    uint32 // number of the valid evFinish; those with another number are ignored
}

// progress says how far a message has come at one of its stages.
type progress struct {
	left   Time  // when the last train has left
	passed int64 // flits that the server has served
}

// shortPath is the number of stages whose progress is in the message itself.
const shortPath = 12

// progressAt returns the progress of the message at a stage.
func (m *message) progressAt(st int32) *progress {
	if st < shortPath {
		return &m.progress[st]
	}
	return &m.longProgress[st-shortPath]
}

// clearProgress sets the progress of the message to zero at all stages.
func (m *message) clearProgress() {
	n := len(m.stages)
	clear(m.progress[:min(n, shortPath)])
	if n > shortPath {
		m.longProgress = append(m.longProgress[:0], make([]progress, n-shortPath)...)
	}
}

const (
	evArrive         sim.Kind = iota // the head of a train arrives at its server
	evFree                           // a server becomes free while trains wait
	evRefill                         // a source offers its next train
	evFinish                         // the last byte of a message arrives
	evArriving                       // flits of a message with a notice arrive at their destination
	evCut                            // the last flit arrives of a train that was cut after its head had arrived
	evCutKnown                       // a server in another partition learns that such a train was cut
	evShorten                        // a server in another partition learns that a train in flight to it was cut
	evSingleFlit                     // a single-flit message arrives at its next link
	evSingleFlitEnd                  // a single-flit message arrives at its destination
	evLeft                           // the last byte of a message has left the link of its Left event
	evSingleFlitLeft                 // likewise, of a single-flit message

	kindBits = 8 // the other bits of a kind are a sequence number
	kindMask = 1<<kindBits - 1
)

// newTrains returns an idle Train model.
func newTrains(f *Fabric) *trains {
	n := f.net.NumLinks()
	m := &trains{Fabric: f, links: make([]linkState, n), limits: make([]limit, n), byLink: make([]*server, n), slices: make([]*server, f.cfg.Slices+1), step: 1}
	m.growRuns()
	m.all.Add(train{}) // number 0 means none
	m.cuts.Add(cut{})  // likewise
	m.turn = max(1, turnBytes/int64(f.cfg.Flit))
	if m.step = uint64(len(f.eng.Threads())); m.step > 1 {
		for i := range m.limits {
			m.isUnlimited(stage(i))
		}
	}
	m.target = f.eng.RegisterEach(func(e *sim.Engine) sim.Handler {
		if e == f.eng {
			return m
		}
		return m.onThread(e)
	})
	for _, other := range f.shared.fabrics[1:] {
		other.model.(*trains).target = m.target
	}
	return m
}

// onThread returns a model for the thread of e that shares links, messages and trains with m.
func (m *trains) onThread(e *sim.Engine) *trains {
	f := m.Fabric.share(e)
	other := &trains{
		Fabric: f, links: m.links, limits: m.limits, byLink: m.byLink, slices: m.slices, turn: m.turn,
		step: m.step, rounds: uint64(len(f.shared.fabrics)) - 1,
	}
	f.model = other
	other.growRuns()
	other.all.Share(&m.all)
	other.cuts.Share(&m.cuts)
	return other
}

// Handle handles an event of the model. The event constants say what each kind means.
func (m *trains) Handle(kind sim.Kind, arg uint64) {
	switch kind & kindMask {
	case evArrive:
		m.arrive(int32(uint32(arg)), stage(arg>>32))
	case evFree:
		m.serveNext(m.server(stage(int32(arg))))
	case evRefill:
		if i := int32(uint32(arg)); m.messages.At(i).refillSeq == uint32(arg>>32) {
			m.offer(i)
		}
	case evFinish:
		i := int32(uint32(arg))
		if msg := m.messages.At(i); msg.endSeq == uint32(arg>>32) {
			msg.endSeq++
			msg.refillSeq++
			m.finish(i)
		}
	case evArriving:
		m.arriving(int32(arg))
	case evCut:
		m.applyCut(m.takeCut(int32(arg)))
	case evCutKnown:
		m.expectCut(int32(arg))
	case evShorten:
		c := m.cuts.Take(int32(arg))
		m.shorten(&c)
	case evSingleFlit:
		if i := int32(uint32(arg)); m.messages.At(i).sequence() == kind&^kindMask {
			m.passSingleFlit(i, stage(arg>>32))
		}
	case evSingleFlitEnd:
		if i := int32(arg); m.messages.At(i).sequence() == kind&^kindMask {
			m.finish(i)
		}
	case evLeft:
		if i := int32(uint32(arg)); m.messages.At(i).left.seq == uint32(arg>>32) {
			m.leave(i)
		}
	case evSingleFlitLeft:
		if i := int32(arg); m.messages.At(i).sequence() == kind&^kindMask {
			m.leave(i)
		}
	}
}

func (m *trains) stats(id topology.LinkID) Stats {
	for _, f := range m.shared.fabrics {
		f.model.(*trains).countRuns()
	}
	l := &m.links[id]
	var t tally
	if s := m.byLink[id]; s != nil {
		l, t.waits = &s.linkState, s.waits
	}
	t.bytes, t.busy = l.bytes, l.busy
	t.flits += int64(l.count)
	return t.stats()
}

// start starts message i: as a single-flit message if it has one flit and touches no HBM,
// else as a train.
func (m *trains) start(i int32) {
	if msg := m.messages.At(i); msg.flits == 1 && !msg.banked && len(msg.stages) <= math.MaxUint16 {
		msg.refillSeq++ // cancels refills of an earlier message with this number
		msg.waiting, msg.at = false, 0
		m.passSingleFlit(i, msg.stages[0])
		if msg.queued && !msg.waiting {
			m.startNext(i)
		}
		return
	}
	m.initSource(i)
	m.offer(i)
}

// initSource initializes the source of message i.
func (m *trains) initSource(i int32) {
	msg := m.messages.At(i)
	msg.offered, msg.deferral, msg.waiting = 0, 0, false
	msg.refillSeq++
	msg.clearProgress()
	if b := &msg.banks; msg.banked && b.Write.Slice != 0 {
		b.ends = append(b.ends[:0], make([]Time, m.cfg.HBM.Channels)...)
	}
}

// follow starts message i when message `after` has left its source. If the last flits of
// message `after` are in service, follow schedules a refill, which starts message i. If these
// flits wait, serviceStart schedules the refill when their service starts. If they have left,
// message i starts now.
func (m *trains) follow(i, after int32) {
	if m.messages.At(after).waiting {
		return
	}
	// A message of a queue starts at a link. Without a server, the message has skipped the link.
	msg := m.messages.At(after)
	if s := m.byLink[msg.stages[0]]; msg.flits > 1 && s != nil && s.latest > m.eng.Now() {
		for j := range s.active {
			if a := &s.active[j]; a.msg == after && a.last && a.stage == 0 && a.left > m.eng.Now() {
				a.refill = true
				m.refillAt(after, a.left)
				return
			}
		}
	}
	m.startNext(after)
}

// offer takes all flits that message i has not sent yet from its source, and adds them as
// one train to the queue of the first server. If no flit is left, it starts the next
// message of the queue.
func (m *trains) offer(i int32) {
	msg := m.messages.At(i)
	if msg.offered == msg.flits { // all flits have left
		m.startNext(i)
		return
	}
	now := m.eng.Now()
	at := now + msg.deferral
	number := m.add(&flitRange{
		msg: i, class: msg.Class, first: msg.offered, flits: msg.flits - msg.offered, last: true, short: msg.isShort(msg.flits-1, m.cfg.Flit),
		atSource: true, head: at, tail: at, end: at,
	}, now)
	t := m.all.At(number)
	msg.offered, msg.waiting = msg.flits, true
	if m.skipUnlimited(&t.flitRange); t.stage == 0 {
		m.arrive(number, msg.stages[0])
		return
	}
	t.atSource, msg.waiting = false, false // all flits leave the source now
	m.forward(number)
	if msg.queued {
		m.startNext(i)
	}
}

// add stores t in the pool as a train and returns its number. `at` is the field of the train
// with this name.
func (m *trains) add(t *flitRange, at Time) int32 {
	i, added := m.all.Get()
	added.flitRange, added.next, added.earlier, added.at = *t, 0, 0, at
	return i
}

// share returns how many flits of t are served at a time while another message waits.
func (m *trains) share(t *flitRange) int64 { return max(m.turn, m.messages.At(t.msg).flits/maxShares) }

// drop returns train i to the pool.
func (m *trains) drop(i int32) { m.all.Put(i) }

// trainQueue is a linked list of trains, sorted by the arrival of their heads.
type trainQueue struct{ first, last int32 }

// push adds train i, which has just arrived, to the queue, behind all trains whose head
// arrived earlier or at the same time.
func (q *trainQueue) push(all *sim.Pool[train], i int32) {
	if q.last != 0 && all.At(i).head < all.At(q.last).head {
		q.insert(all, i, func(other *train) bool { return other.head > all.At(i).head })
		return
	}
	all.At(i).next = 0
	if q.last == 0 {
		q.first = i
	} else {
		all.At(q.last).next = i
	}
	q.last = i
}

// join adds the flits of t, which has just arrived, to a waiting train whose flits they
// follow, and reports whether there is one. So a message that was cut on its way becomes one
// train again where it waits.
func (q *trainQueue) join(all *sim.Pool[train], t *flitRange) bool {
	for i := q.first; i != 0 && t.first > 0; i = all.At(i).next {
		if w := all.At(i); w.msg == t.msg && w.stage == t.stage && !w.atSource && w.first+w.flits == t.first {
			w.flits += t.flits
			w.tail, w.end, w.last, w.short = t.tail, t.end, t.last, t.short
			return true
		}
	}
	return false
}

// insert adds train i to the queue, before the first train for which the function `after`
// returns true.
func (q *trainQueue) insert(all *sim.Pool[train], i int32, after func(*train) bool) {
	at := &q.first
	for *at != 0 && !after(all.At(*at)) {
		at = &all.At(*at).next
	}
	all.At(i).next = *at
	if *at == 0 {
		q.last = i
	}
	*at = i
}

// remove removes train i from the queue. `before` is the train in front of it, or 0.
func (q *trainQueue) remove(all *sim.Pool[train], before, i int32) {
	if before == 0 {
		q.first = all.At(i).next
	} else {
		all.At(before).next = all.At(i).next
	}
	if q.last == i {
		q.last = before
	}
}

// pop removes the train to serve next and returns its number. This is the first train of
// the queue, unless that train is at its source. In this case it is the train at its source
// that was offered earliest. The reason is that sources delay their trains in favour of
// trains that arrive over other links, not in favour of each other.
func (q *trainQueue) pop(all *sim.Pool[train]) int32 {
	before, i := int32(0), q.first
	if all.At(i).atSource {
		for prev, j := i, all.At(i).next; j != 0; prev, j = j, all.At(j).next {
			if all.At(j).atSource && all.At(j).at < all.At(i).at {
				before, i = prev, j
			}
		}
	}
	q.remove(all, before, i)
	return i
}
