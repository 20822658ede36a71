package pe

import (
	"slices"

	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/oplog"
)

// Order is the position of a memory access in the program of a PE, counted from 1.
type Order uint64

// orderedAccess is a memory access that has not ended. Later accesses may have to wait
// for it.
type orderedAccess struct {
	order   Order
	request int32 // the number of its request; with hold, of a request that is never started
	hold    bool  // added by Hold: its requests come later
	reads   bool
	writes  bool
	settled bool   // After and Settled do not wait for it
	lands   bool   // a write to another SIP, which knows when it ends there
	sip     int32  // the SIP of a write to another SIP; else elsewhere
	ordinal uint32 // of a write to another SIP; 0 if After does not wait for it
}

const (
	elsewhere = -1 // the sip of accesses that are not writes to another SIP
	noSIP     = -2 // see fence
)

// fence is an event to call when all accesses up to a given place in the program are
// settled: reads have started and writes have ended.
type fence struct {
	before Order
	except int32 // writes to this SIP do not count; noSIP if all count
	then   sim.Event
}

// addAccess takes the next place in the program for request i, which is q.
func (d *DMA) addAccess(i int32, q *request) {
	d.last++
	q.order, q.placed = d.last, true
	d.program = append(d.program, orderedAccess{order: d.last, request: i, reads: q.reads, writes: q.writes})
	d.setSIP(i, q, false)
}

// setSIP sets the SIP and the ordinal of the latest access in the program, that of request i,
// which is q. `async` is as for Hold.
func (d *DMA) setSIP(i int32, q *request, async bool) {
	e := &d.program[len(d.program)-1]
	if e.sip = elsewhere; !q.writes {
		return
	}
	if to := d.ends[i].to.Memory.SIP; to != d.SIP {
		if e.sip = to; !async {
			t := d.destination(to)
			t.writes++
			e.ordinal = t.writes
		}
	}
}

// placeOf returns the place of request i in the program.
func (d *DMA) placeOf(i int32) *orderedAccess {
	k := 0
	for d.program[k].request != i {
		k++
	}
	return &d.program[k]
}

// removeAccess removes the place of request i from the program.
func (d *DMA) removeAccess(i int32) {
	n := len(d.program) - 1
	last := d.program[n]
	if len(d.destinations) > 0 {
		d.endWrite(d.placeOf(i))
	}
	d.program = d.program[:n]
	for k := n - 1; last.request != i; k-- { // move each later access back by one
		last, d.program[k] = d.program[k], last
	}
}

// Hold takes one place in the program for several requests, which the caller submits later
// with the returned Order. `reads` and `writes` list the memory that these requests read
// and write. Release ends the hold. Composites set `async` to true; After and Settled then
// do not wait for the hold.
func (d *DMA) Hold(id oplog.ID, reads, writes []Access, async bool) Order {
	d.last++
	for _, a := range reads {
		d.hold(&Request{ID: id, From: a}, async)
	}
	for _, a := range writes {
		d.hold(&Request{ID: id, To: a}, async)
	}
	return d.last
}

// hold adds the access of r, which is never started, to the latest place in the program.
func (d *DMA) hold(r *Request, async bool) {
	r.Fixed = true
	i := d.add(r)
	q := &d.pool[i]
	d.program = append(d.program, orderedAccess{order: d.last, request: i, hold: true, reads: q.reads, writes: q.writes, settled: async})
	d.setSIP(i, q, async)
}

// Release ends the Hold with Order o and resumes the requests that waited for it.
func (d *DMA) Release(o Order) {
	d.program = slices.DeleteFunc(d.program, func(e orderedAccess) bool {
		ends := e.hold && e.order == o
		if ends {
			d.endWrite(&e)
			d.remove(e.request, &d.pool[e.request])
		}
		return ends
	})
	d.resumeStalled()
}

// LastOrder returns the position of the latest access in the program of the PE.
func (d *DMA) LastOrder() Order { return d.last }

// After calls the event `then` as soon as Settled(o) is true. If Settled(o) is true
// already, it calls the event at once.
func (d *DMA) After(o Order, then sim.Event) {
	if d.Settled(o) {
		d.eng.Call(then)
		return
	}
	d.fences = append(d.fences, fence{o, noSIP, then})
}

// SettledOutside reports whether all accesses up to position o in the program have taken
// effect, except writes to the given SIP.
func (d *DMA) SettledOutside(o Order, sip int32) bool {
	return d.passes(&fence{before: o, except: sip})
}

// AfterOutside calls the event `then` as soon as SettledOutside(o, sip) is true, which it must
// not be yet.
func (d *DMA) AfterOutside(o Order, sip int32, then sim.Event) {
	d.fences = append(d.fences, fence{o, sip, then})
}

// passes reports whether all accesses that f waits for are settled.
func (d *DMA) passes(f *fence) bool {
	for i := range d.program {
		e := &d.program[i]
		if e.order > f.before {
			return true
		}
		if !e.settled && e.sip != f.except {
			return false
		}
	}
	return true
}

// Settled reports whether all accesses up to position o in the program have taken effect
// for other PEs: reads have started and writes have ended. Composites do not count.
func (d *DMA) Settled(o Order) bool { return len(d.program) == 0 || d.settled(o) }

// settled implements Settled for a program that is not empty.
func (d *DMA) settled(o Order) bool {
	for i := range d.program {
		e := &d.program[i]
		if e.order > o {
			return true
		}
		if !e.settled {
			return false
		}
	}
	return true
}

// mustFollow reports whether request i must wait for an earlier access in the program. This
// is so if the request reads memory that the earlier access writes, or writes memory that
// the earlier access reads or writes. mustFollow records the operation of that access.
func (d *DMA) mustFollow(i int32) bool {
	q := &d.pool[i]
	if q.unordered {
		return false
	}
	for k := range d.program {
		e := &d.program[k]
		if e.order >= q.order {
			return false
		}
		if !e.writes && !q.writes {
			continue // two reads
		}
		mine, earlier := &d.ends[i], &d.ends[e.request]
		if q.reads && e.writes && mine.from.Overlaps(&earlier.to) ||
			q.writes && e.reads && mine.to.Overlaps(&earlier.from) ||
			q.writes && e.writes && mine.to.Overlaps(&earlier.to) {
			if q.followed = true; d.Followed != nil {
				d.ids[i].waitedFor = d.ids[e.request].own
			}
			return true
		}
	}
	return false
}

// resumeStalled calls the fences for which all accesses are settled. It also continues the
// stalled requests that no longer wait for an earlier access.
func (d *DMA) resumeStalled() {
	d.passFences()
	if len(d.stalled) > 0 {
		d.retryStalled()
	}
}

// retryStalled continues the stalled requests that no longer wait for an earlier access.
func (d *DMA) retryStalled() {
	waited := len(d.stalled)
	for k := 0; k < len(d.stalled); {
		i := d.stalled[k]
		if d.mustFollow(i) {
			k++
			continue
		}
		d.stalled = slices.Delete(d.stalled, k, k+1)
		d.enqueue(i)
	}
	if len(d.stalled) < waited {
		d.passFences()
	}
}

// passFences calls and removes the fences for which all accesses are settled.
func (d *DMA) passFences() {
	for k := 0; k < len(d.fences); {
		f := d.fences[k]
		if !d.passes(&f) {
			k++
			continue
		}
		d.fences = slices.Delete(d.fences, k, k+1)
		d.eng.Call(f.then)
	}
}
