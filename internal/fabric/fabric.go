package fabric

import (
	"fmt"
	"math/bits"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/topology"
)

type (
	// Time is simulated time in femtoseconds.
	Time = simtime.Time
	// Bytes is an amount of data.
	Bytes = topology.Bytes
)

// Class is the priority of a transfer. A link serves Comm before Compute.
type Class uint8

// The two classes of traffic.
const (
	Comm Class = iota
	Compute
	numClasses
)

// Fidelity selects the model.
type Fidelity uint8

// The two fidelities.
const (
	Train Fidelity = iota
	Flit
)

// Hop is the cost of a link together with the node that it enters.
type Hop struct {
	Bandwidth topology.BytesPerSec
	Latency   Time // wire delay plus the overhead of the node
}

// Network has the cost of each link. It must not change during a run.
type Network interface {
	NumLinks() int
	Hop(topology.LinkID) Hop
}

// SliceFeeder is a Network that also reports which links carry nothing but what is read from
// one HBM slice.
type SliceFeeder interface {
	// FedBySlice reports whether all traffic of the given link is read from one HBM slice.
	FedBySlice(topology.LinkID) bool
}

// Partitioned is a Network over several partitions of the engine.
type Partitioned interface {
	// Partitions returns the partition in which a link transmits, and the partition in which a
	// message is after it.
	Partitions(topology.LinkID) (of, after int32)
}

// SliceID is the number of an HBM slice, counted from 1. 0 is none.
type SliceID int32

// Bank describes the HBM access at one end of a transfer: the slice and the region in it.
// The zero value means that this end of the transfer is not in HBM.
type Bank struct {
	Slice  SliceID
	Region memory.Region
}

// Transfer describes a message to send: its size, class, path and the HBM accesses at its
// ends.
type Transfer struct {
	Path  []topology.LinkID // not empty; must not change before the transfer ends
	Bytes Bytes
	Class Class
	Queue int32     // transfers with the same number leave their source in order, unless it is HBM; 0 is none
	Read  Bank      // HBM before the path
	Write Bank      // HBM after the path
	Done  sim.Event // called when the last byte has arrived

	// Left is called when the last byte has left the link with the number Border of the path,
	// counted from 1: the first link to another SIP. It is never called if Border is 0.
	Left   sim.Event
	Border int

	// Arriving is called when the first Notice flits have arrived, with the times of the flits
	// behind them in Fabric.Arrival. If the message is cut on its way, Arriving is called
	// again for each later train. Only the Train model calls it, and only for messages that
	// do not end in HBM. It is never called if Notice is 0.
	Arriving sim.Event
	Notice   int64
}

// Arrival says when successive flits of a message arrive at its destination: the first at
// Head, the last at Tail, and the others evenly in between. Another message may still delay
// flits that have not arrived.
type Arrival struct {
	First, Flits int64 // index of the first flit in the message, and number of flits
	Head, Tail   Time
}

// At returns when flit k of the message arrives. Flits before First arrived by Head.
func (a *Arrival) At(k int64) Time {
	if k <= a.First || a.Flits < 2 {
		return a.Head
	}
	return a.Head + simtime.MulDiv(uint64(a.Tail-a.Head), uint64(k-a.First), uint64(a.Flits-1))
}

// Gap returns the time between two flits. It is exact if ok is true.
func (a *Arrival) Gap() (gap Time, ok bool) {
	if a.Flits < 2 {
		return 0, true
	}
	return (a.Tail - a.Head) / Time(a.Flits-1), (a.Tail-a.Head)%Time(a.Flits-1) == 0
}

// Config is the configuration of a Fabric.
type Config struct {
	Fidelity Fidelity   // with several threads, Train
	Flit     Bytes      // size of a flit
	HBM      memory.HBM // description of every slice
	Slices   int        // number of slices; only needed with several threads

	stepwise bool // single-flit messages reserve no links; only in tests
}

// Stats has the counters of a link.
type Stats struct {
	Bytes  Bytes
	Busy   Time // time in which the link carried data
	Queued Time // average wait of a flit in front of the link
}

// tally accumulates the counters of a link.
type tally struct {
	bytes Bytes
	busy  Time
	waits
}

// waits accumulates the waits of flits in front of a link.
type waits struct {
	flits int64
	// Sum of the waits of all flits in femtoseconds. For two transfers of 1 GiB that share
	// a link it exceeds 64 bits.
	waitHigh, waitLow uint64
}

