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

// Queues holds all rings of a machine and handles their events.
type Queues struct {
	eng    *sim.Engine
	target sim.Target
	// OnVisible is called when a whole message is visible, with the ID of its Send in the op
	// log. It is not called without a log.
	OnVisible func(oplog.ID)

	rings sim.Pool[*Ring]
}

// New returns a Queues without rings.
func New(eng *sim.Engine) *Queues {
	q := &Queues{eng: eng}
	q.target = eng.Register(q)
	return q
}

// End is one end of a ring.
type End struct {
	Name string // the PE and port: "sip0.cube0.pe1 east", "sip0.cube0.pe1 east (member 3)"
	DMA  *pe.DMA
	Proc *sim.Proc // the process of the kernel, while the kernel runs
	Any  bool      // the receiver waits for a message on any of several queues
}

// Config describes how a ring is built.
type Config struct {
	Slots      int  // number of slots
	Local      bool // the slots are in the receiver's TCM
	SlotSize   memory.Bytes
	Memory     memory.ID
	At         pe.Access         // the location of the slots in Memory
	Path       []topology.LinkID // the links from the sender's TCM to the slots
	Out        []topology.LinkID // the links from the slots to the receiver's TCM
	Access     simtime.Time      // the delay that Memory adds to each write and each read
	CreditTime simtime.Time      // how long a credit takes to return to the sender
}

// Ring carries messages from one PE to another.
type Ring struct {
	sent    uint64         // fragments put into the ring
	taken   uint64         // fragments whose copy out of the slot has started
	read    uint64         // fragments whose copy has ended or has a known end; the times of their credits are known
	used    uint64         // returned credits that the sender has taken
	slots   []fragment     // fragment n is in slot n mod Slots
	credits []simtime.Time // when the credit of fragment n arrives, at index n mod Slots
	marks   *marks         // nil without a trace
	posted  []*Receive     // receives that are not complete, in order
	number  int32          // identifies the ring in events
	wakeAt  uint64         // the value of read at which the sender is woken; 0 is never
	queues  *Queues
	From    End
	To      End
	Config

	requests      []pe.Request    // reused by startCopy
	inlineSlots   [4]fragment     // initial storage of slots
	inlineCredits [4]simtime.Time // initial storage of credits
}

// fragment is the content of a slot.
type fragment struct {
	Message
	bytes   memory.Bytes
	first   bool
	last    bool
	visible bool
	parts   int          // transfers out of the slot that have not ended; -1 before the copy starts
	end     simtime.Time // the end of a copy within a TCM, known when the copy starts
	arrived sim.Event    // called when the fragment is in its slot
	receive *Receive     // the receive that needs the end of the copy, or nil
}

// Message describes a message that a kernel sends.
type Message struct {
	ID    oplog.ID // the Send in the op log; 0 without a log
	Shape oplog.Shape
	DType numeric.DType
	Bytes memory.Bytes
	After pe.Order // the last memory access before the Send in the sender's program
}

const (
	evArrived sim.Kind = iota // a fragment's last byte is in its slot
	evVisible                 // a fragment is in its slot, and the sender's earlier accesses have taken effect
	evCopied                  // a transfer out of a slot has ended
)

// Add adds a ring that carries messages from the end `from` to the end `to`.
func (q *Queues) Add(from, to End, cfg Config) *Ring {
	r := &Ring{Config: cfg, From: from, To: to, queues: q}
	r.slots, r.credits = r.inlineSlots[:0], r.inlineCredits[:0]
	r.number = q.rings.Add(r)
	if to.DMA.Trace != nil {
		r.marks = &marks{slots: make([]slotMarks, r.Slots)}
	}
	return r
}

// Remove removes a ring, which must be empty.
func (q *Queues) Remove(r *Ring) { q.rings.Take(r.number) }

// TakeCredit takes a credit for one fragment and returns the time at which the sender has
// this credit, which is `now` or later. If the time is not known yet, TakeCredit takes no
// credit and ok is false; the sender must then call AwaitCredit and try again.
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

// creditWait is the condition that a sender without a credit waits for, as deadlock reports
// show it.
type creditWait Ring

func (r *creditWait) String() string { return r.Kind() + " of " + (*Ring)(r).String() }

// Kind describes what the sender waits for, without the name of the queue.
func (r *creditWait) Kind() string { return "a free slot" }

// HeldBy returns the process of the receiver's kernel, for which the sender waits.
func (r *creditWait) HeldBy() *sim.Proc { return r.To.Proc }

// AwaitCredit parks p, the process of the sender, until it is known when the next credit
// returns. `now` is the time on the sender's clock.
func (r *Ring) AwaitCredit(p *sim.Proc, now simtime.Time) {
	r.wakeAt = r.used + 1
	p.ParkFrom((*creditWait)(r), now)
	r.wakeAt = 0
}

// Fragments returns the number of slots that a message of n bytes takes.
func (r *Ring) Fragments(n memory.Bytes) int {
	return max(1, int((n+r.SlotSize-1)/r.SlotSize))
}

