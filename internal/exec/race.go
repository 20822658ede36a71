package exec

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/oplog"
)

// Race is a pair of accesses by different PEs to the same bytes, at least one of them a
// write, that the program does not order.
type Race struct {
	A, B  oplog.ID // in the order of issue
	Space oplog.Space
	Addr  int64 // address of a byte that both access

	log *oplog.Log
}

// String returns a text that describes both accesses, with their kernels, PEs and lines,
// and says how to remove the race.
func (r Race) String() string {
	return fmt.Sprintf("race at %#x of %v: %s and %s have no order; order them by a queue, a signal, a barrier or an edge between tasks, or let them touch different bytes",
		r.Addr, r.Space, r.log.Describe(r.A), r.log.Describe(r.B))
}

// Races returns the races of a log in the order of issue, one for each pair of source
// lines. It returns an error if the log is invalid.
//
// It considers what orders accesses, not when they happened, so it also finds races that
// did no harm in this run. Accesses are ordered by these rules:
//
//   - A PE executes its operations in the order of issue. A composite is asynchronous: it
//     comes after everything that the PE did before, and before everything that the PE does
//     after a Wait for the composite. Each access of the composite also comes before later
//     conflicting accesses of the PE, because the hardware delays the later accesses. The
//     same holds for a receive with a Wait. A receive without a Wait blocks the PE until the
//     message has arrived. If the PE continued before the message was sent, the receive comes
//     before the first operation of the PE that uses the message.
//   - A Send comes before what follows its Recv. A Notify comes before what follows the
//     WaitSignal that it releases. A TaskEnd, with everything that its PE has started,
//     comes before what follows the TaskBegin that names it.
//   - The operations of a launch come after everything that its PEs did earlier. If an
//     [oplog.Order] puts another launch before it, they also come after everything that the
//     PEs of the other launch did.
//   - Everything comes either before or after a Barrier or an operation of the host.
//
// Scratch is new memory: earlier accesses to its bytes do not count.
//
// The time of Races grows with the number of accesses, and for each access with the number
// of other accesses to the same pages. The space grows with the number of accesses since the
// last barrier, operation of the host, or launch on all PEs.
func Races(log *oplog.Log) ([]Race, error) {
	o := newOrder(log)
	if err := o.scan(); err != nil {
		return nil, err
	}
	for i := range log.Ops {
		o.add(&log.Ops[i])
	}
	slices.SortFunc(o.races, func(a, b Race) int { return cmp.Or(cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B)) })
	return o.races, nil
}

// pageKey identifies a page of a memory.
type pageKey struct {
	space oplog.Space
	page  int64
}

// access is a region of one memory that an operation reads or writes.
type access struct {
	id    oplog.ID
	pe    int32
	line  int32
	epoch epoch
	async *asyncOp // the operation in flight that accesses it, nil for the PE itself
	view  clock    // what comes before the access, if that is more than the PE knew
	region
}

// page lists the accesses to a page of a memory, by phase.
type page [oplog.Write + 1][]entry

// entry is the part of an access in [lo, hi).
type entry struct {
	access int32 // index in order.accesses
	lo, hi int64
}

// touch compares access a with the earlier accesses to the same pages. It reports races
// with them, and records a.
func (o *order) touch(a access, phase oplog.Phase, space oplog.Space, t *thread) {
	view := viewOf(t, a.async)
	if len(t.inFlight) > 0 || view != &t.clock {
		o.applyHardwareOrder(&a, phase, space, t)
		view = viewOf(t, a.async)
	}
	if view != &t.clock {
		a.view = *view
	}
	o.eachCandidate(&a, phase, space, func(e entry, b *access, lo, hi int64) {
		if b.pe == a.pe || view.knows(b.epoch) {
			return
		}
		lines := [2]int32{min(a.line, b.line), max(a.line, b.line)}
		if o.reported[lines] {
			return
		}
		if addr, ok := overlap(&a.region, &b.region, max(lo, e.lo), min(hi, e.hi)); ok {
			o.reported[lines] = true
			o.races = append(o.races, Race{min(a.id, b.id), max(a.id, b.id), space, addr, o.log})
		}
	})
	o.record(&a, phase, space, view)
}

