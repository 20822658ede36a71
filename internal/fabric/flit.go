package fabric

import (
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/topology"
)

// flits is the Flit model. It uses one event per flit and hop, and one per burst of an HBM
// channel. It follows the definition exactly, without shortcuts: it is the reference for
// the Train model.
type flits struct {
	*Fabric
	target   sim.Target
	inFlight sim.Pool[flit]
	links    []*flitServer
	slices   [][]*flitServer // channels of each HBM slice
	servers  []*flitServer   // all of them, by the number events use
	left     []Time          // when the last flit of a message leaves its source; by message, 0 if not known
	reads    []hbmRead       // by message
	writes   []hbmWrite
}

// flit is a flit in front of a link, or a burst in front of a channel.
type flit struct {
	msg     int32
	stage   int32
	index   int64 // index of the flit or burst in the message
	arrived Time
}

// flitServer is a link or an HBM channel. It serves one flit or burst after another.
type flitServer struct {
	tally
	number  int
	id      topology.LinkID
	hop     Hop
	channel bool
	wrote   bool // whether the last access of a channel was a write
	free    Time
	woken   bool
	queues  [numClasses][]int32
}

// hbmRead is the progress of a message in the HBM before its path.
type hbmRead struct {
	bursts      []memory.BurstRange
	done        []bool
	first       int     // index of the first burst that is not complete
	flits       int64   // flits that were sent to the first link
	unrequested [][]int // bursts that were not requested yet, by channel
}

// hbmWrite is the progress of a message in the HBM after its path.
type hbmWrite struct {
	bursts  []memory.BurstRange
	offered int // bursts whose bytes have arrived
	left    int // bursts that are not complete
}

const (
	evFlitArrive sim.Kind = iota // a flit arrives at its server
	evFlitFree                   // a server with a queue becomes free
	evFlitOffer                  // a source offers its next flit
	evBurst                      // a channel has served a burst
)

// newFlits returns an idle Flit model.
func newFlits(f *Fabric) *flits {
	m := &flits{Fabric: f, links: make([]*flitServer, f.net.NumLinks())}
	m.target = f.eng.Register(m)
	return m
}

// Handle handles an event of the model. The event constants say what each kind means.
func (m *flits) Handle(kind sim.Kind, arg uint64) {
	switch kind {
	case evFlitArrive:
		m.arrive(int32(arg))
	case evFlitFree:
		m.serveNext(m.servers[arg])
	case evFlitOffer:
		if fl := m.inFlight.Take(int32(arg)); fl.index > 0 {
			m.offer(fl.msg, fl.index)
		} else {
			m.begin(fl.msg)
		}
	case evBurst:
		m.endBurst(m.inFlight.Take(int32(arg)))
	}
}

func (m *flits) stats(id topology.LinkID) Stats {
	if s := m.links[id]; s != nil {
		return s.stats()
	}
	return Stats{}
}

// start offers the first flit of message i or, if the message comes from HBM, starts to
// read it.
func (m *flits) start(i int32) {
	for len(m.reads) <= int(i) {
		m.left = append(m.left, 0)
		m.reads = append(m.reads, hbmRead{})
		m.writes = append(m.writes, hbmWrite{})
	}
	m.left[i] = 0
	if _, ok := hbmSlice(m.messages.At(i).stages[0]); !ok {
		m.offer(i, 0)
		return
	}
	m.startRead(i)
}

// follow starts message i when the last flit of message `after` has left its source.
func (m *flits) follow(i, after int32) {
	if at := m.left[after]; at > 0 {
		m.messages.At(after).chain.next = 0
		m.eng.At(max(at, m.eng.Now()), m.target, evFlitOffer, uint64(m.inFlight.Add(flit{msg: i})))
	}
}

// offer adds flit k of message i to the queue of the first link of its path.
func (m *flits) offer(i int32, k int64) {
	m.arrive(m.inFlight.Add(flit{msg: i, index: k}))
}

// arrive handles the arrival of flit i at its next stage. It adds the flit to the queue of
// a link, writes it to an HBM slice, or removes it at the end of the path. The last flit of
// a message ends the message.
func (m *flits) arrive(i int32) {
	fl := m.inFlight.At(i)
	msg := m.messages.At(fl.msg)
	if int(fl.stage) == len(msg.stages) {
		if done := m.inFlight.Take(i); done.index == msg.flits-1 {
			m.finish(done.msg)
		}
		return
	}
	if _, ok := hbmSlice(msg.stages[fl.stage]); ok {
		m.writeFlit(m.inFlight.Take(i))
		return
	}
	m.enqueue(m.link(topology.LinkID(msg.stages[fl.stage])), i)
}