// Put sends fragment i of message m. The sender must have taken a credit for the fragment.
// In req, the caller sets where the bytes come from and when the request reaches the DMA
// engine. Put adds the size and the destination, and submits req to the sender's DMA
// engine. If req.Path is nil, the fragment takes the path of the ring. If the caller sets
// req.Done, this event is called when the fragment is in its slot.
func (r *Ring) Put(m *Message, i int, req *pe.Request) {
	bytes := min(r.SlotSize, m.Bytes-memory.Bytes(i)*r.SlotSize)
	if len(r.slots) < r.Slots && int(r.sent) == len(r.slots) {
		r.slots = append(r.slots, fragment{})
	}
	n := r.sent
	slot := n % uint64(r.Slots)
	r.slots[slot] = fragment{
		Message: *m, bytes: bytes, first: i == 0, last: memory.Bytes(i+1)*r.SlotSize >= m.Bytes, parts: -1, arrived: req.Done,
	}
	r.sent++
	req.Op, req.Class, req.Queue, req.Unordered = memory.Write, fabric.Comm, r.number+1, req.From.Region.Rows == 0
	if req.Path == nil {
		req.Path, req.Fixed = r.Path, true
	}
	req.Bytes, req.To, req.Tail = bytes, r.slotAccess(slot, bytes), r.Access
	req.Done = sim.Event{Target: r.queues.target, Kind: evArrived, Arg: uint64(r.number)<<32 | slot}
	req.Purpose = pe.Send
	r.From.DMA.Submit(req)
}

// slotAccess returns the first n bytes of a slot as the source or destination of a DMA
// request. It returns the zero value if the slot is not in HBM, because then the request
// needs only a path.
func (r *Ring) slotAccess(slot uint64, n memory.Bytes) pe.Access {
	a := r.At
	if a.Slice == 0 {
		return pe.Access{}
	}
	a.Region = memory.Contiguous(a.Region.Addr+memory.Addr(slot)*memory.Addr(r.SlotSize), n)
	return a
}

// Handle processes an event of a ring. The upper 32 bits of arg are the number of the ring,
// and the lower 32 bits are the slot.
func (q *Queues) Handle(kind sim.Kind, arg uint64) {
	r, slot := *q.rings.At(int32(arg >> 32)), uint64(uint32(arg))
	switch kind {
	case evArrived:
		f := &r.slots[slot]
		if m := r.mark(slot); m != nil {
			m.write = 0
			if f.bytes > 0 { // a fragment without bytes may have no transfer that reads it
				m.write = q.eng.By
			}
		}
		q.eng.Call(f.arrived)
		if !r.From.DMA.Settled(f.After) {
			r.From.DMA.After(f.After, sim.Event{Target: q.target, Kind: evVisible, Arg: arg})
			return
		}
		r.makeVisible(slot)
	case evVisible:
		r.makeVisible(slot)
	case evCopied:
		r.finishTransfer(&r.slots[slot])
	}
}

// makeVisible makes the fragment in the given slot visible to the receiver. If a receive
// waits for the fragment, makeVisible starts the copy. If the receiver waits for a message
// on any of several queues, makeVisible wakes it.
func (r *Ring) makeVisible(slot uint64) {
	f := &r.slots[slot]
	f.visible = true
	if r.marks != nil {
		r.marks.seen++
		r.recordDepth(r.queues.eng.Now())
	}
	if f.last && f.ID != 0 {
		r.queues.OnVisible(f.ID)
	}
	r.match()
	if r.To.Any && r.Waiting() {
		r.To.Proc.Wake()
	}
}

// finishTransfer records the end of a transfer out of the slot that holds f. After the last
// of these transfers, the credit of the slot returns.
func (r *Ring) finishTransfer(f *fragment) {
	f.parts--
	if rc := f.receive; rc != nil {
		if rc.copying--; rc.copying == 0 {
			rc.finishCopy(r.queues.eng.Now())
		}
	}
	r.returnCredits(r.queues.eng.Now(), r.queues.eng.By)
}

// returnCredits returns credits to the sender after a copy out of a slot. `at` is the time
// at which this copy ends, and `by` is the activity that ends it. Credits return in the
// order of the fragments, up to the first fragment whose copy has no known end.
func (r *Ring) returnCredits(at simtime.Time, by sim.Mark) {
	if len(r.credits) < r.Slots {
		r.credits = append(r.credits, make([]simtime.Time, r.Slots-len(r.credits))...)
	}
	for r.read < r.taken && r.slots[r.read%uint64(r.Slots)].parts == 0 {
		f := &r.slots[r.read%uint64(r.Slots)]
		m := r.mark(r.read)
		if f.end > at { // a copy within a TCM that ends later
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
	if r.wakeAt > 0 && r.wakeAt <= r.read {
		r.From.Proc.Wake()
	}
}

// String returns the names of the two ends of the queue, for errors and reports.
func (r *Ring) String() string { return "the queue " + r.From.Name + " -> " + r.To.Name }

// Unreceived returns the number of sent fragments that no receive has taken yet.
func (r *Ring) Unreceived() int { return int(r.sent - r.taken) }
