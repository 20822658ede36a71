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
	fab    *fabric.Fabric
	target sim.Target
	// OnVisible is called when a whole message is visible, with the ID of its Send in the op
	// log. It is not called without a log.
	OnVisible func(oplog.ID)

	rings   sim.Pool[*Ring]
	remotes sim.Kind     // rings between SIPs that were added so far
	put     pe.Request   // the latest request of PutTile; other requests are not in the cache
	copying []pe.Request // reused by submitCopy
	threads []*Queues    // by thread; this one is the first
	_       [64]byte     // keeps other objects out of its last cache line, since threads write to them
}

// New returns a Queues without rings. If several threads run the partitions of the engine, each
// has a Queues with the same rings; the result is that of the first.
func New(eng *sim.Engine, fab *fabric.Fabric) *Queues {
	var all []*Queues
	target := eng.RegisterEach(func(e *sim.Engine) sim.Handler {
		all = append(all, &Queues{eng: e, fab: fab.OnThread(len(all))})
		return all[len(all)-1]
	})
	for i, q := range all {
		if q.target = target; i > 0 {
			q.rings.Share(&all[0].rings)
		}
	}
	all[0].threads = all
	return all[0]
}

// of returns the Queues of the thread that runs the SIP of an end.
func (q *Queues) of(e *End) *Queues { return q.threads[q.eng.ThreadOf(pe.PartitionOf(e.DMA.SIP))] }

// End is one end of a ring.
type End struct {
	DMA  *pe.DMA
	Proc *sim.Proc // the process of the kernel, while the kernel runs
	Any  bool      // the receiver waits for a message on any of several queues
	Name string    // the PE and port: "sip0.cube0.pe1 east", "sip0.cube0.pe1 east (member 3)"
}

// Config describes how a ring is built.
type Config struct {
	SlotSize memory.Bytes
	Slots    int // number of slots

	// SlotFlits is the number of flits of a full slot, and SlotTime is how long the slowest
	// link of Path takes to send them. SlotFlits is 0 if every fragment is a transfer of its
	// own.
	SlotFlits int64

	CreditTime simtime.Time      // how long a credit takes to return to the sender
	Path       []topology.LinkID // the links from the sender's TCM to the slots
	Access     simtime.Time      // the delay that Memory adds to each write and each read
	SlotTime   simtime.Time      // see SlotFlits
	Local      bool              // the slots are in the receiver's TCM
	Way        simtime.Time      // how long a report of the sender takes to the receiver; 0 within a SIP
	Border     int32             // see pe.Remote
	Apart      bool              // two threads may run the ends; only between SIPs
	Memory     memory.ID
	At         pe.Access         // the location of the slots in Memory
	Out        []topology.LinkID // the links from the slots to the receiver's TCM
}

// Ring carries messages from one PE to another. The blocks of fields up to inlineBatches, a
// batch, and the first fields of Config each take one cache line: a Ring starts 56 bytes
// before a line. The sender and the receiver of a short message use few of these lines.
type Ring struct {
	sent    uint64         // fragments put into the ring
	taken   uint64         // fragments whose copy out of the slot has started or has a known start
	read    uint64         // fragments whose copy has ended or has a known end; the times of their credits are known
	used    uint64         // returned credits that the sender has taken
	credits []simtime.Time // when the credit of fragment n arrives, at index n mod Slots

	queues  *Queues   // of the receiver's thread
	batches batchFIFO // batches that the receiver has not taken, in the order of sending
	popped  uint32    // batches that the receiver has taken
	number  int32     // identifies the ring in events
	mask    uint64    // Slots-1 if Slots is a power of two, else 0
	inOrder bool      // credits return in the order of the fragments: every copy so far was within a TCM, and there is no trace
	banked  bool      // the slots are in HBM
	local   bool      // as Config.Local
	traced  bool      // marks is set

	From   End
	posted []*Receive // receives that are not complete, in order

	To           End
	wakeAt       uint64      // the value of read at which the sender is woken; 0 is never
	inlinePosted [1]*Receive // initial storage of posted
	marks        *marks      // nil without a trace

	inlineCredits [4]simtime.Time // initial storage of credits
	copies        []slotCopy      // by slot; nil if every copy so far was within a TCM
	remote        *remote         // nil within a SIP

	inlineBatches [4]batch // initial storage of batches
	Config
}

