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
	order    Order
	from, to Access
	id       oplog.ID
	hold     bool  // added by Hold: its requests come later
	async    bool  // part of a composite
	started  bool  // its request has started
	request  int32 // the number of its request; 0 with hold
}

// fence is an event to call when all accesses up to a given place in the program are
// settled: reads have started and writes have ended.
type fence struct {
	before Order
	then   sim.Event
}

// addAccess takes the next place in the program for request i, which is r.
//
//go:noinline
func (d *DMA) addAccess(i int32, r *Request) {
	d.last++
	d.pool[i].order = d.last
	d.program = append(d.program, orderedAccess{order: d.last, id: r.ID, from: r.From, to: r.To, request: i})
}

// Hold takes one place in the program for several requests, which the caller submits later
// with the returned Order. `reads` and `writes` list the memory that these requests read
// and write. Release ends the hold. Composites set `async` to true; After and Settled then
// do not wait for the hold.
func (d *DMA) Hold(id oplog.ID, reads, writes []Access, async bool) Order {
	d.last++
	for _, a := range reads {
		d.program = append(d.program, orderedAccess{order: d.last, id: id, from: a, hold: true, async: async})
	}
	for _, a := range writes {
		d.program = append(d.program, orderedAccess{order: d.last, id: id, to: a, hold: true, async: async})
	}
	return d.last
}

// Release ends the Hold with Order o and resumes the requests that waited for it.
func (d *DMA) Release(o Order) {
	d.program = slices.DeleteFunc(d.program, func(e orderedAccess) bool { return e.hold && e.order == o })
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
	d.fences = append(d.fences, fence{o, then})
}

// Settled reports whether all accesses up to position o in the program have taken effect
// for other PEs: reads have started and writes have ended. Composites do not count.
func (d *DMA) Settled(o Order) bool {
	for i := range d.program {
		e := &d.program[i]
		if e.order > o {
			return true
		}
		if !e.async && !(e.started && e.to.Region.Rows == 0) {
			return false
		}
	}
	return true
}

// mustFollow reports whether request i must wait for an earlier access in the program. This
// is so if the request reads memory that the earlier access writes, or writes memory that
// the earlier access reads or writes. mustFollow records the operation of that access in
// the request.
func (d *DMA) mustFollow(i int32) bool {
	q := &d.pool[i]
	if q.unordered {
		return false
	}
	mine := d.accesses.At(q.ends)
	for k := range d.program {
		e := &d.program[k]
		if e.order >= q.order {
			return false
		}
		if mine.from.Overlaps(&e.to) || mine.to.Overlaps(&e.from) || mine.to.Overlaps(&e.to) {
			q.waitedFor = e.id
			return true
		}
	}
	return false
}

// resumeStalled calls the fences for which all accesses are settled. It also continues the
// stalled requests that no longer wait for an earlier access.
func (d *DMA) resumeStalled() {
	d.passFences()
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
		if !d.Settled(f.before) {
			k++
			continue
		}
		d.fences = slices.Delete(d.fences, k, k+1)
		d.eng.Call(f.then)
	}
}
