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

// Fidelity chooses the model.
type Fidelity uint8

// The two fidelities.
const (
	Train Fidelity = iota
	Flit
)

// Hop is what a link costs: how fast it takes data in, and how long after leaving
// it data arrives behind the node that it leads to.
type Hop struct {
	Bandwidth topology.BytesPerSec
	Latency   Time
}

// Network gives the cost of each link. It must not change during a run.
type Network interface {
	NumLinks() int
	Hop(topology.LinkID) Hop
}

// Feeder is a Network that knows of links all of whose traffic comes over one other
// link. It saves events and changes nothing else.
type Feeder interface {
	// FedBy is that other link, -1 if there is none.
	FedBy(topology.LinkID) topology.LinkID
}

// SliceID is an HBM slice, counted from 1. The zero value is none.
type SliceID int32

// Bank is the access to an HBM slice at one end of a transfer. The zero value
// means that there is no HBM at that end.
type Bank struct {
	Slice  SliceID
	Region memory.Region
}

// Transfer is one message.
type Transfer struct {
	Path  []topology.LinkID // not empty; not to be changed before the end
	Bytes Bytes
	Class Class
	Read  Bank      // HBM ahead of the path
	Write Bank      // HBM behind the path
	Done  sim.Event // called when the last byte is there
}

// Config chooses how a Fabric works.
type Config struct {
	Fidelity Fidelity
	Flit     Bytes      // the unit of arbitration
	HBM      memory.HBM // how every slice is built
}

// Stats counts what a link did.
type Stats struct {
	Bytes  Bytes
	Busy   Time // carrying data
	Queued Time // how long a flit waited in front of it, on average
}

// tally counts what a link does.
type tally struct {
	bytes Bytes
	busy  Time
	flits int64
	// The waits of all flits in femtoseconds: two transfers of 1 GiB that meet
	// are beyond 64 bits.
	waitHigh, waitLow uint64
}

// wait notes that n flits waited for a time each.
func (c *tally) wait(each Time, n int64) {
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

// Fabric is the machine's links and HBM channels at work.
type Fabric struct {
	eng      *sim.Engine
	cfg      Config
	net      Network
	model    model
	messages []message
	banks    []banks // of the messages
	free     []int32 // unused messages
	observe  func(Passage)
	waits    []Time // of the heads of messages so far, if somebody observes
	waited   Time   // by the head of the message that has just ended
}

// model is one of the two fidelities.
type model interface {
	start(m int32)
	stats(topology.LinkID) Stats
}

// message is a transfer under way. Its stages are the servers it passes: the
// channels of an HBM slice ahead of the path, links, and channels behind it. It is
// one cache line.
type message struct {
	stages []stage
	Done   sim.Event
	Bytes  Bytes
	flits  int64 // all of them
	Class  Class
	banked bool // it has banks
}

// banks is the HBM at the ends of a message, if there is any.
type banks struct {
	Read, Write Bank
	begun       Time    // the message
	stages      []stage // of the message: the path and these
}

// stage is a link, or an HBM slice as the complement of its id.
type stage = topology.LinkID

// slice is the HBM slice that a stage is, if it is one.
func slice(st stage) (SliceID, bool) { return SliceID(^st), st < 0 }

// Passage is the way of one message over one link, as an observer sees it.
type Passage struct {
	Link             topology.LinkID
	Class            Class
	Bytes            Bytes
	Head, Start, End Time // first flit arrives, begins to leave; last flit has left
	Cut              bool // it is the one before on this link, cut short: the rest passes later
}

// New returns an idle fabric on the engine's clock.
func New(eng *sim.Engine, net Network, cfg Config) *Fabric {
	if cfg.Flit <= 0 {
		panic(fmt.Sprintf("fabric: flit of %v", cfg.Flit))
	}
	f := &Fabric{eng: eng, cfg: cfg, net: net}
	if cfg.Fidelity == Flit {
		f.model = newFlits(f)
	} else {
		f.model = newTrains(f)
	}
	return f
}

// Observe calls fn for every service of every link: each flit, or each train, and once
// more for one that another cuts short. It is for tests and traces; nil switches it off.
func (f *Fabric) Observe(fn func(Passage)) { f.observe = fn }

// Waited is how long the head of the message that ends now waited in front of links, if
// somebody observes.
func (f *Fabric) Waited() Time { return f.waited }

// passed tells of the service of a part of message i.
func (f *Fabric) passed(i int32, head bool, p Passage) {
	for len(f.waits) <= int(i) {
		f.waits = append(f.waits, 0)
	}
	if head {
		f.waits[i] += p.Start - p.Head
	}
	p.Class = f.messages[i].Class
	f.observe(p)
}

// Stats is what a link has done so far.
func (f *Fabric) Stats(id topology.LinkID) Stats { return f.model.stats(id) }

// Send starts a transfer at the present instant.
func (f *Fabric) Send(t *Transfer) {
	if len(t.Path) == 0 || t.Bytes < 0 {
		panic(fmt.Sprintf("fabric: transfer of %v over %d links", t.Bytes, len(t.Path)))
	}
	f.checkBank(&t.Read, t.Bytes)
	f.checkBank(&t.Write, t.Bytes)
	var i int32
	if n := len(f.free); n > 0 {
		i = f.free[n-1]
		f.free = f.free[:n-1]
	} else {
		i = int32(len(f.messages))
		f.messages = append(f.messages, message{})
		f.banks = append(f.banks, banks{})
	}
	m := &f.messages[i]
	m.Bytes, m.Class, m.Done, m.stages = t.Bytes, t.Class, t.Done, t.Path
	m.flits = max(1, int64((t.Bytes+f.cfg.Flit-1)/f.cfg.Flit))                         // no bytes are one empty flit
	if m.banked = (t.Read.Slice != 0 || t.Write.Slice != 0) && t.Bytes > 0; m.banked { // no bytes touch no burst
		b := &f.banks[i]
		b.Read, b.Write, b.begun = t.Read, t.Write, f.eng.Now()
		b.surround(t.Path)
		m.stages = b.stages
	}
	f.model.start(i)
}

// surround puts the HBM at the ends of the path among the stages.
func (b *banks) surround(path []topology.LinkID) {
	b.stages = b.stages[:0]
	if b.Read.Slice != 0 {
		b.stages = append(b.stages, ^stage(b.Read.Slice))
	}
	b.stages = append(b.stages, path...)
	if b.Write.Slice != 0 {
		b.stages = append(b.stages, ^stage(b.Write.Slice))
	}
}

func (f *Fabric) checkBank(b *Bank, n Bytes) {
	if b.Slice != 0 && b.Region.Bytes() != n {
		panic(fmt.Sprintf("fabric: transfer of %v to or from a region of %v", n, b.Region.Bytes()))
	}
}

// finish tells the end of message i, which is now, and forgets it.
func (f *Fabric) finish(i int32) {
	done := f.messages[i].Done
	f.free = append(f.free, i)
	if int(i) < len(f.waits) {
		f.waited, f.waits[i] = f.waits[i], 0
	}
	f.eng.Call(done)
}

// short is the size of the last flit.
func (m *message) short(flit Bytes) Bytes { return m.Bytes - Bytes(m.flits-1)*flit }

// isShort reports whether flit k of m is the last one and not whole.
func (m *message) isShort(k int64, flit Bytes) bool {
	return k == m.flits-1 && m.Bytes < Bytes(m.flits)*flit
}

// at is the HBM access of stage st, and which way it goes.
func (b *banks) at(st int) (memory.Op, memory.Region) {
	if st == 0 {
		return memory.Read, b.Read.Region
	}
	return memory.Write, b.Write.Region
}