// slotCopy is the state of the copy out of a slot.
type slotCopy struct {
	parts   int          // transfers out of the slot that have not ended
	end     simtime.Time // the end of a copy within a TCM, known when the copy starts
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
	evArriving    sim.Kind = iota // the first fragment of a batch is in its slot
	evAnnounced                   // likewise, and the sender's earlier accesses have taken effect
	evArrived                     // the last byte of a batch is in its slot
	evVisible                     // likewise, and the sender's earlier accesses have taken effect
	evCopied                      // a transfer out of a slot has ended
	evSettled                     // the earlier accesses of a sender in another SIP that do not end in the receiver's SIP have taken effect
	evReported                    // likewise, and the receiver knows
	evLanded                      // its earlier writes to the receiver's SIP have ended
	evCredit                      // a sender in another SIP learns when credits return; the other bits of the kind tell rings apart
	evCreditLoose                 // likewise, of a ring whose credits may return in another order than that of the fragments

	kindBits = 8
	kindMask = 1<<kindBits - 1
)

// Add adds a ring that carries messages from the end `from` to the end `to`.
func (q *Queues) Add(from, to End, cfg Config) *Ring {
	r := &Ring{Config: cfg, From: from, To: to, queues: q.of(&to)}
	r.batches.items, r.posted, r.credits = r.inlineBatches[:0], r.inlinePosted[:0], r.inlineCredits[:0]
	r.traced = to.DMA.Trace != nil
	r.inOrder, r.banked, r.local = !r.traced, r.At.Slice != 0, r.Local
	if n := uint64(r.Slots); n&(n-1) == 0 {
		r.mask = n - 1
	}
	if r.Way > 0 {
		q.remotes++
		r.remote = &remote{request: pe.Remote{Border: r.Border}, credit: q.remotes << kindBits, queues: q.of(&from)}
		if r.Apart && len(q.threads) > 1 { // nothing moves that both ends use
			r.batches = batchFIFO{items: make([]batch, r.Slots), fixed: true}
			r.credits = make([]simtime.Time, r.Slots)
		}
	}
	r.number = q.rings.Add(r)
	q.fab.AddQueue(r.number + 1)
	if r.traced {
		r.marks = &marks{slots: make([]slotMarks, r.Slots)}
	}
	return r
}

// Remove removes a ring, which must be empty.
func (q *Queues) Remove(r *Ring) { q.rings.Take(r.number) }

// slot returns the slot of fragment n.
func (r *Ring) slot(n uint64) uint64 {
	if r.mask != 0 {
		return n & r.mask
	}
	return n % uint64(r.Slots)
}

// TakeCredits takes credits for at most n fragments that can travel together. It returns
// their number, and when the sender has the first and the last of them, which is `now` or
// later. Fragments can travel together if the credit of each is there by the time that the
// slowest link has sent the previous fragments.
//
// If it is not known yet when the next credit returns, TakeCredits takes none and returns 0;
// the sender must then call AwaitCredit and try again.
func (r *Ring) TakeCredits(now simtime.Time, n int) (count int, first, last simtime.Time) {
	if r.SlotFlits == 0 {
		n = 1
	}
	first, last = now, now
	if unused := int(max(r.sent, uint64(r.Slots)) - r.sent); unused > 0 { // slots that were never used
		count = min(n, unused)
	}
	if count == n {
		return count, first, last
	}
	var read uint64
	var inOrder bool
	if r.remote == nil {
		read, inOrder = r.read, r.inOrder
	} else {
		read, inOrder = r.remote.known, !r.remote.loose
	}
	if last := r.used + uint64(n-count) - 1; last < read && inOrder && r.credits[r.slot(last)] <= now {
		r.used = last + 1 // all are there
		return n, now, now
	}
	slot := r.slot(r.used)
	for ; count < n && r.used < read; count++ {
		at := max(now, r.credits[slot])
		if count == 0 {
			first = at
		} else if at > first+simtime.Time(count)*r.SlotTime {
			break
		}
		if m := r.mark(r.used); m != nil {
			if r.marks.credit = m.freed; count == 0 {
				r.marks.first = m.freed
			}
		}
		last = max(last, at)
		r.used++
		if slot++; slot == uint64(r.Slots) {
			slot = 0
		}
	}
	return count, first, last
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
	if n <= r.SlotSize {
		return 1
	}
	return int((n + r.SlotSize - 1) / r.SlotSize)
}

