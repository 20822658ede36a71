package pe

import (
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
)

// A request to another SIP leaves its channel and its source when its last byte has left the
// SIP; then only the far end knows when it arrives. A read from another SIP starts when its
// request has travelled there. So no SIP acts on another in less time than a link between
// them takes.

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
	Left     sim.Event // called when the channel and the source are free
	// Lands is set if Done of a write is called when the write has ended in the other SIP. Then
	// Acknowledged is called when the acknowledgement has arrived; else, Done is.
	Lands        bool
	Acknowledged sim.Event
}

// remote is the part of a request that concerns other SIPs.
type remote struct {
	Remote
	open int8 // the end of the request, and the release of its channel, that are outstanding
}

// addRemote stores the part of request i, which is r, that concerns other SIPs.
func (d *DMA) addRemote(i int32, r *Request) {
	for len(d.remotes) <= int(i) {
		d.remotes = append(d.remotes, remote{})
	}
	d.remotes[i] = remote{Remote: *r.Remote, open: 1}
	if r.Remote.Border > 0 {
		d.remotes[i].open = 2
	}
}

// partition returns the engine's partition of events.
func (d *DMA) partition() int32 { return PartitionOf(d.SIP) }

// PartitionOf returns the partition of the events of a SIP.
func PartitionOf(sip int32) int32 { return sip + 1 }

// request sends the request of read i, from memory in another SIP.
func (d *DMA) request(i int32) {
	at := d.eng.Now() + d.remotes[i].ReadWay
	d.eng.AtIn(PartitionOf(d.ends[i].from.Memory.SIP), at, d.target, evRequested, uint64(i))
	d.eng.At(at, d.target, evReadBegun, uint64(i))
}

// releasedEarly reports whether request i, which is q, releases its channel and its source when
// its last byte has left the SIP.
func (d *DMA) releasedEarly(i int32, q *request) bool { return q.remote && d.remotes[i].Border > 0 }

// handleRemote handles the events that only requests to or from other SIPs have.
func (d *DMA) handleRemote(kind sim.Kind, i int32) {
	switch kind {
	case evRequested:
		d.setCause(i)
		d.send(i)
	case evReadBegun:
		if q := &d.pool[i]; q.placed {
			d.placeOf(i).settled = !q.writes
		}
		if d.setCause(i); len(d.program) > 0 {
			d.passFences() // a fence may wait for the start of this read
		}
	case evLeft:
		if way := d.remotes[i].ReadWay; way > 0 { // it left another SIP
			d.eng.AtIn(d.partition(), d.eng.Now()+way, d.target, evReleased, uint64(i))
			return
		}
		d.release(i)
	case evReleased:
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
	if r.WriteWay == 0 {
		d.inFlight--
	}
	d.closeRemote(i, q)
	d.eng.Call(left)
	if source != 0 {
		d.tiles.endUse(source, d.eng.Now())
	}
	d.startNext(n)
	d.endIdle()
}

// finishRemote continues request i, which is q and has arrived in another SIP. A write ends
// when its acknowledgement has returned.
func (d *DMA) finishRemote(i int32, q *request) {
	r, done := &d.remotes[i], q.done
	if r.WriteWay == 0 {
		if d.Trace != nil {
			d.Trace.recordEnd(i, q.op, q.bytes, d.eng.Now())
		}
		d.closeRemote(i, q)
		d.eng.Call(done)
		return
	}
	d.eng.AtIn(d.partition(), d.eng.Now()+r.WriteWay, d.target, evAcknowledged, uint64(i))
	if q.unordered || r.Lands {
		d.eng.Call(done)
	}
	if !q.unordered && r.Lands {
		d.land(i)
	}
}

// acknowledge ends request i, a write or a notification, whose acknowledgement has returned.
func (d *DMA) acknowledge(i int32) {
	d.setCause(i)
	q := &d.pool[i]
	if d.Trace != nil {
		d.Trace.recordEnd(i, q.op, q.bytes, d.eng.Now())
	}
	ordered, then := !q.unordered, q.done
	if r := &d.remotes[i]; r.Lands || q.unordered {
		then = r.Acknowledged
	}
	d.inFlight--
	if q.placed {
		d.removeAccess(i)
	}
	d.closeRemote(i, q)
	d.eng.Call(then)
	if ordered {
		d.resumeStalled()
	}
	d.endIdle()
}

// closeRemote removes request i, which is q, if both its end and the release of its channel
// have taken place.
func (d *DMA) closeRemote(i int32, q *request) {
	if r := &d.remotes[i]; r.open > 1 {
		r.open--
		return
	}
	d.remove(i, q)
}
