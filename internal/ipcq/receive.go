package ipcq

import (
	"fmt"

	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
)

// Receive is a kernel's request for the next message of a ring. The fields that every
// message uses come first, so that they are in few cache lines.
type Receive struct {
	Bytes    memory.Bytes
	At       simtime.Time // the earliest time at which a copy may start
	End      simtime.Time // when the last byte is at the destination
	taken    memory.Bytes // bytes whose copy has started
	ring     *Ring
	copying  int32 // transfers in flight
	Tile     int32 // the destination: a tile with one part for each fragment
	DType    numeric.DType
	Complete bool // the whole message is visible, or Err is set
	waiting  bool // the receiver is parked in Await
	// Into is set if the destination is memory instead of a tile. It appends to `to` the
	// transfers that write bytes off to off+n of the message to memory, and returns the list.
	// The ring sets From of these transfers.
	Into func(to []pe.Request, off, n memory.Bytes) []pe.Request

	Begun sim.Event // called when a message has been assigned and Send is set
	Done  sim.Event // called when End is final
	ID    oplog.ID  // the Recv in the op log; 0 without a log
	Send  oplog.ID  // the Send of the message in the op log
	Err   error     // a *Mismatch if the message does not have the requested dtype and size
	Shape oplog.Shape
	By    sim.Mark // the activity that posted the receive, in a trace
	Line  string   // the kernel's line, in a trace
	Order pe.Order // the place of the receive among the memory accesses of the kernel
}

// Reset prepares rc, which may have been used before, for a message of shape s, dtype d and
// n bytes. It runs for every message. To save time, it clears ID, Into, Err, Begun and Done
// only if ID, Into or Err is set.
func (rc *Receive) Reset(s oplog.Shape, d numeric.DType, n memory.Bytes) {
	rc.Shape, rc.DType, rc.Bytes = s, d, n
	rc.Send, rc.Complete, rc.waiting, rc.taken, rc.copying, rc.End = 0, false, false, 0, 0, 0
	if rc.ID != 0 || rc.Into != nil || rc.Err != nil {
		rc.ID, rc.Into, rc.Err, rc.Begun, rc.Done = 0, nil, nil, sim.Event{}, sim.Event{}
	}
}

// Mismatch is the error of a receive if the message has another dtype or size than
// requested.
type Mismatch struct {
	Ring         *Ring
	Sent, Wanted Message
}

func (m *Mismatch) Error() string {
	return fmt.Sprintf("the message from %s is %s, and %s was asked for: send and receive must agree on dtype and size",
		m.Ring.From.Name, m.Sent.describe(), m.Wanted.describe())
}

func (m *Message) describe() string {
	return fmt.Sprintf("%v %v", m.Shape.Dim[:m.Shape.Rank], m.DType)
}

// Post requests, for rc, the first message of the ring that no earlier receive has
// requested.
func (r *Ring) Post(rc *Receive) {
	rc.ring, rc.By = r, r.queues.eng.By
	if r.traced {
		rc.Line = r.To.DMA.Trace.Line
	}
	if r.posted = append(r.posted, rc); r.hasBatch() {
		r.match()
	}
}

// Waiting reports whether the ring has a message that no receive has requested and whose
// first fragment is visible.
func (r *Ring) Waiting() bool {
	return len(r.posted) == 0 && r.hasBatch() && r.batch(r.popped).known > 0
}

// hasBatch reports whether there is a batch that the receiver has not taken, and of which it
// knows.
func (r *Ring) hasBatch() bool {
	if r.remote != nil {
		return r.popped != r.remote.reached
	}
	return r.taken < r.sent
}

// match assigns fragments to the posted receives, in order, and starts to copy the fragments
// out of their slots. It also computes the copies of fragments that will be visible at a
// known time.
func (r *Ring) match() {
	for len(r.posted) > 0 && r.hasBatch() {
		rc, b := r.posted[0], r.batch(r.popped)
		if r.taken == b.first+uint64(b.known) {
			return
		}
		if b.begins && r.taken == b.first && !rc.accept(b) {
			return
		}
		r.startCopies(rc, b)
		if r.taken < b.first+uint64(b.count) {
			return
		}
		ends := b.ends
		r.popped++
		r.batches.pop()
		if ends {
			r.unpost()
			rc.complete()
		}
	}
}

