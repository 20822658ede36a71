package pe

import (
	"slices"

	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/oplog"
)

// Order is a place in the program of a PE, counted from 1.
type Order uint64

// orderedAccess is a memory access that later ones may have to wait for.
type orderedAccess struct {
	order    Order
	from, to Access
	id       oplog.ID
	hold     bool // its requests come apart
	async    bool
	started  bool
	request  int32
}

// fence is something that happens when everything before it in the program has.
type fence struct {
	before Order
	then   sim.Event
}

// Hold takes one place in the program for several requests, which come later under
// that Order and touch what is given. Release ends it. An asynchronous one, of a
// composite, is nothing that After waits for.
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

// Release ends what Hold began.
func (d *DMA) Release(o Order) {
	d.program = slices.DeleteFunc(d.program, func(e orderedAccess) bool { return e.hold && e.order == o })
	d.resumeStalled()
}

// LastOrder is the present place in the program.
func (d *DMA) LastOrder() Order { return d.last }

// After calls then when everything up to a place in the program, but for
// composites, is done as far as others can tell: reads have started, writes have
// ended.
func (d *DMA) After(o Order, then sim.Event) {
	if d.Settled(o) {
		d.eng.Call(then)
		return
	}
	d.fences = append(d.fences, fence{o, then})
}

// Settled reports whether that is so already.
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

// mustFollow reports whether request i has to wait for an access before it in the
// program: it reads what that writes, or writes what that reads or writes.
func (d *DMA) mustFollow(i int32) bool {
	q := &d.pool[i]
	if q.unordered || len(d.program) == 0 {
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

// resumeStalled lets go what waited for the program to get on.
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

// passFences calls what comes after accesses that are all done.
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