// wait adds the waits of n flits to the sum. Each flit has waited for the time `each`.
func (c *waits) wait(each Time, n int64) {
	high, low := bits.Mul64(uint64(each), uint64(n))
	var carry uint64
	c.waitLow, carry = bits.Add64(c.waitLow, low, 0)
	c.waitHigh += high + carry
}

func (c *tally) stats() Stats {
	s := Stats{Bytes: c.bytes, Busy: c.busy}
	if c.flits > 0 {
		mean, _ := bits.Div64(c.waitHigh, c.waitLow, uint64(c.flits))
		s.Queued = Time(mean)
	}
	return s
}

// Fabric simulates the links and HBM channels of a machine. If several threads run the
// partitions of the engine, each has a Fabric, and all of them share the links and messages.
type Fabric struct {
	eng      *sim.Engine
	shared   *shared
	cfg      Config
	net      Network
	parts    Partitioned // nil if the network has one partition
	model    model
	messages sim.Pool[message]
	arrival  Arrival // result of Arrival
	observe  func(Passage)
	waited   Time     // total wait of the first flit of the message that ended last
	_        [64]byte // keeps other objects out of its last cache line, since threads write to them
}

// shared is what the fabrics of all threads share.
type shared struct {
	fabrics []*Fabric // by thread
	newest  []int32   // the message that was sent last on each queue, plus one; 0 if it has left its SIP or ended
}

// chain links the messages of a queue. Each message starts when the previous one has left
// its source.
type chain struct {
	queue int32
	next  int32 // the message that follows, plus one; 0 if there is none yet
}

// notice is the Arriving event of a message, and the number of flits that it waits for.
type notice struct {
	event sim.Event
	flits int64
}

// left is the Left event of a message.
type left struct {
	event sim.Event
	seq   uint32 // number of the valid event of the Train model; those with another number are ignored
	stage int32  // the stage of the link that the last byte leaves
}

// model is one of the two fidelities.
type model interface {
	start(m int32)
	// follow starts message m when message `after`, which has started and not ended, has left
	// its source.
	follow(m, after int32)
	stats(topology.LinkID) Stats
}

// message is a transfer in flight. Its stages are the servers that it passes: the channels
// of an HBM slice before the path, the links, and the channels of an HBM slice after the
// path. The fields up to began take two cache lines. A single-flit message that belongs to no
// queue uses only the first of them.
type message struct {
	stages  []stage
	Done    sim.Event
	Bytes   Bytes
	flits   int64 // number of flits, at least 1
	Class   Class
	banked  bool   // whether an end is in HBM
	queued  bool   // whether the message belongs to a queue
	noted   bool   // whether the message has an Arriving event
	leaves  bool   // whether the message has a Left event
	waiting bool   // whether flits wait at the source; only in the Train model
	at      uint16 // the stage of the pending event of a single-flit message; likewise

	source
	chain  chain   // only for a message of a queue
	notice notice  // only for a message with an Arriving event
	began  bool    // whether a message of a queue has started
	_      [7]bool // completes the second cache line

	progress     [shortPath]progress // by stage; only in the Train model, as the next two fields
	longProgress []progress          // likewise, of the stages after the first shortPath
	passages     uint64              // the ID before those of a single-flit message; only with an observer
	waits        Time                // total wait of the first flit; likewise
	left         left                // only for a message with a Left event
	banks        banks               // only for a message with an end in HBM
	_            [5]int64            // completes a cache line
}

// banks has the HBM accesses at the ends of a message.
type banks struct {
	Read, Write Bank
	stages      []stage // stages of the message: the path and the HBM slices
	ends        []Time  // when each HBM channel has written the bytes that have arrived; only in the Train model
	endsSaved   []Time  // ends before the train that arrived last
}

// stage is a link, or the bitwise complement of the number of an HBM slice.
type stage = topology.LinkID

// hbmSlice returns the HBM slice that st stands for. ok is false if st is a link.
func hbmSlice(st stage) (id SliceID, ok bool) { return SliceID(^st), st < 0 }

// Passage describes how a part of a message passed one link. The function set with Observe
// receives it.
type Passage struct {
	Link             topology.LinkID
	Class            Class
	Bytes            Bytes
	Head, Start, End Time   // the first flit arrives, starts to leave; the last flit has left
	ID               uint64 // identifies a passage that may be cut later; 0 if it cannot
	Cut              bool   // corrects the passage with this ID: fewer bytes pass, until End
}

