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
	var t fabric.Transfer
	if d.isPlain(q, r) {
		d.begin(i)
		d.setTransfer(&t, i, q)
		t.Done = q.done
		t.Arriving = sim.Event{Target: q.done.Target, Kind: q.arriving, Arg: q.done.Arg}
		d.fab.Send(&t)
		return
	}
	n, far := d.Remotes.requests.Get()
	r.number = n
	*far = remoteRequest{
		done: q.done, dma: d, writeWay: r.WriteWay, tail: q.tail, details: far.details, number: i, arriving: uint8(q.arriving),
		atOnce: r.WriteWay == 0 || q.unordered || r.Lands,
	}
	if q.writes && r.Border > 0 && !q.unordered {
		d.expectLanding(i, q, far)
	}
	if d.setTransfer(&t, i, q); r.Border > 0 {
		t.Done = sim.Event{Target: d.Remotes.target, Kind: evRemoteArrived, Arg: uint64(n)}
		t.Arriving = sim.Event{Target: d.Remotes.target, Kind: evRemoteArriving, Arg: uint64(n)}
	}
	far.traced = d.Trace != nil
	if r.ReadWay > 0 || !r.fixed || far.traced {
		far.detail(d, q, r, &t)
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
	d.begin(i)
	d.fab.Send(&t)
}

// isPlain reports whether request q, with the part r, is a message that needs nothing in the SIP
// that it ends in but its Done event.
func (d *DMA) isPlain(q *request, r *remote) bool {
	return r.Border > 0 && r.WriteWay == 0 && r.ReadWay == 0 && q.tail == 0 && r.fixed && !q.placed && d.Trace == nil
}

// setTransfer sets t, which is empty, to the transfer of request i, which is q, with the events
// of a transfer that ends in the SIP of the engine.
func (d *DMA) setTransfer(t *fabric.Transfer, i int32, q *request) {
	t.Path, t.Bytes, t.Class, t.Queue = q.path, q.bytes, q.class, q.queue
	t.Done = sim.Event{Target: d.target, Kind: evArrived, Arg: uint64(i)}
	if t.Notice = q.notice; q.notice > 0 {
		t.Arriving = sim.Event{Target: d.target, Kind: evArriving, Arg: uint64(i)}
	}
	if q.remote {
		t.Border = int(d.remotes[i].Border)
		t.Left = sim.Event{Target: d.target, Kind: evLeft, Arg: uint64(i)}
	}
	if q.reads {
		t.Read = d.ends[i].from.Bank()
	}
	if q.writes {
		t.Write = d.ends[i].to.Bank()
	}
}

// detail sets the details of far, which is request q of engine d with the part r. The transfer t
// uses the copy of the path in the details.
func (far *remoteRequest) detail(d *DMA, q *request, r *remote, t *fabric.Transfer) {
	if far.details == nil {
		far.details = &remoteDetails{}
	}
	x := far.details
	x.op, x.readWay = q.op, r.ReadWay
	x.begins = q.begun.Target != 0 || q.followed && d.Followed != nil
	if !r.fixed {
		x.path = append(x.path[:0], t.Path...)
		t.Path = x.path
	}
	if r.ReadWay > 0 {
		t.Left = sim.Event{Target: d.Remotes.target, Kind: evRemoteLeft, Arg: uint64(r.number)}
	}
	if x.transfer = *t; far.traced {
		x.traced = d.Trace.requests[far.number]
	}
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
			t.way = d.remotes[i].ReportWay
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
	_        [64]byte // keeps other objects out of its last cache line, since threads write to them
}

// remoteRequest is a request while it is in other SIPs. It takes one cache line.
type remoteRequest struct {
	done     sim.Event
	dma      *DMA // its engine, of which only the target is known in other SIPs
	writeWay simtime.Time
	tail     simtime.Time
	details  *remoteDetails // kept for later requests with this number
	number   int32          // in its engine
	landing  int32          // of the access that it writes; only if ordinal is set
	ordinal  uint32         // of that access
	arriving uint8          // kind of the Arriving event
	atOnce   bool           // done is called when it arrives, not when its acknowledgement has returned
	traced   bool
}

// remoteDetails is what only some requests need in other SIPs: reads, those whose path is not
// fixed, and all in a trace.
type remoteDetails struct {
	transfer fabric.Transfer
	path     []topology.LinkID
	op       memory.Op
	readWay  simtime.Time
	begins   bool // the engine wants to know when it starts to read; only with an op log
	traced   tracedRequest
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

// Handle continues a request in another SIP than that of its engine.
func (r *Remotes) Handle(kind sim.Kind, arg uint64) {
	if kind == evWriteEnded {
		r.endWrite(int32(arg>>32), uint32(arg))
		return
	}
	n := int32(arg)
	q := r.requests.At(n)
	if q.traced {
		r.eng.By = q.details.traced.mark
	}
	switch kind {
	case evRequested:
		if q.details.begins {
			q.dma.begin(q.number)
		}
		r.fab.Send(&q.details.transfer)
	case evRemoteLeft:
		r.eng.AtIn(q.dma.partition(), r.eng.Now()+q.details.readWay, q.dma.target, evReleased, uint64(q.number))
	case evRemoteArriving:
		r.eng.Call(sim.Event{Target: q.done.Target, Kind: sim.Kind(q.arriving), Arg: q.done.Arg})
	case evRemoteArrived:
		if q.traced {
			x := &q.details.traced
			if x.queued = r.fab.Waited(); q.writeWay > 0 {
				q.dma.Trace.requests[q.number].queued = x.queued
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
	done, atOnce, at, ordinal := q.done, q.atOnce, q.landing, q.ordinal
	if q.writeWay > 0 {
		r.eng.AtIn(q.dma.partition(), r.eng.Now()+q.writeWay, q.dma.target, evAcknowledged, uint64(q.number))
	} else if q.traced {
		x := q.details
		q.dma.Trace.recordEnd(&x.traced, x.op, x.transfer.Bytes, r.eng.Now())
	}
	r.requests.Put(n)
	if atOnce {
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