// Parts returns the number of transfers that bring a message of n bytes into a tile. Copies
// within a TCM count as one, because they end in order.
func (r *Ring) Parts(n memory.Bytes) int {
	if r.local {
		return 1
	}
	return r.Fragments(n)
}

// Put sends n fragments of message m from fragment i on. The sender must have taken credits
// for the fragments with TakeCredits. In req, the caller sets where the bytes come from and
// when the request reaches the DMA engine. Put adds the size and the destination, and
// submits req to the sender's DMA engine. If req.Path is nil, the fragments take the path of
// the ring. If the caller sets req.Done, this event is called when the fragments are in
// their slots.
func (r *Ring) Put(m *Message, i, n int, req *pe.Request) {
	slot := r.sent
	seq, bytes := r.addBatch(m, i, n, req.Done)
	req.More = i > 0
	req.Op, req.Class, req.Queue, req.Unordered = memory.Write, fabric.Comm, r.number+1, req.From.Region.Rows == 0
	if req.Path == nil {
		req.Path, req.Fixed, req.Remote = r.Path, true, r.Remote()
	}
	req.Bytes, req.Tail = bytes, r.Access
	if req.To = (pe.Access{}); r.banked {
		req.To = r.slotAccess(r.slot(slot), bytes)
	}
	req.Done = r.event(evArrived, seq)
	if req.Notice = 0; n > 1 {
		req.Arriving, req.Notice = evArriving, r.SlotFlits
	}
	req.Purpose = pe.Send
	if r.remote != nil {
		r.fence(seq, m.After)
	}
	r.From.DMA.Submit(req)
}

// PutTile sends n fragments of message m from fragment i on, as Put does. The fragments are
// in a tile of the sender. The request reaches the DMA engine at the time `at`. The activity
// `by` releases it; 0 is the current activity.
func (r *Ring) PutTile(m *Message, i, n int, tile int32, at simtime.Time, by sim.Mark) {
	req := &r.sender().put
	req.Source, req.At, req.Path, req.Done, req.By = tile, at, nil, sim.Event{}, by
	r.Put(m, i, n, req)
}

// addBatch adds the batch of n fragments of message m from fragment i on. It returns the
// number of the batch and its size. `arrived` is called when the batch is in its slots.
func (r *Ring) addBatch(m *Message, i, n int, arrived sim.Event) (seq uint32, bytes memory.Bytes) {
	seq = r.batches.added
	b := r.batches.add()
	b.ID, b.message, b.after, b.dtype, b.shape = m.ID, m.Bytes, m.After, m.DType, m.Shape
	b.bytes, b.begins, b.ends = m.Bytes, true, true
	if i > 0 || n > 1 || b.bytes > r.SlotSize {
		from := memory.Bytes(i) * r.SlotSize
		b.bytes = min(memory.Bytes(n)*r.SlotSize, m.Bytes-from)
		b.begins, b.ends = i == 0, from+b.bytes >= m.Bytes
	}
	b.first, b.count, b.known, b.fenced, b.held, b.stage = r.sent, int32(n), 0, false, false, underway
	if b.calls = arrived.Target != 0; b.calls {
		b.arrived = arrived
	}
	r.sent += uint64(n)
	return seq, b.bytes
}

// event returns an event about a batch, or about a slot if the kind is evCopied.
func (r *Ring) event(kind sim.Kind, n uint32) sim.Event {
	return sim.Event{Target: r.queues.target, Kind: kind, Arg: uint64(r.number)<<32 | uint64(n)}
}

// slotAccess returns the first n bytes of a slot in HBM as the source or destination of a
// DMA request. Slots in other memories need only a path.
func (r *Ring) slotAccess(slot uint64, n memory.Bytes) pe.Access {
	a := r.At
	a.Region = memory.Contiguous(a.Region.Addr+memory.Addr(slot)*memory.Addr(r.SlotSize), n)
	return a
}