// New returns an idle fabric that uses the engine's clock.
func New(eng *sim.Engine, net Network, cfg Config) *Fabric {
	if cfg.Flit <= 0 {
		panic(fmt.Sprintf("fabric: flit of %v", cfg.Flit))
	}
	f := &Fabric{eng: eng, cfg: cfg, net: net, shared: &shared{}}
	f.shared.fabrics = []*Fabric{f}
	if f.parts, _ = net.(Partitioned); eng.Lookahead() == 0 {
		f.parts = nil
	}
	if cfg.Fidelity == Flit {
		f.model = newFlits(f)
	} else {
		f.model = newTrains(f)
	}
	return f
}

// OnThread returns the fabric of the thread with the given number.
func (f *Fabric) OnThread(thread int) *Fabric { return f.shared.fabrics[thread] }

// Settle prepares for several threads: they continue with the links that this one has used.
func (f *Fabric) Settle() {
	if m, ok := f.model.(*trains); ok {
		m.settle()
	}
}

// share returns a fabric for the thread of e that shares the messages of f.
func (f *Fabric) share(e *sim.Engine) *Fabric {
	other := &Fabric{eng: e, cfg: f.cfg, net: f.net, shared: f.shared, parts: f.parts}
	other.messages.Share(&f.messages)
	f.shared.fabrics = append(f.shared.fabrics, other)
	return other
}

// Observe sets the function that is called for every flit or train that a link serves, and
// again for a train that is interrupted. Tests and traces use it. A nil function disables
// it.
func (f *Fabric) Observe(fn func(Passage)) { f.observe = fn }

// Waited returns the total time that the first flit of a message waited in front of links.
// The result is valid only in the Done event of that message, and only if an observer is
// set with Observe.
func (f *Fabric) Waited() Time { return f.waited }

// Fidelity returns the model that the fabric uses.
func (f *Fabric) Fidelity() Fidelity { return f.cfg.Fidelity }

// Arrival returns when the flits arrive that an Arriving event announces. The result is
// valid only in that event.
func (f *Fabric) Arrival() Arrival { return f.arrival }

// observePassage completes p with the class of message i and reports it to the observer.
// `head` says whether the part of the message that p describes contains the first flit of
// the message. If so, the wait of that flit is added to the total for Waited.
func (f *Fabric) observePassage(i int32, head bool, p Passage) {
	if head {
		f.messages.At(i).waits += p.Start - p.Head
	}
	p.Class = f.messages.At(i).Class
	f.observe(p)
}

// Stats returns the counters of link id.
func (f *Fabric) Stats(id topology.LinkID) Stats { return f.model.stats(id) }

// Send starts a transfer at the current time.
func (f *Fabric) Send(t *Transfer) {
	if len(t.Path) == 0 || t.Bytes < 0 {
		panic(fmt.Sprintf("fabric: transfer of %v over %d links", t.Bytes, len(t.Path)))
	}
	f.checkBank(&t.Read, t.Bytes)
	f.checkBank(&t.Write, t.Bytes)
	i, m := f.messages.Get()
	m.Bytes, m.Class, m.Done, m.stages = t.Bytes, t.Class, t.Done, t.Path
	m.flits = max(1, int64((t.Bytes+f.cfg.Flit-1)/f.cfg.Flit))                         // 0 bytes are one empty flit
	if m.banked = (t.Read.Slice != 0 || t.Write.Slice != 0) && t.Bytes > 0; m.banked { // 0 bytes touch no burst
		b := &f.messages.At(i).banks
		b.Read, b.Write = t.Read, t.Write
		b.setStages(t.Path)
		m.stages = b.stages
	}
	m.queued = t.Queue != 0 && t.Read.Slice == 0 // reads of one queue overlap
	if m.queued {
		m.began = false
	}
	if m.leaves = t.Border > 0; m.leaves {
		f.setLeft(i, t)
	}
	if m.noted = t.Notice > 0; m.noted {
		m.notice = notice{t.Arriving, t.Notice}
	}
	if !m.queued || !f.enqueue(i, t.Queue) {
		f.begin(i)
	}
}

// begin starts message i.
func (f *Fabric) begin(i int32) {
	if m := f.messages.At(i); m.queued {
		m.began = true
	}
	f.model.start(i)
}

