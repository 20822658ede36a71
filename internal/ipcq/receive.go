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

// Receive is a message that a kernel has asked for.
type Receive struct {
	ID    oplog.ID // its Recv
	Shape oplog.Shape
	DType numeric.DType
	Bytes memory.Bytes
	At    simtime.Time // from when on it may be copied
	By    sim.Mark     // who asked for it, if somebody traces
	Tile  int32        // where to, a tile with a part for each fragment
	// Into, if there is no tile, appends the transfers that move bytes off to
	// off+n of the message to their place in memory, without a beginning. They are
	// at one place in the program, Order.
	Into  func(to []pe.Request, off, n memory.Bytes) []pe.Request
	Order pe.Order

	Begun sim.Event // called when the message is known: Send is set
	Done  sim.Event // called when it is known when the last byte is there: End is set

	Send     oplog.ID     // its Send
	Complete bool         // all of it is visible, or there is an error
	Err      error        // it is not the message that was asked for
	End      simtime.Time // when its last byte is there
	taken    memory.Bytes
	copying  int
	waiting  bool
	ring     *Ring
}

// Reset makes rc, which may have been complete, a receive of a message. Only what
// may have been set is set again: it is done for every message.
func (rc *Receive) Reset(s oplog.Shape, d numeric.DType, n memory.Bytes) {
	rc.Shape, rc.DType, rc.Bytes = s, d, n
	rc.Send, rc.Complete, rc.waiting, rc.taken, rc.copying, rc.End = 0, false, false, 0, 0, 0
	if rc.ID != 0 || rc.Into != nil || rc.Err != nil {
		rc.ID, rc.Into, rc.Err, rc.Begun, rc.Done = 0, nil, nil, sim.Event{}, sim.Event{}
	}
}

// Mismatch is the error of a Recv that meets a message of another kind.
type Mismatch struct {
	Ring         *Ring
	Sent, Wanted Message
}

func (m *Mismatch) Error() string {
	return fmt.Sprintf("the message from %s is %s, and %s was asked for: send and receive must agree on dtype and size",
		m.Ring.From.Name, m.Sent.what(), m.Wanted.what())
}

func (m *Message) what() string {
	return fmt.Sprintf("%v %v", m.Shape.Dim[:m.Shape.Rank], m.DType)
}

// Post asks for the next message that nobody has asked for yet.
func (r *Ring) Post(rc *Receive) {
	rc.ring, rc.By = r, r.queues.eng.By
	r.posted = append(r.posted, rc)
	r.match()
}

// Waiting reports whether a message is there that nobody has asked for.
func (r *Ring) Waiting() bool {
	return len(r.posted) == 0 && r.taken < r.sent && r.slots[r.taken%uint64(r.Slots)].visible
}

// match copies out what is visible for those who have asked.
func (r *Ring) match() {
	for len(r.posted) > 0 && r.taken < r.sent {
		rc := r.posted[0]
		slot := r.taken % uint64(r.Slots)
		f := &r.slots[slot]
		if !f.visible {
			return
		}
		if f.first && !rc.meets(&f.Message) {
			return
		}
		r.take(rc, f, slot)
		if f.last {
			r.posted = slices.Delete(r.posted, 0, 1)
			rc.complete()
		}
	}
}

// meets takes up the message, if it is what was asked for.
func (rc *Receive) meets(m *Message) bool {
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

// take begins to copy a fragment out of its slot.
//
// Within a TCM the time of that is known at once, and nothing has to be waited for.
func (r *Ring) take(rc *Receive, f *fragment, slot uint64) {
	r.taken++
	by, now := r.queues.eng.By, r.queues.eng.Now()
	if rc.At > now {
		by = rc.By // it is there before the receiver's clock is
	}
	var write sim.Mark
	m := r.mark(slot)
	if m != nil {
		write = m.write
		r.deep(max(rc.At, now))
	}
	if r.Local && rc.Into == nil {
		end, mark := r.To.DMA.CopyLocal(rc.At, f.bytes, by, write)
		if m != nil {
			m.copy = mark
		}
		r.To.DMA.Arrive(rc.Tile, end, mark)
		f.parts, f.end = 0, end
		rc.taken += f.bytes
		rc.copied(end)
		r.returnCredits(end, mark)
		return
	}
	if rc.Into != nil || rc.ID != 0 { // its end is of interest
		f.receive = rc
	}
	if rc.Into == nil {
		r.requests = append(r.requests[:0], pe.Request{Op: memory.Read, Bytes: f.bytes, Path: r.Out, Fixed: true, Target: rc.Tile, Loose: true})
	} else {
		r.requests = rc.Into(r.requests[:0], rc.taken, f.bytes)
	}
	rc.taken += f.bytes
	f.parts = len(r.requests)
	rc.copying += f.parts
	from := r.slotAccess(slot, f.bytes)
	for k := range r.requests {
		q := &r.requests[k]
		q.Class, q.At, q.Tail, q.Order, q.Purpose, q.By = fabric.Comm, rc.At, r.Access, rc.Order, pe.Receive, by
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
	if f.parts == 0 { // no bytes: the slot is free as soon as the receiver's clock is there
		at := max(rc.At, now)
		rc.copied(at)
		r.returnCredits(at, by)
	}
}

// copied is the end, at an instant, of all the transfers begun so far.
func (rc *Receive) copied(at simtime.Time) {
	rc.End = max(rc.End, at)
	if rc.taken == rc.Bytes {
		rc.ring.queues.eng.Call(rc.Done)
	}
}

// message is what a receiver waits for.
type message Receive

func (m *message) String() string {
	return fmt.Sprintf("%s on %v", m.Kind(), m.ring)
}

// Kind describes the message without its queue.
func (m *message) Kind() string {
	return fmt.Sprintf("a message %v %v", m.Shape.Dim[:m.Shape.Rank], m.DType)
}

// HeldBy returns the sender's kernel.
func (m *message) HeldBy() *sim.Proc { return m.ring.From.Proc }

// Await parks the receiver, whose clock is at now, until the message is complete, or
// wrong.
func (rc *Receive) Await(p *sim.Proc, now simtime.Time) error {
	for !rc.Complete {
		rc.waiting = true
		p.ParkFrom((*message)(rc), now)
		rc.waiting = false
	}
	return rc.Err
}
