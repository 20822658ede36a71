package fabric

import (
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/topology"
)

// flits is the Flit model: every flit of every hop is an event, and so is every
// burst of an HBM channel. It follows the definition step by step and takes no
// short cut, because the Train model is judged by it.
type flits struct {
	*Fabric
	target  sim.Target
	flying  sim.Pool[flit]
	links   []*flitServer
	slices  [][]*flitServer // channels, by slice
	servers []*flitServer   // all of them, by the number events use
	reads   []bankRead      // by message
	writes  []bankWrite
}

// flit is a flit in front of a link, or a burst in front of a channel.
type flit struct {
	msg     int32
	stage   int32
	index   int64 // of the flit or burst in its message
	arrived Time
}

// flitServer is a link or a channel: it serves one flit after another.
type flitServer struct {
	tally
	number  int
	id      topology.LinkID
	hop     Hop
	channel bool
	wrote   bool // a channel's last operation
	free    Time
	woken   bool
	queues  [numClasses][]int32
}

// bankRead is how far a message is in the HBM ahead of its path.
type bankRead struct {
	pieces  []memory.BurstRange
	through []bool
	first   int     // pieces before this one are all through
	flits   int64   // flits handed on to the first link
	unasked [][]int // pieces by channel
}

// bankWrite is how far a message is in the HBM behind its path.
type bankWrite struct {
	pieces  []memory.BurstRange
	offered int // pieces whose bytes have come
	left    int // pieces not yet through
}

const (
	evFlitArrive sim.Kind = iota // a flit is at its server
	evFlitFree                   // a server with a queue is free
	evFlitOffer                  // a source offers its next flit
	evBurst                      // a channel has served a burst
)

func newFlits(f *Fabric) *flits {
	m := &flits{Fabric: f, links: make([]*flitServer, f.net.NumLinks())}
	m.target = f.eng.Register(m)
	return m
}

// Handle is the model's events.
func (m *flits) Handle(kind sim.Kind, arg uint64) {
	switch kind {
	case evFlitArrive:
		m.arrive(int32(arg))
	case evFlitFree:
		m.freed(m.servers[arg])
	case evFlitOffer:
		fl := m.flying.Take(int32(arg))
		m.offer(fl.msg, fl.index)
	case evBurst:
		m.burst(m.flying.Take(int32(arg)))
	}
}

func (m *flits) stats(id topology.LinkID) Stats {
	if s := m.links[id]; s != nil {
		return s.stats()
	}
	return Stats{}
}

func (m *flits) start(i int32) {
	for len(m.reads) <= int(i) {
		m.reads = append(m.reads, bankRead{})
		m.writes = append(m.writes, bankWrite{})
	}
	if _, ok := slice(m.messages[i].stages[0]); !ok {
		m.offer(i, 0)
		return
	}
	m.startRead(i)
}

// offer gives flit k of message i to its first link.
func (m *flits) offer(i int32, k int64) {
	m.arrive(m.flying.Add(flit{msg: i, index: k}))
}

// arrive brings a flit to the server of its stage, or to its destination.
func (m *flits) arrive(i int32) {
	fl := m.flying.At(i)
	msg := &m.messages[fl.msg]
	if int(fl.stage) == len(msg.stages) {
		if done := m.flying.Take(i); done.index == msg.flits-1 {
			m.finish(done.msg)
		}
		return
	}
	if _, ok := slice(msg.stages[fl.stage]); ok {
		m.write(m.flying.Take(i))
		return
	}
	m.queue(m.link(topology.LinkID(msg.stages[fl.stage])), i)
}

// queue puts flit i in front of s. Even an idle server looks at its queue only
// after all else that is due at this instant, so that of flits that come together
// the higher class goes first.
func (m *flits) queue(s *flitServer, i int32) {
	fl := m.flying.At(i)
	fl.arrived = m.eng.Now()
	class := m.messages[fl.msg].Class
	s.queues[class] = append(s.queues[class], i)
	m.wake(s)
}

func (m *flits) wake(s *flitServer) {
	if !s.woken {
		s.woken = true
		m.eng.At(max(s.free, m.eng.Now()), m.target, evFlitFree, uint64(s.number))
	}
}

func (m *flits) freed(s *flitServer) {
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

// serve occupies s with flit i from now on and sends it on.
func (m *flits) serve(s *flitServer, i int32) {
	fl := m.flying.At(i)
	msg := &m.messages[fl.msg]
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
		m.passed(fl.msg, fl.index == 0, Passage{Link: s.id, Bytes: n, Head: fl.arrived, Start: now, End: s.free})
	}
	if fl.stage == 0 && fl.index+1 < msg.flits { // before any queued flit is picked
		m.eng.At(s.free, m.target, evFlitOffer, uint64(m.flying.Add(flit{msg: fl.msg, index: fl.index + 1})))
		fl = m.flying.At(i)
	}
	fl.stage++
	m.eng.At(s.free+s.hop.Latency, m.target, evFlitArrive, uint64(i))
}