// setLeft sets the Left event of message i, which is t.
func (f *Fabric) setLeft(i int32, t *Transfer) {
	l := &f.messages.At(i).left
	l.event, l.stage = t.Left, int32(t.Border-1+len(f.messages.At(i).stages)-len(t.Path))
	if b := f.messages.At(i); b.banked && t.Write.Slice != 0 {
		l.stage-- // the last stage is not a link
	}
	l.seq++
}

// Idle reports whether no message is in flight.
func (f *Fabric) Idle() bool { return f.messages.Len() == 0 }

// untilBorder returns the stages of the message from stage st on, without the link of its Left
// event and those behind it if that link follows.
func (m *message) untilBorder(st int32) []stage {
	if m.leaves && st <= m.left.stage {
		return m.stages[st:m.left.stage]
	}
	return m.stages[st:]
}

// AddQueue prepares for transfers of the queue with the given number. It must be called before
// several threads run; else, Send does it.
func (f *Fabric) AddQueue(queue int32) {
	if n := int(queue) + 1 - len(f.shared.newest); n > 0 {
		f.shared.newest = append(f.shared.newest, make([]int32, n)...)
	}
}

// enqueue adds message i to a queue and reports whether it follows another message there.
func (f *Fabric) enqueue(i, queue int32) bool {
	if len(f.shared.newest) <= int(queue) {
		f.AddQueue(queue)
	}
	f.messages.At(i).chain = chain{queue: queue}
	newest := &f.shared.newest[queue]
	previous := *newest - 1
	*newest = i + 1
	if previous < 0 {
		return false
	}
	f.messages.At(previous).chain.next = i + 1
	if f.messages.At(previous).began {
		f.model.follow(i, previous)
	}
	return true
}

// startNext starts the message that follows message i in its queue, if there is one.
func (f *Fabric) startNext(i int32) {
	if next := f.messages.At(i).chain.next - 1; next >= 0 {
		f.messages.At(i).chain.next = 0
		f.begin(next)
	}
}

// leaveQueue removes message i, which has left its SIP or ended, from its queue.
func (f *Fabric) leaveQueue(i int32) {
	f.startNext(i)
	m := f.messages.At(i)
	m.queued = false
	if newest := &f.shared.newest[m.chain.queue]; *newest == i+1 {
		*newest = 0
	}
}

// leave calls the Left event of message i. Another thread continues with the message.
func (f *Fabric) leave(i int32) {
	m := f.messages.At(i)
	if m.queued {
		f.leaveQueue(i)
	}
	f.eng.Call(m.left.event)
}

// setStages sets b.stages to the servers of a message in order: the HBM slice to read from,
// the links of `path`, and the HBM slice to write to.
func (b *banks) setStages(path []topology.LinkID) {
	b.stages = b.stages[:0]
	if b.Read.Slice != 0 {
		b.stages = append(b.stages, ^stage(b.Read.Slice))
	}
	b.stages = append(b.stages, path...)
	if b.Write.Slice != 0 {
		b.stages = append(b.stages, ^stage(b.Write.Slice))
	}
}

// checkBank panics if b has a slice and the region of b does not have n bytes.
func (f *Fabric) checkBank(b *Bank, n Bytes) {
	if b.Slice != 0 && b.Region.Bytes() != n {
		panic(fmt.Sprintf("fabric: transfer of %v to or from a region of %v", n, b.Region.Bytes()))
	}
}

// finish ends message i now: it frees the message and calls its Done event.
func (f *Fabric) finish(i int32) {
	m := f.messages.At(i)
	done := m.Done
	if m.queued {
		f.leaveQueue(i)
	}
	if f.observe != nil {
		f.waited, m.waits = m.waits, 0
	}
	f.messages.Put(i)
	f.eng.Call(done)
}

// lastFlitBytes returns the size of the last flit of m. The parameter `flit` is the size of
// the other flits.
func (m *message) lastFlitBytes(flit Bytes) Bytes { return m.Bytes - Bytes(m.flits-1)*flit }

// isShort reports whether flit number k of m is the last flit and has fewer than `flit`
// bytes.
func (m *message) isShort(k int64, flit Bytes) bool {
	return k == m.flits-1 && m.Bytes < Bytes(m.flits)*flit
}

// accessAt returns the HBM access at stage number st of a message: its direction and its
// region. Stage 0 is a read; every other stage with an HBM slice is a write.
func (b *banks) accessAt(st int) (memory.Op, memory.Region) {
	if st == 0 {
		return memory.Read, b.Read.Region
	}
	return memory.Write, b.Write.Region
}
