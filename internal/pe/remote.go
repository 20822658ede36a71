package pe

import (
	"slices"

	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/topology"
)

// A request to another SIP leaves its channel and its source when its last byte has left the
// SIP; then only the far end knows when it arrives. A read from another SIP starts when its
// request has travelled there. So no SIP acts on another in less time than a link between
// them takes. What happens in other SIPs is in Remotes, since another thread may run it.

// Remote is the part of a request that concerns other SIPs.
type Remote struct {
	// Border is the number of links of Path up to the first that leads to another SIP, if the
	// request writes or is a message. Its channel and its source are free when the last byte
	// has left this link.
	Border int32
	// ReadWay is how long the request of a read travels to a memory in another SIP.
	ReadWay simtime.Time
	// WriteWay is how long the acknowledgement of a write, or of a notification, travels back
	// from another SIP. The request ends when it has arrived. Messages have none.
	WriteWay simtime.Time
	// ReportWay is how long a report of the engine takes to the SIP that a write ends in.
	ReportWay simtime.Time
	Left      sim.Event // called when the channel and the source are free
	// Lands is set if Done of a write is called when the write has ended in the other SIP. Then
	// Acknowledged is called when the acknowledgement has arrived; else, Done is.
	Lands        bool
	Acknowledged sim.Event
}

// remote is the part of a request of an engine that concerns other SIPs.
type remote struct {
	Remote
	number int32 // of its remoteRequest
	fixed  bool  // as Request.Fixed
}

// destination is another SIP that an engine writes to.
type destination struct {
	sip     int32
	landing int32        // number of its landing
	writes  uint32       // ordinal of the latest write
	way     simtime.Time // how long a report takes to the SIP
}

// addRemote stores the part of request i, which is r, that concerns other SIPs.
func (d *DMA) addRemote(i int32, r *Request) {
	for len(d.remotes) <= int(i) {
		d.remotes = append(d.remotes, remote{})
	}
	d.remotes[i] = remote{Remote: *r.Remote, fixed: r.Fixed}
}

// partition returns the engine's partition of events.
func (d *DMA) partition() int32 { return PartitionOf(d.SIP) }

// PartitionOf returns the partition of the events of a SIP.
func PartitionOf(sip int32) int32 { return sip + 1 }

// startRemote starts request i, which is q: it sends the data, or the request of a read.
func (d *DMA) startRemote(i int32, q *request) {
	r := &d.remotes[i]
	n, far := d.Remotes.requests.Get()
	r.number = n
	*far = remoteRequest{
		Remote: r.Remote, dma: d, number: i, path: q.path, buffer: far.buffer, bytes: q.bytes, class: q.class, queue: q.queue,
		done: q.done, arriving: q.arriving, notice: q.notice, tail: q.tail, op: q.op, unordered: q.unordered,
		begins: q.begun.Target != 0 || q.followed && d.Followed != nil,
	}
	if !r.fixed {
		far.buffer = append(far.buffer[:0], q.path...)
		far.path = far.buffer
	}
	if q.reads {
		far.read = d.ends[i].from.Bank()
	}
	if q.writes {
		far.write = d.ends[i].to.Bank()
		if r.Border > 0 && !q.unordered {
			d.expectLanding(i, q, far)
		}
	}
	if d.Trace != nil {
		far.traced = new(d.Trace.requests[i])
	}
	if r.ReadWay > 0 {
		at := d.eng.Now() + r.ReadWay
		d.eng.AtIn(PartitionOf(d.ends[i].from.Memory.SIP), at, d.Remotes.target, evRequested, uint64(n))
		d.eng.At(at, d.target, evReadBegun, uint64(i))
		return
	}
	if q.placed {
		d.placeOf(i).settled = !q.writes
	}
	d.Remotes.send(n)
}

// handleRemote handles the events that only requests to or from other SIPs have.
func (d *DMA) handleRemote(kind sim.Kind, i int32) {
	switch kind {
	case evReadBegun:
		if q := &d.pool[i]; q.placed {
			d.placeOf(i).settled = !q.writes
		}
		if d.setCause(i); len(d.program) > 0 {
			d.passFences() // a fence may wait for the start of this read
		}
	case evLeft, evReleased:
		d.release(i)
	case evAcknowledged:
		d.acknowledge(i)
	}
}

// release frees the channel and the source of request i, whose last byte has left the SIP.
func (d *DMA) release(i int32) {
	d.setCause(i)
	q, r := &d.pool[i], &d.remotes[i]
	n, source, left := channel(q.op), q.source, r.Left
	d.meter.end(q.class, d.eng.Now(), d.Usage)
	if !q.more {
		d.channels[n].started--
	}
	if r.WriteWay == 0 { // the engine does not learn of its end
		d.inFlight--
		d.remove(i, q)
	}
	d.eng.Call(left)
	if source != 0 {
		d.tiles.endUse(source, d.eng.Now())
	}
	d.startNext(n)
	d.endIdle()
}

