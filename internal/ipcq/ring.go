package ipcq

import (
	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/topology"
)

// Queues is all the rings of a machine: the handler of their events.
type Queues struct {
	eng    *sim.Engine
	target sim.Target
	// Seen is told of messages of the op log when all of them is visible.
	Seen func(oplog.ID)

	rings sim.Pool[*Ring]
}

// New returns no queues yet.
func New(eng *sim.Engine) *Queues {
	q := &Queues{eng: eng}
	q.target = eng.Register(q)
	return q
}

// End is one end of a ring.
type End struct {
	Name string // of the PE and port, in words: "sip0.cube0.pe1 east", "sip0.cube0.pe1 east (member 3)"
	DMA  *pe.DMA
	Proc *sim.Proc // the kernel there, while it runs
	Any  bool      // it waits for a message, here or elsewhere
}

// Config is how a ring is built.
type Config struct {
	Slots      int
	Local      bool // the slots are in the receiver's TCM
	SlotSize   memory.Bytes
	Memory     memory.ID
	At         pe.Access         // where the slots are in it
	Path       []topology.LinkID // from the sender's TCM to the slots
	Out        []topology.LinkID // from the slots to the receiver's TCM
	Access     simtime.Time      // what the memory of the slots adds to a write, and to a read
	CreditTime simtime.Time      // how long a credit takes back to the sender
}

// Ring carries messages from one PE to another.
type Ring struct {
	sent    uint64         // fragments put in
	taken   uint64         // of which copying out has begun
	read    uint64         // of which it has ended: their credits are on the way, or back
	used    uint64         // credits spent beyond the first Slots
	slots   []fragment     // number n is in slot n mod Slots
	credits []simtime.Time // when that of fragment n comes back, at n mod Slots
	marks   *marks         // of activities, if somebody traces
	posted  []*Receive     // receives that are not complete, in order
	number  int32
	wanted  uint64 // how many have to be read for the sender to go on; 0 if it does not wait
	queues  *Queues
	From    End
	To      End
	Config

	requests []pe.Request
	first    [4]fragment // of the slots, in the usual case all of them
	firsts   [4]simtime.Time
}

// fragment is what a slot holds.
type fragment struct {
	Message
	bytes   memory.Bytes
	first   bool
	last    bool
	visible bool
	parts   int          // transfers to come until it is copied out; -1 before that begins
	end     simtime.Time // of a copy within a TCM, which is known when it begins
	left    sim.Event    // called when it is in its slot
	receive *Receive     // that copies it to memory
}

// Message says what a message is.
type Message struct {
	ID    oplog.ID // its Send
	Shape oplog.Shape
	DType numeric.DType
	Bytes memory.Bytes
	After pe.Order // the place in the sender's program of what came before it
}

const (
	evArrived sim.Kind = iota // a fragment's last byte is in its slot
	evVisible                 // and what its sender did before it is done
	evCopied                  // its last byte is read
)

// Add makes a ring.
func (q *Queues) Add(from, to End, cfg Config) *Ring {
	r := &Ring{Config: cfg, From: from, To: to, queues: q}
	r.slots, r.credits = r.first[:0], r.firsts[:0]
	r.number = q.rings.Add(r)
	if to.DMA.Trace != nil {
		r.marks = &marks{slots: make([]slotMarks, r.Slots)}
	}
	return r
}

// Remove ends a ring, which is empty.
func (q *Queues) Remove(r *Ring) { q.rings.Take(r.number) }

// TakeCredit takes a credit for one fragment. It is there at an instant, which may be
// later than `now`; ok is false if that is not known yet, and then the sender has
// to AwaitRoom.
func (r *Ring) TakeCredit(now simtime.Time) (at simtime.Time, ok bool) {
	if r.sent < uint64(r.Slots) {
		return now, true
	}
	if r.used == r.read {
		return 0, false
	}
	at = r.credits[r.used%uint64(r.Slots)]
	if m := r.mark(r.used); m != nil {
		r.marks.credit = m.freed
	}
	r.used++
	return max(now, at), true
}

// room is what a sender without credit waits for.
type room Ring

func (r *room) String() string { return r.Kind() + " of " + (*Ring)(r).String() }

// Kind describes the wait without its queue.
func (r *room) Kind() string { return "a free slot" }

// HeldBy returns the receiver's kernel.
func (r *room) HeldBy() *sim.Proc { return r.To.Proc }

// AwaitRoom parks the sender, whose clock is at now, until another credit is on its
// way.
func (r *Ring) AwaitRoom(p *sim.Proc, now simtime.Time) {
	r.wanted = r.used + 1
	p.ParkFrom((*room)(r), now)
	r.wanted = 0
}