// Handle processes an event of a ring. The upper 32 bits of arg are the number of the ring.
// The lower 32 bits are the number of a batch, counted over all batches of the ring, or the
// slot if the kind is evCopied.
func (q *Queues) Handle(kind sim.Kind, arg uint64) {
	r, n := *q.rings.At(int32(arg >> 32)), uint32(arg)
	switch kind & kindMask {
	case evCredit, evCreditLoose:
		if r != nil && r.remote != nil && kind&^kindMask == r.remote.credit {
			r.learn(n, kind&kindMask == evCredit)
		}
		return
	case evCopied:
		r.finishTransfer(uint64(n))
		return
	}
	b := r.batch(n)
	switch kind {
	case evArriving:
		b.arrival, b.write = q.fab.Arrival(), q.eng.By
		if r.remote != nil {
			r.reach(b, n, arriving)
			return
		}
		r.From.DMA.After(b.after, r.event(evAnnounced, n))
	case evAnnounced:
		r.announce(b)
	case evArrived:
		if r.traced {
			if b.write = 0; b.bytes > 0 { // a batch without bytes may have no transfer that reads it
				b.write = q.eng.By
			}
		}
		if b.calls {
			q.eng.Call(b.arrived)
		}
		if r.remote != nil {
			r.reach(b, n, arrived)
			return
		}
		if !r.From.DMA.Settled(b.after) {
			r.From.DMA.After(b.after, r.event(evVisible, n))
			return
		}
		r.makeVisible(b)
	case evVisible:
		r.makeVisible(b)
	case evSettled:
		b.by = q.eng.By
		q.eng.AtIn(pe.PartitionOf(r.Memory.SIP), q.eng.Now()+r.Way, q.target, evReported, arg)
	case evReported:
		b.fenced, q.eng.By = false, b.by
		r.reach(b, n, b.stage)
	case evLanded:
		b.held = false
		r.show(b)
	}
}

// announce makes the fragments of b visible that have arrived. Of the other fragments, it
// records when those will be visible whose arrival is announced, except the last fragment of
// b: the end of the transfer makes that one visible.
func (r *Ring) announce(b *batch) {
	known := min(int32((b.arrival.First+b.arrival.Flits)/r.SlotFlits), b.count-1)
	if known <= b.known { // fewer after the end of the transfer
		return
	}
	if r.traced && b.known == 0 {
		r.countVisible(1)
	}
	b.known, b.since = known, r.queues.eng.Now()
	r.offer()
}

// makeVisible makes all fragments of b visible to the receiver.
func (r *Ring) makeVisible(b *batch) {
	if b.count > 1 && b.stream.Open {
		r.To.DMA.EndStream(&b.stream)
	}
	if r.traced {
		r.countVisible(int(b.count - min(b.known, 1))) // announce has counted one
	}
	b.known, b.since = b.count, r.queues.eng.Now()
	if b.ends && b.ID != 0 {
		r.queues.OnVisible(b.ID)
	}
	r.offer()
}

// offer passes visible fragments to the receives that wait for them. If the receiver waits
// for a message on any of several queues, offer wakes it.
func (r *Ring) offer() {
	r.match()
	if r.To.Any && r.Waiting() {
		r.To.Proc.Wake()
	}
}

// visibleAt returns when fragment n, which is one of the known fragments of b, is visible.
func (r *Ring) visibleAt(b *batch, n uint64) simtime.Time {
	if b.known == b.count {
		return b.since
	}
	return max(b.since, b.arrival.At(int64(n-b.first+1)*r.SlotFlits-1))
}

// finishTransfer records the end of a transfer out of a slot. After the last of these
// transfers, the credit of the slot returns.
func (r *Ring) finishTransfer(slot uint64) {
	f := &r.copies[slot]
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
	for r.read < r.taken {
		slot := r.slot(r.read)
		if !r.inOrder {
			m := r.mark(r.read)
			if r.copies != nil {
				f := &r.copies[slot]
				if f.parts > 0 {
					break
				}
				if f.end > at { // a copy within a TCM that ends later
					at = f.end
					if m != nil {
						by = m.copy
					}
				}
			}
			if m != nil {
				m.freed = by
			}
		}
		r.credits[slot] = at + r.CreditTime
		r.read++
	}
	r.tellSender()
}

// tellSender wakes the sender if the time of the credit that it waits for is known. A sender
// in another SIP learns of the credits later.
func (r *Ring) tellSender() {
	if r.remote != nil {
		r.report()
	} else if r.wakeAt > 0 && r.wakeAt <= r.read {
		r.From.Proc.Wake()
	}
}

// String returns the names of the two ends of the queue, for errors and reports.
func (r *Ring) String() string { return "the queue " + r.From.Name + " -> " + r.To.Name }

// Unreceived returns the number of sent fragments that no receive has taken yet.
func (r *Ring) Unreceived() int { return int(r.sent - r.taken) }