// enqueue adds flit i to the queue of s. Even an idle server serves its queue only after
// all other events of the same instant. This way the higher class goes first if flits of
// both classes arrive together.
func (m *flits) enqueue(s *flitServer, i int32) {
	fl := m.inFlight.At(i)
	fl.arrived = m.eng.Now()
	class := m.messages.At(fl.msg).Class
	s.queues[class] = append(s.queues[class], i)
	m.wake(s)
}

// wake schedules an event that serves the queue of s, unless such an event is scheduled
// already.
func (m *flits) wake(s *flitServer) {
	if !s.woken {
		s.woken = true
		m.eng.At(max(s.free, m.eng.Now()), m.target, evFlitFree, uint64(s.number))
	}
}

// serveNext takes the next flit from the queues of s, class Comm first, and serves it.
func (m *flits) serveNext(s *flitServer) {
	s.woken = false
	for class := range s.queues {
		if q := s.queues[class]; len(q) > 0 {
			s.queues[class] = q[1:]
			m.serve(s, q[0])
			break
		}
	}
	if len(s.queues[Comm])+len(s.queues[Compute]) > 0 {
		m.wake(s)
	}
}

// serve occupies s with flit i from now on and schedules the arrival of the flit at its
// next server.
func (m *flits) serve(s *flitServer, i int32) {
	fl := m.inFlight.At(i)
	msg := m.messages.At(fl.msg)
	now := m.eng.Now()
	s.wait(now-fl.arrived, 1)
	s.flits++
	if s.channel {
		m.serveBurst(s, i)
		return
	}
	n := min(m.cfg.Flit, msg.Bytes-Bytes(fl.index)*m.cfg.Flit)
	ser := s.hop.Bandwidth.Serialize(n)
	s.free = now + ser
	s.bytes += n
	s.busy += ser
	if m.observe != nil {
		m.observePassage(fl.msg, fl.index == 0, Passage{Link: s.id, Bytes: n, Head: fl.arrived, Start: now, End: s.free})
	}
	if msg.leaves && fl.index == msg.flits-1 {
		if l := &m.messages.At(fl.msg).left; l.stage == fl.stage {
			m.eng.Post(s.free, l.event)
		}
	}
	if fl.stage == 0 { // the offer runs before s picks its next flit
		m.offerNext(fl.msg, fl.index, s.free)
		fl = m.inFlight.At(i)
	}
	fl.stage++
	m.eng.At(s.free+s.hop.Latency, m.target, evFlitArrive, uint64(i))
}

// offerNext schedules the flit after flit k of message i at the source, at the time `at` at
// which flit k has left. After the last flit, this is the first flit of the message that
// follows in the queue.
func (m *flits) offerNext(i int32, k int64, at Time) {
	next := flit{msg: i, index: k + 1}
	if msg := m.messages.At(i); next.index == msg.flits {
		m.left[i] = at
		if !msg.queued || m.messages.At(i).chain.next == 0 {
			return
		}
		next = flit{msg: m.messages.At(i).chain.next - 1}
		m.messages.At(i).chain.next = 0
	}
	m.eng.At(at, m.target, evFlitOffer, uint64(m.inFlight.Add(next)))
}

// link returns the server of the given link. It creates the server on first use.
func (m *flits) link(id topology.LinkID) *flitServer {
	if m.links[id] == nil {
		m.links[id] = m.newServer(flitServer{id: id, hop: m.net.Hop(id)})
	}
	return m.links[id]
}

// newServer stores s, assigns it the number by which events refer to it, and returns it.
func (m *flits) newServer(s flitServer) *flitServer {
	s.number = len(m.servers)
	m.servers = append(m.servers, &s)
	return &s
}

// HBM in the Flit model: a read requests the bursts of each channel in address order, the
// next burst when the previous one is complete. A flit continues to the first link, in
// order, when all of its bytes are complete. A write adds a burst to the queue of its
// channel when the last byte of the burst has arrived.