// unpost removes the first receive.
func (r *Ring) unpost() {
	n := len(r.posted) - 1
	if n > 0 {
		copy(r.posted, r.posted[1:])
	}
	r.posted = r.posted[:n]
}

// accept assigns the message of b to rc and returns true. If the message does not have the
// dtype and size that rc requests, accept sets rc.Err, completes rc and returns false.
func (rc *Receive) accept(b *batch) bool {
	if b.message != rc.Bytes || b.dtype != rc.DType {
		sent := Message{ID: b.ID, Shape: b.shape, DType: b.dtype, Bytes: b.message, After: b.after}
		rc.Err = &Mismatch{rc.ring, sent, Message{Shape: rc.Shape, DType: rc.DType}}
		rc.complete()
		return false
	}
	if rc.Send = b.ID; rc.Begun.Target != 0 {
		rc.ring.queues.eng.Call(rc.Begun)
	}
	return true
}

func (rc *Receive) complete() {
	rc.Complete = true
	if rc.waiting {
		rc.ring.To.Proc.Wake()
	}
}

// startCopies starts to copy the known fragments of b out of their slots to the destination
// of rc. The end of a copy within a TCM is known at once, so such a copy needs no event.
func (r *Ring) startCopies(rc *Receive, b *batch) {
	now := r.queues.eng.Now()
	for end := b.first + uint64(b.known); r.taken < end; {
		if b.count > 1 && b.stream.Open && r.inOrder {
			r.copyStream(rc, b, end)
			return
		}
		n := r.taken
		at := max(rc.At, r.visibleAt(b, n))
		bytes := b.bytes
		if b.count > 1 {
			bytes = min(r.SlotSize, bytes-memory.Bytes(n-b.first)*r.SlotSize)
		}
		r.taken++
		var by sim.Mark
		if r.traced {
			by = r.releasedBy(rc, b, at)
			r.recordDepth(max(at, now))
		}
		rc.taken += bytes
		if r.local && rc.Into == nil {
			r.copyLocal(rc, b, n, bytes, at, by)
		} else {
			r.submitCopy(rc, b, n, bytes, at, by)
		}
	}
}

// copyLocal copies fragment n of b within the receiver's TCM, from the time `at` on. The
// copies of fragments that have not arrived form a stream.
func (r *Ring) copyLocal(rc *Receive, b *batch, n uint64, bytes memory.Bytes, at simtime.Time, by sim.Mark) {
	dma := r.To.DMA
	var end simtime.Time
	var mark sim.Mark
	if b.known == b.count || at <= r.queues.eng.Now() || b.arrival.Flits < 2 {
		end, mark = dma.CopyLocal(at, bytes, by, r.received(b, n), rc.Line)
	} else {
		if !b.stream.Open {
			a := &b.arrival
			dma.BeginStream(&b.stream, r.SlotSize, simtime.MulDiv(uint64(a.Tail-a.Head), uint64(r.SlotFlits), uint64(a.Flits-1)))
		}
		end, mark = dma.CopyAhead(&b.stream, at, by, rc.Line)
	}
	if !r.inOrder {
		if m := r.mark(n); m != nil {
			m.copy = mark
		}
		if r.copies != nil {
			r.copies[r.slot(n)] = slotCopy{end: end}
		}
	}
	if rc.taken == rc.Bytes {
		dma.Arrive(rc.Tile, end, mark) // the earlier copies have ended
	}
	rc.finishCopy(end)
	r.returnCredits(end, mark)
}