// acknowledge ends request i, a write or a notification, whose acknowledgement has returned.
func (d *DMA) acknowledge(i int32) {
	d.setCause(i)
	q := &d.pool[i]
	if d.Trace != nil {
		d.Trace.recordEnd(&d.Trace.requests[i], q.op, q.bytes, d.eng.Now())
	}
	ordered, then := !q.unordered, q.done
	if r := &d.remotes[i]; r.Lands || q.unordered {
		then = r.Acknowledged
	}
	d.inFlight--
	if q.placed {
		d.removeAccess(i)
	}
	d.remove(i, q)
	d.eng.Call(then)
	if ordered {
		d.resumeStalled()
	}
	d.endIdle()
}

// destination returns the state of the SIP with the given number, which is another one.
func (d *DMA) destination(sip int32) *destination {
	for k := range d.destinations {
		if t := &d.destinations[k]; t.sip == sip {
			return t
		}
	}
	d.destinations = append(d.destinations, destination{sip: sip, landing: d.Remotes.landings.Add(landing{})})
	return &d.destinations[len(d.destinations)-1]
}

// expectLanding prepares for the landing of request i, which is q and writes to another SIP.
func (d *DMA) expectLanding(i int32, q *request, far *remoteRequest) {
	for k := range d.program {
		if e := &d.program[k]; e.order == q.order && e.writes && d.ends[e.request].to == d.ends[i].to && e.ordinal != 0 {
			t := d.destination(e.sip)
			t.way = far.ReportWay
			e.lands, far.landing, far.ordinal = true, t.landing, e.ordinal
			return
		}
	}
}

// endWrite tells the SIP that access e writes to that the access has ended, unless the SIP knows
// since the write has landed there.
func (d *DMA) endWrite(e *orderedAccess) {
	if e.ordinal == 0 || e.lands {
		return
	}
	t := d.destination(e.sip)
	at := d.eng.Now() + max(t.way, d.eng.Lookahead())
	d.eng.AtIn(PartitionOf(e.sip), at, d.Remotes.target, evWriteEnded, uint64(t.landing)<<32|uint64(e.ordinal))
}

// Writes identifies writes of an engine to another SIP. The zero value stands for none.
type Writes struct {
	landing int32
	last    uint32 // ordinal of the latest of them
}

// WritesTo returns the writes to the given SIP up to position o in the program that have not
// ended.
func (d *DMA) WritesTo(sip int32, o Order) (w Writes) {
	for k := range d.program {
		e := &d.program[k]
		if e.order > o {
			break
		}
		if e.sip == sip && !e.settled && e.ordinal > w.last {
			w = Writes{d.destination(sip).landing, e.ordinal}
		}
	}
	return w
}

// Remotes handles what requests do in other SIPs than that of their engine. If several threads
// run the SIPs, each has a Remotes, and all of them share the requests.
type Remotes struct {
	eng      *sim.Engine
	fab      *fabric.Fabric
	target   sim.Target
	requests sim.Pool[remoteRequest]
	landings sim.Pool[landing]
}

// remoteRequest is a request while it is in other SIPs.
type remoteRequest struct {
	Remote
	dma    *DMA  // its engine, of which only the target is known in other SIPs
	number int32 // in its engine

	path        []topology.LinkID
	buffer      []topology.LinkID // a copy of the path, if the path is not fixed
	bytes       memory.Bytes
	class       fabric.Class
	queue       int32
	read, write fabric.Bank
	done        sim.Event
	arriving    sim.Kind
	notice      int64
	tail        simtime.Time
	op          memory.Op
	unordered   bool
	begins      bool   // the engine wants to know when it starts to read; only with an op log
	landing     int32  // of the access that it writes; only if ordinal is set
	ordinal     uint32 // of that access
	traced      *tracedRequest
}

// landing is what a SIP knows about the writes of an engine in another SIP: those that have
// ended. The writes have ordinals from 1, in program order.
type landing struct {
	ended uint32   // the writes up to this ordinal have ended
	later []uint32 // ordinals of other writes that have ended
	waits []landingWait
}

// landingWait is an event to call when the writes up to an ordinal have ended.
type landingWait struct {
	last uint32
	then sim.Event
}

const (
	evRequested       sim.Kind = iota // the request of a read has arrived at its memory
	evRemoteLeft                      // the last byte of a read has left the SIP of its memory
	evRemoteArriving                  // the first flits of a request have arrived
	evRemoteArrived                   // the last byte of a request has arrived
	evRemoteTailEnded                 // the Tail of a request has passed
	evWriteEnded                      // an engine reports that a write to this SIP has ended
)