// Fragments is how many slots a message takes.
func (r *Ring) Fragments(n memory.Bytes) int {
	return max(1, int((n+r.SlotSize-1)/r.SlotSize))
}

// Put sends fragment i of a message, for which there is a credit. The request says
// where from and when; its path may be given, otherwise it is the ring's own. Done is
// called when the fragment is in its slot.
func (r *Ring) Put(m *Message, i int, req *pe.Request) {
	bytes := min(r.SlotSize, m.Bytes-memory.Bytes(i)*r.SlotSize)
	if len(r.slots) < r.Slots && int(r.sent) == len(r.slots) {
		r.slots = append(r.slots, fragment{})
	}
	n := r.sent
	slot := n % uint64(r.Slots)
	r.slots[slot] = fragment{
		Message: *m, bytes: bytes, first: i == 0, last: memory.Bytes(i+1)*r.SlotSize >= m.Bytes, parts: -1, left: req.Done,
	}
	r.sent++
	req.Op, req.Class, req.Loose = memory.Write, fabric.Comm, req.From.Region.Rows == 0
	if req.Path == nil {
		req.Path, req.Fixed = r.Path, true
	}
	req.Bytes, req.To, req.Tail = bytes, r.slotAccess(slot, bytes), r.Access
	req.Done = sim.Event{Target: r.queues.target, Kind: evArrived, Arg: uint64(r.number)<<32 | slot}
	req.Purpose = pe.Send
	r.From.DMA.Submit(req)
}

// slotAccess is a slot as the end of a request.
func (r *Ring) slotAccess(slot uint64, n memory.Bytes) pe.Access {
	a := r.At
	if a.Slice == 0 {
		return pe.Access{}
	}
	a.Region = memory.Contiguous(a.Region.Addr+memory.Addr(slot)*memory.Addr(r.SlotSize), n)
	return a
}

// Handle is the rings' events.
func (q *Queues) Handle(kind sim.Kind, arg uint64) {
	r, slot := *q.rings.At(int32(arg >> 32)), uint64(uint32(arg))
	switch kind {
	case evArrived:
		f := &r.slots[slot]
		if m := r.mark(slot); m != nil {
			m.write = 0
			if f.bytes > 0 { // of no bytes there may be nothing that takes it out
				m.write = q.eng.By
			}
		}
		q.eng.Call(f.left)
		if !r.From.DMA.Settled(f.After) {
			r.From.DMA.After(f.After, sim.Event{Target: q.target, Kind: evVisible, Arg: arg})
			return
		}
		r.see(slot)
	case evVisible:
		r.see(slot)
	case evCopied:
		r.copied(&r.slots[slot])
	}
}

// see makes a fragment visible to the receiver.
func (r *Ring) see(slot uint64) {
	f := &r.slots[slot]
	f.visible = true
	if r.marks != nil {
		r.marks.seen++
		r.deep(r.queues.eng.Now())
	}
	if f.last && f.ID != 0 {
		r.queues.Seen(f.ID)
	}
	r.match()
	if r.To.Any && r.Waiting() {
		r.To.Proc.Wake()
	}
}

// copied is the end of a transfer out of a slot. With the last of them the slot's
// credit goes back.
func (r *Ring) copied(f *fragment) {
	f.parts--
	if rc := f.receive; rc != nil {
		if rc.copying--; rc.copying == 0 {
			rc.copied(r.queues.eng.Now())
		}
	}
	r.returnCredits(r.queues.eng.Now(), r.queues.eng.By)
}

// returnCredits sends the credits of the slots that are free at an instant, and
// were not before, by an activity.
func (r *Ring) returnCredits(at simtime.Time, by sim.Mark) {
	if len(r.credits) < r.Slots {
		r.credits = append(r.credits, make([]simtime.Time, r.Slots-len(r.credits))...)
	}
	for r.read < r.taken && r.slots[r.read%uint64(r.Slots)].parts == 0 {
		f := &r.slots[r.read%uint64(r.Slots)]
		m := r.mark(r.read)
		if f.end > at { // it waited for the one before, and that has ended sooner
			at = f.end
			if m != nil {
				by = m.copy
			}
		}
		r.credits[r.read%uint64(r.Slots)] = at + r.CreditTime
		if m != nil {
			m.freed = by
		}
		r.read++
	}
	if r.wanted > 0 && r.wanted <= r.read {
		r.From.Proc.Wake()
	}
}

// String names the ring by its ends.
func (r *Ring) String() string { return "the queue " + r.From.Name + " -> " + r.To.Name }

// Left is how many fragments nobody has received.
func (r *Ring) Left() int { return int(r.sent - r.taken) }