// copyStream copies the fragments of b before fragment `end`, which have not arrived, as
// copyLocal does. It is for long messages without a trace.
func (r *Ring) copyStream(rc *Receive, b *batch, end uint64) {
	gap, even := b.arrival.Gap()
	step, slots := simtime.Time(r.SlotFlits)*gap, uint64(r.Slots)
	for n := r.taken; n < end; {
		count := min(end-n, slots-n%slots) // up to the last slot
		if !even {
			count = 1
		}
		credits := r.credits[n%slots:][:count]
		r.To.DMA.CopyEvenly(&b.stream, r.visibleAt(b, n), step, rc.At, r.CreditTime, credits)
		n += count
	}
	rc.taken += memory.Bytes(end-r.taken) * r.SlotSize
	rc.End = max(rc.End, r.credits[(end-1)%slots]-r.CreditTime)
	r.taken, r.read = end, end
	r.tellSender()
}

// submitCopy submits the transfers that copy fragment n of b to the destination of rc, from
// the time `at` on.
func (r *Ring) submitCopy(rc *Receive, b *batch, n uint64, bytes memory.Bytes, at simtime.Time, by sim.Mark) {
	if r.copies == nil {
		r.copies, r.inOrder = make([]slotCopy, r.Slots), false
	}
	slot := r.slot(n)
	f := &r.copies[slot]
	*f = slotCopy{}
	if rc.Into != nil || rc.ID != 0 { // the caller needs the end of the copy
		f.receive = rc
	}
	requests := r.queues.copying[:0]
	if rc.Into == nil {
		requests = append(requests, pe.Request{Op: memory.Read, Bytes: bytes, Path: r.Out, Fixed: true, Target: rc.Tile, Unordered: true})
	} else {
		requests = rc.Into(requests, rc.taken-bytes, bytes)
	}
	r.queues.copying = requests
	f.parts = len(requests)
	rc.copying += int32(f.parts)
	var from pe.Access
	if r.banked {
		from = r.slotAccess(slot, bytes)
	}
	for k := range requests {
		q := &requests[k]
		q.Class, q.At, q.Tail, q.Order, q.Purpose, q.By, q.Line = fabric.Comm, at, r.Access, rc.Order, pe.Receive, by, rc.Line
		q.Done = r.event(evCopied, uint32(slot))
		if k == 0 {
			q.Receives = r.received(b, n)
		}
		if r.banked {
			size := max(q.Bytes, q.To.Region.Bytes())
			q.From = from
			q.From.Region = memory.Contiguous(from.Region.Addr, size)
			from.Region.Addr += memory.Addr(size)
		}
		r.To.DMA.Submit(q)
	}
	if f.parts == 0 { // no bytes: the slot is free at the time of the Recv
		at = max(at, r.queues.eng.Now())
		rc.finishCopy(at)
		r.returnCredits(at, by)
	}
}

// finishCopy records that all copies that were started for rc end no later than the time
// `at`. If these copies cover the whole message, it calls Done.
func (rc *Receive) finishCopy(at simtime.Time) {
	rc.End = max(rc.End, at)
	if rc.taken == rc.Bytes && rc.Done.Target != 0 {
		rc.ring.queues.eng.Call(rc.Done)
	}
}

// message is the condition that a receiver waits for, as deadlock reports show it.
type message Receive

func (m *message) String() string {
	return fmt.Sprintf("%s on %v", m.Kind(), m.ring)
}

// Kind describes the awaited message, without the name of its queue.
func (m *message) Kind() string {
	return fmt.Sprintf("a message %v %v", m.Shape.Dim[:m.Shape.Rank], m.DType)
}

// HeldBy returns the process of the sender's kernel, for which the receiver waits.
func (m *message) HeldBy() *sim.Proc { return m.ring.From.Proc }

// Await parks p, the process of the receiver, until rc is complete, and returns rc.Err.
// `now` is the time on the receiver's clock.
func (rc *Receive) Await(p *sim.Proc, now simtime.Time) error {
	for !rc.Complete {
		rc.waiting = true
		p.ParkFrom((*message)(rc), now)
		rc.waiting = false
	}
	return rc.Err
}