// startRead splits message i into bursts and requests the first burst of each channel.
func (m *flits) startRead(i int32) {
	b := &m.reads[i]
	*b = hbmRead{bursts: m.splitBursts(m.messages.At(i).banks.Read.Region), unrequested: make([][]int, m.cfg.HBM.Channels)}
	b.done = make([]bool, len(b.bursts))
	for k, burst := range b.bursts {
		b.unrequested[burst.Channel] = append(b.unrequested[burst.Channel], k)
	}
	for c := range b.unrequested {
		m.requestBurst(i, c)
	}
	m.forwardFlits(i) // flits that need no burst
}

// splitBursts returns the bursts that cover the region, in address order.
func (m *flits) splitBursts(r memory.Region) (bursts []memory.BurstRange) {
	for off := Bytes(0); off < r.Bytes(); {
		b := m.cfg.HBM.BurstAt(r, off)
		bursts = append(bursts, b)
		off = b.End
	}
	return bursts
}

// requestBurst requests the next burst of message i on channel c.
func (m *flits) requestBurst(i int32, c int) {
	b := &m.reads[i]
	if q := b.unrequested[c]; len(q) > 0 {
		b.unrequested[c] = q[1:]
		m.enqueue(m.channel(m.messages.At(i).banks.Read.Slice, c), m.inFlight.Add(flit{msg: i, index: int64(q[0])}))
	}
}

// writeFlit handles the arrival of a flit at the HBM slice at the end of its path. It
// queues each burst whose last byte has now arrived.
func (m *flits) writeFlit(fl flit) {
	msg, b := m.messages.At(fl.msg), &m.writes[fl.msg]
	if fl.index == 0 {
		bursts := m.splitBursts(m.messages.At(fl.msg).banks.Write.Region)
		*b = hbmWrite{bursts: bursts, left: len(bursts)}
	}
	have := min(Bytes(fl.index+1)*m.cfg.Flit, msg.Bytes)
	for b.offered < len(b.bursts) && b.bursts[b.offered].End <= have {
		burst := m.inFlight.Add(flit{msg: fl.msg, stage: fl.stage, index: int64(b.offered)})
		m.enqueue(m.channel(m.messages.At(fl.msg).banks.Write.Slice, b.bursts[b.offered].Channel), burst)
		b.offered++
	}
	if len(b.bursts) == 0 {
		m.finish(fl.msg)
	}
}

// serveBurst occupies channel s with burst i for the time of the burst. A change between
// reads and writes takes the turnaround time in addition.
func (m *flits) serveBurst(s *flitServer, i int32) {
	write := m.inFlight.At(i).stage > 0
	end := m.eng.Now() + m.cfg.HBM.BurstTime
	if write != s.wrote && s.free > 0 {
		end += m.cfg.HBM.Turnaround
	}
	s.wrote, s.free = write, end
	m.eng.At(s.free, m.target, evBurst, uint64(i))
}

// endBurst ends the burst fl. After a burst of a read, the flits that are now complete
// continue to the first link. After the last burst of a write, the message ends.
func (m *flits) endBurst(fl flit) {
	if fl.stage > 0 {
		w := &m.writes[fl.msg]
		if w.left--; w.left == 0 {
			m.finish(fl.msg)
		}
		return
	}
	b := &m.reads[fl.msg]
	b.done[fl.index] = true
	m.requestBurst(fl.msg, b.bursts[fl.index].Channel)
	m.forwardFlits(fl.msg)
}

// forwardFlits sends to the first link, in order, the flits of message i that have been
// read completely.
func (m *flits) forwardFlits(i int32) {
	msg, b := m.messages.At(i), &m.reads[i]
	for b.first < len(b.bursts) && b.done[b.first] {
		b.first++
	}
	for b.flits < msg.flits {
		end := min(Bytes(b.flits+1)*m.cfg.Flit, msg.Bytes)
		if b.first < len(b.bursts) && b.bursts[b.first].Start < end {
			return
		}
		b.flits++
		m.arrive(m.inFlight.Add(flit{msg: i, stage: 1, index: b.flits - 1}))
	}
}

// channel returns channel number c of the given HBM slice. It creates the channels of the
// slice on first use.
func (m *flits) channel(slice SliceID, c int) *flitServer {
	for len(m.slices) <= int(slice) {
		m.slices = append(m.slices, nil)
	}
	if m.slices[slice] == nil {
		for range m.cfg.HBM.Channels {
			m.slices[slice] = append(m.slices[slice], m.newServer(flitServer{channel: true}))
		}
	}
	return m.slices[slice][c]
}
