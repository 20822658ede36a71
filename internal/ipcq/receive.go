package ipcq

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
)

// Receive is a kernel's request for the next message of a ring.
type Receive struct {
	ID    oplog.ID // the Recv in the op log; 0 without a log
	Shape oplog.Shape
	DType numeric.DType
	Bytes memory.Bytes
	At    simtime.Time // the earliest time at which a copy may start
	By    sim.Mark     // the activity that posted the receive, in a trace
	Line  string       // the kernel's line, in a trace
	Tile  int32        // the destination: a tile with one part for each fragment
	// Into is set if the destination is memory instead of a tile. It appends to `to` the
	// transfers that write bytes off to off+n of the message to memory, and returns the list.
	// The ring sets From of these transfers.
	Into  func(to []pe.Request, off, n memory.Bytes) []pe.Request
	Order pe.Order // the place of the receive among the memory accesses of the kernel

	Begun sim.Event // called when a message has been assigned and Send is set
	Done  sim.Event // called when End is final

	Send     oplog.ID     // the Send of the message in the op log
	Complete bool         // the whole message is visible, or Err is set
	Err      error        // a *Mismatch if the message does not have the requested dtype and size
	End      simtime.Time // when the last byte is at the destination
	taken    memory.Bytes // bytes whose copy has started
	copying  int          // transfers in flight
	waiting  bool         // the receiver is parked in Await
	ring     *Ring
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
	if r.marks != nil {
		rc.Line = r.To.DMA.Trace.Line
	}
	r.posted = append(r.posted, rc)
	r.match()
}

// Waiting reports whether the ring has a message that no receive has requested and whose
// first fragment is visible.
func (r *Ring) Waiting() bool {
	return len(r.posted) == 0 && r.taken < r.sent && r.slots[r.taken%uint64(r.Slots)].visible
}

// match assigns visible fragments to the posted receives, in order, and starts to copy the
// fragments out of their slots.
func (r *Ring) match() {
	for len(r.posted) > 0 && r.taken < r.sent {
		rc := r.posted[0]
		slot := r.taken % uint64(r.Slots)
		f := &r.slots[slot]
		if !f.visible {
			return
		}
		if f.first && !rc.accept(&f.Message) {
			return
		}
		r.startCopy(rc, f, slot)
		if f.last {
			r.posted = slices.Delete(r.posted, 0, 1)
			rc.complete()
		}
	}
}

// accept assigns message m to rc and returns true. If m does not have the dtype and size
// that rc requests, accept sets rc.Err, completes rc and returns false.
func (rc *Receive) accept(m *Message) bool {
	if m.Bytes != rc.Bytes || m.DType != rc.DType {
		rc.Err = &Mismatch{rc.ring, *m, Message{Shape: rc.Shape, DType: rc.DType}}
		rc.complete()
		return false
	}
	rc.Send = m.ID
	rc.ring.queues.eng.Call(rc.Begun)
	return true
}

func (rc *Receive) complete() {
	rc.Complete = true
	if rc.waiting {
		rc.ring.To.Proc.Wake()
	}
}

// startCopy starts to copy fragment f out of the given slot to the destination of rc. The
// end of a copy within a TCM is known at once, so such a copy needs no event.
func (r *Ring) startCopy(rc *Receive, f *fragment, slot uint64) {
	r.taken++
	by, now := r.queues.eng.By, r.queues.eng.Now()
	if rc.At > now {
		by = rc.By // the message arrived before the receiver's clock reached the Recv
	}
	var write sim.Mark
	m := r.mark(slot)
	if m != nil {
		write = m.write
		r.recordDepth(max(rc.At, now))
	}
	if r.Local && rc.Into == nil {
		end, mark := r.To.DMA.CopyLocal(rc.At, f.bytes, by, write, rc.Line)
		if m != nil {
			m.copy = mark
		}
		r.To.DMA.Arrive(rc.Tile, end, mark)
		f.parts, f.end = 0, end
		rc.taken += f.bytes
		rc.finishCopy(end)
		r.returnCredits(end, mark)
		return
	}
	if rc.Into != nil || rc.ID != 0 { // the caller needs the end of the copy
		f.receive = rc
	}
	if rc.Into == nil {
		r.requests = append(r.requests[:0], pe.Request{Op: memory.Read, Bytes: f.bytes, Path: r.Out, Fixed: true, Target: rc.Tile, Unordered: true})
	} else {
		r.requests = rc.Into(r.requests[:0], rc.taken, f.bytes)
	}
	rc.taken += f.bytes
	f.parts = len(r.requests)
	rc.copying += f.parts
	from := r.slotAccess(slot, f.bytes)
	for k := range r.requests {
		q := &r.requests[k]
		q.Class, q.At, q.Tail, q.Order, q.Purpose, q.By, q.Line = fabric.Comm, rc.At, r.Access, rc.Order, pe.Receive, by, rc.Line
		q.Done = sim.Event{Target: r.queues.target, Kind: evCopied, Arg: uint64(r.number)<<32 | slot}
		if k == 0 {
			q.Receives = write
		}
		if from.Slice != 0 {
			n := max(q.Bytes, q.To.Region.Bytes())
			q.From = from
			q.From.Region = memory.Contiguous(from.Region.Addr, n)
			from.Region.Addr += memory.Addr(n)
		}
		r.To.DMA.Submit(q)
	}
	if f.parts == 0 { // no bytes: the slot is free at the time of the Recv
		at := max(rc.At, now)
		rc.finishCopy(at)
		r.returnCredits(at, by)
	}
}

// finishCopy records that all copies that were started for rc end no later than the time
// `at`. If these copies cover the whole message, it calls Done.
func (rc *Receive) finishCopy(at simtime.Time) {
	rc.End = max(rc.End, at)
	if rc.taken == rc.Bytes {
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