// viewOf returns the clock of everything that comes before an access of operation k. If k
// is nil or has no view of its own, this is the clock of the PE.
func viewOf(t *thread, k *asyncOp) *clock {
	if k == nil || k.view == nil {
		return &t.clock
	}
	return &k.view
}

// applyHardwareOrder finds earlier accesses to the same bytes by operations in flight on
// the same PE. It orders access a after them, because the hardware finishes them first.
func (o *order) applyHardwareOrder(a *access, phase oplog.Phase, space oplog.Space, t *thread) {
	o.eachCandidate(a, phase, space, func(e entry, b *access, lo, hi int64) {
		if b.pe != a.pe || b.id >= a.id || b.async == nil || viewOf(t, a.async).knows(b.epoch) {
			return
		}
		if _, ok := overlap(&a.region, &b.region, max(lo, e.lo), min(hi, e.hi)); ok {
			orderAfter(t, a.async, b)
		}
	})
}

// record adds access a to the lists of the pages that it touches. `view` is the clock of
// everything that comes before the access.
func (o *order) record(a *access, phase oplog.Phase, space oplog.Space, view *clock) {
	n := int32(len(o.accesses))
	o.accesses = append(o.accesses, *a)
	a.pages(func(at, lo, hi int64) {
		key := pageKey{space, at}
		p := o.pages[key]
		if p == nil {
			p = &page{}
			o.pages[key] = p
		}
		p[phase] = append(o.dropCovered(p[phase], a, view), entry{n, lo, hi})
	})
}

// eachCandidate calls f for each earlier access b that is on a page of access a and
// conflicts with it: at least one of a and b is a write. e is the entry of b in the list of
// the page, and [lo, hi) is the part of a on the page. f must check whether a and b overlap
// and whether they are ordered.
func (o *order) eachCandidate(a *access, phase oplog.Phase, space oplog.Space, f func(e entry, b *access, lo, hi int64)) {
	a.pages(func(at, lo, hi int64) {
		p := o.pages[pageKey{space, at}]
		if p == nil {
			return
		}
		for _, e := range p[oplog.Write] {
			f(e, &o.accesses[e.access], lo, hi)
		}
		if phase == oplog.Write {
			for _, e := range p[oplog.Read] {
				f(e, &o.accesses[e.access], lo, hi)
			}
		}
	})
}

// dropCovered removes the entries of `list` that the access `a` covers, and returns the
// rest. The access `a` covers an entry if both have the same PE and source line, the entry
// is ordered before `a`, and `a` touches all bytes of the entry. A later access that races
// with a removed entry also races with `a`, and the report shows the same pair of lines.
func (o *order) dropCovered(list []entry, a *access, view *clock) []entry {
	return slices.DeleteFunc(list, func(e entry) bool {
		b := &o.accesses[e.access]
		return b.pe == a.pe && b.line == a.line && b.id != a.id && view.knows(b.epoch) &&
			(b.region == a.region || a.rows == 1 && a.addr <= e.lo && e.hi <= a.end())
	})
}

// renew marks the bytes of region r as new memory, so that races with earlier accesses to
// them are no longer reported.
func (o *order) renew(r region, space oplog.Space) {
	r.pages(func(at, lo, hi int64) {
		if p := o.pages[pageKey{space, at}]; p != nil {
			p[oplog.Read], p[oplog.Write] = subtractRange(p[oplog.Read], lo, hi), subtractRange(p[oplog.Write], lo, hi)
		}
	})
}

// subtractRange removes the bytes in [lo, hi) from all entries of `list` and returns the
// remaining parts.
func subtractRange(list []entry, lo, hi int64) []entry {
	var out []entry
	for _, e := range list {
		if e.lo < lo {
			out = append(out, entry{e.access, e.lo, min(e.hi, lo)})
		}
		if hi < e.hi {
			out = append(out, entry{e.access, max(e.lo, hi), e.hi})
		}
	}
	return out
}