func (m *flits) link(id topology.LinkID) *flitServer {
	if m.links[id] == nil {
		m.links[id] = m.newServer(flitServer{id: id, hop: m.net.Hop(id)})
	}
	return m.links[id]
}

func (m *flits) newServer(s flitServer) *flitServer {
	s.number = len(m.servers)
	m.servers = append(m.servers, &s)
	return &s
}

// The Flit model's HBM. A read asks every channel for its bursts in address
// order, the next when the one before is through; flits go on to the first link
// in order, as soon as all of their bytes are there. A write offers a burst to
// its channel when its last byte has arrived.

// startRead cuts message i into bursts and asks for the first of each channel.
func (m *flits) startRead(i int32) {
	b := &m.reads[i]
	*b = bankRead{pieces: m.cut(m.banks[i].Read.Region), unasked: make([][]int, m.cfg.HBM.Channels)}
	b.through = make([]bool, len(b.pieces))
	for p, piece := range b.pieces {
		b.unasked[piece.Channel] = append(b.unasked[piece.Channel], p)
	}
	for c := range b.unasked {
		m.ask(i, c)
	}
	m.handOn(i) // what needs no burst
}

// cut is the bursts of a region, in order.
func (m *flits) cut(r memory.Region) (pieces []memory.BurstRange) {
	for off := Bytes(0); off < r.Bytes(); {
		p := m.cfg.HBM.BurstAt(r, off)
		pieces = append(pieces, p)
		off = p.End
	}
	return pieces
}

// ask requests the next burst of message i on channel c.
func (m *flits) ask(i int32, c int) {
	b := &m.reads[i]
	if q := b.unasked[c]; len(q) > 0 {
		b.unasked[c] = q[1:]
		m.queue(m.channel(m.banks[i].Read.Slice, c), m.flying.Add(flit{msg: i, index: int64(q[0])}))
	}
}

// write takes a flit that has arrived at the HBM behind the path.
func (m *flits) write(fl flit) {
	msg, b := &m.messages[fl.msg], &m.writes[fl.msg]
	if fl.index == 0 {
		pieces := m.cut(m.banks[fl.msg].Write.Region)
		*b = bankWrite{pieces: pieces, left: len(pieces)}
	}
	have := min(Bytes(fl.index+1)*m.cfg.Flit, msg.Bytes)
	for b.offered < len(b.pieces) && b.pieces[b.offered].End <= have {
		burst := m.flying.Add(flit{msg: fl.msg, stage: fl.stage, index: int64(b.offered)})
		m.queue(m.channel(m.banks[fl.msg].Write.Slice, b.pieces[b.offered].Channel), burst)
		b.offered++
	}
	if len(b.pieces) == 0 {
		m.finish(fl.msg)
	}
}

// serveBurst occupies channel s with a burst.
func (m *flits) serveBurst(s *flitServer, i int32) {
	write := m.flying.At(i).stage > 0
	end := m.eng.Now() + m.cfg.HBM.BurstTime
	if write != s.wrote && s.free > 0 {
		end += m.cfg.HBM.Turnaround
	}
	s.wrote, s.free = write, end
	m.eng.At(s.free, m.target, evBurst, uint64(i))
}

// burst is the end of a burst: its flits may go on, or its message is done.
func (m *flits) burst(fl flit) {
	if fl.stage > 0 {
		w := &m.writes[fl.msg]
		if w.left--; w.left == 0 {
			m.finish(fl.msg)
		}
		return
	}
	b := &m.reads[fl.msg]
	b.through[fl.index] = true
	m.ask(fl.msg, b.pieces[fl.index].Channel)
	m.handOn(fl.msg)
}

// handOn gives the first link the flits of message i whose bytes are all there.
func (m *flits) handOn(i int32) {
	msg, b := &m.messages[i], &m.reads[i]
	for b.first < len(b.pieces) && b.through[b.first] {
		b.first++
	}
	for b.flits < msg.flits {
		end := min(Bytes(b.flits+1)*m.cfg.Flit, msg.Bytes)
		if b.first < len(b.pieces) && b.pieces[b.first].Start < end {
			return
		}
		b.flits++
		m.arrive(m.flying.Add(flit{msg: i, stage: 1, index: b.flits - 1}))
	}
}

// channel is channel c of a slice.
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