// NewRemotes returns a Remotes for each thread of the engine.
func NewRemotes(eng *sim.Engine, fab *fabric.Fabric) (all []*Remotes) {
	target := eng.RegisterEach(func(e *sim.Engine) sim.Handler {
		r := &Remotes{eng: e, fab: fab.OnThread(len(all))}
		all = append(all, r)
		return r
	})
	for _, r := range all {
		r.target = target
		if r != all[0] {
			r.requests.Share(&all[0].requests)
			r.landings.Share(&all[0].landings)
		}
	}
	return all
}

// send sends the data of request n over the fabric.
func (r *Remotes) send(n int32) {
	q := r.requests.At(n)
	if q.begins {
		q.dma.begin(q.number)
	}
	t := fabric.Transfer{Path: q.path, Bytes: q.bytes, Class: q.class, Queue: q.queue, Read: q.read, Write: q.write, Border: int(q.Border)}
	own := sim.Event{Target: q.dma.target, Kind: evArrived, Arg: uint64(q.number)}
	there := sim.Event{Target: r.target, Kind: evRemoteArrived, Arg: uint64(n)}
	if q.notice > 0 {
		t.Notice = q.notice
		if t.Arriving = own; q.Border > 0 {
			t.Arriving = there
			t.Arriving.Kind = evRemoteArriving
		} else {
			t.Arriving.Kind = evArriving
		}
	}
	switch t.Done = own; {
	case q.Border > 0 && q.ReadWay > 0:
		t.Done, t.Left = there, there
		t.Left.Kind = evRemoteLeft
	case q.Border > 0:
		t.Done, t.Left = there, own
		t.Left.Kind = evLeft
	}
	r.fab.Send(&t)
}

// Handle continues a request in another SIP than that of its engine.
func (r *Remotes) Handle(kind sim.Kind, arg uint64) {
	if kind == evWriteEnded {
		r.endWrite(int32(arg>>32), uint32(arg))
		return
	}
	n := int32(arg)
	q := r.requests.At(n)
	if q.traced != nil {
		r.eng.By = q.traced.mark
	}
	switch kind {
	case evRequested:
		r.send(n)
	case evRemoteLeft:
		r.eng.AtIn(q.dma.partition(), r.eng.Now()+q.ReadWay, q.dma.target, evReleased, uint64(q.number))
	case evRemoteArriving:
		r.eng.Call(sim.Event{Target: q.done.Target, Kind: q.arriving, Arg: q.done.Arg})
	case evRemoteArrived:
		if q.traced != nil {
			q.traced.queued = r.fab.Waited()
			if q.WriteWay > 0 {
				q.dma.Trace.requests[q.number].queued = q.traced.queued
			}
		}
		if q.tail > 0 {
			r.eng.At(r.eng.Now()+q.tail, r.target, evRemoteTailEnded, arg)
		} else {
			r.finish(n, q)
		}
	case evRemoteTailEnded:
		r.finish(n, q)
	}
}

// finish continues request n, which is q and has arrived. A write ends when its
// acknowledgement has returned.
func (r *Remotes) finish(n int32, q *remoteRequest) {
	done, then, at, ordinal := q.done, q.WriteWay == 0 || q.unordered || q.Lands, q.landing, q.ordinal
	if q.WriteWay > 0 {
		r.eng.AtIn(q.dma.partition(), r.eng.Now()+q.WriteWay, q.dma.target, evAcknowledged, uint64(q.number))
	} else if q.traced != nil {
		q.dma.Trace.recordEnd(q.traced, q.op, q.bytes, r.eng.Now())
	}
	r.requests.Put(n)
	if then {
		r.eng.Call(done)
	}
	if ordinal != 0 {
		r.endWrite(at, ordinal)
	}
}

// endWrite records that the write with an ordinal has ended in this SIP, or that its engine has
// reported so, and calls the events that wait for it. n is the number of the landing.
func (r *Remotes) endWrite(n int32, ordinal uint32) {
	l := r.landings.At(n)
	if ordinal != l.ended+1 {
		if ordinal > l.ended && !slices.Contains(l.later, ordinal) {
			l.later = append(l.later, ordinal)
		}
		return
	}
	for k := 0; k >= 0; k = slices.Index(l.later, l.ended+1) {
		l.ended++
	}
	l.later = slices.DeleteFunc(l.later, func(o uint32) bool { return o <= l.ended })
	for k := 0; k < len(l.waits); {
		w := l.waits[k]
		if w.last > l.ended {
			k++
			continue
		}
		l.waits = slices.Delete(l.waits, k, k+1)
		r.eng.Call(w.then)
	}
}

// Landed reports whether writes to the current SIP have ended.
func (r *Remotes) Landed(w Writes) bool {
	return w.last == 0 || r.landings.At(w.landing).ended >= w.last
}

// AfterLanded calls the event `then` as soon as Landed(w) is true, which it must not be yet.
func (r *Remotes) AfterLanded(w Writes, then sim.Event) {
	l := r.landings.At(w.landing)
	l.waits = append(l.waits, landingWait{w.last, then})
}
