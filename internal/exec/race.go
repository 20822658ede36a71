package exec

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/oplog"
)

// Race is two accesses to the same bytes by different PEs, at least one of them a
// write, that nothing in the program orders.
type Race struct {
	A, B  oplog.ID // in the order of issue
	Space oplog.Space
	Addr  int64 // of a byte that both touch

	log *oplog.Log
}

// String names both accesses, with their kernels, PEs and lines, and says what to
// do.
func (r Race) String() string {
	return fmt.Sprintf("race at %#x of %v: %s and %s have no order; order them by a queue, a signal, a barrier or an edge between tasks, or let them touch different bytes",
		r.Addr, r.Space, r.log.Describe(r.A), r.log.Describe(r.B))
}

// Races finds the races of a log, one for each pair of lines, in the order of issue.
//
// It looks at what orders accesses, not at when they happened, and so finds races
// that did no harm in this run. What orders them:
//
//   - A PE does things in the order of issue. Composites are beside that: what
//     the PE did before comes before them, and they come before what it does
//     after a Wait for them, or after an access to bytes that they write, which
//     the hardware holds back. So do receives, if there is a Wait for them; else
//     they hold up the PE until the message is there, or until it is used.
//   - A Send comes before what follows its Recv, a Notify before what follows the
//     WaitSignal that it made return, a TaskEnd, with all that its PE started, before
//     what follows the TaskBegin that names it.
//   - Everything that the PEs of a launch did comes before the launch.
//   - Everything comes before or after a Barrier or an operation of the host.
//
// Scratch is new memory: who used these bytes before is of no account.
//
// Time grows with the accesses and with how many others share their pages, memory
// with the accesses since everything was last ordered.
func Races(log *oplog.Log) ([]Race, error) {
	o := newOrder(log)
	if err := o.scan(); err != nil {
		return nil, err
	}
	for i := range log.Ops {
		o.op(&log.Ops[i])
	}
	slices.SortFunc(o.races, func(a, b Race) int { return cmp.Or(cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B)) })
	return o.races, nil
}

// pageKey is a page of a memory.
type pageKey struct {
	space oplog.Space
	page  int64
}

// access is what an operation reads or writes in one memory.
type access struct {
	id    oplog.ID
	pe    int32
	line  int32
	epoch epoch
	async *task // that touches it, nil for the PE itself
	view  clock // what comes before it, if that is more than async's PE knew
	region
}

// page is the accesses to a part of a memory, by phase.
type page [oplog.Write + 1][]entry

// entry is the part of an access from lo to hi.
type entry struct {
	access int32
	lo, hi int64
}

// touch checks an access against those before it, in view of what orders them, and
// notes it.
func (o *order) touch(a access, phase oplog.Phase, space oplog.Space, t *thread) {
	view := viewOf(t, a.async)
	if len(t.tasks) > 0 || view != &t.clock {
		o.holdBack(&a, phase, space, t)
		view = viewOf(t, a.async)
	}
	if view != &t.clock {
		a.view = *view
	}
	o.each(&a, phase, space, func(e entry, b *access, lo, hi int64) {
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
	o.note(&a, phase, space, view)
}

// viewOf is what a PE, or one of its tasks, knows.
func viewOf(t *thread, k *task) *clock {
	if k == nil || k.view == nil {
		return &t.clock
	}
	return &k.view
}

// holdBack orders an access behind those that the hardware finishes first: of tasks
// that the same PE started before, to the same bytes.
func (o *order) holdBack(a *access, phase oplog.Phase, space oplog.Space, t *thread) {
	o.each(a, phase, space, func(e entry, b *access, lo, hi int64) {
		if b.pe != a.pe || b.id >= a.id || b.async == nil || viewOf(t, a.async).knows(b.epoch) {
			return
		}
		if _, ok := overlap(&a.region, &b.region, max(lo, e.lo), min(hi, e.hi)); ok {
			follow(t, a.async, b)
		}
	})
}

// note adds an access to the pages that it touches.
func (o *order) note(a *access, phase oplog.Phase, space oplog.Space, view *clock) {
	n := int32(len(o.all))
	o.all = append(o.all, *a)
	a.pages(func(at, lo, hi int64) {
		key := pageKey{space, at}
		p := o.pages[key]
		if p == nil {
			p = &page{}
			o.pages[key] = p
		}
		p[phase] = append(o.without(p[phase], a, view), entry{n, lo, hi})
	})
}

// each calls f for the accesses that conflict with one if they overlap and have no
// order.
func (o *order) each(a *access, phase oplog.Phase, space oplog.Space, f func(e entry, b *access, lo, hi int64)) {
	a.pages(func(at, lo, hi int64) {
		p := o.pages[pageKey{space, at}]
		if p == nil {
			return
		}
		for _, e := range p[oplog.Write] {
			f(e, &o.all[e.access], lo, hi)
		}
		if phase == oplog.Write {
			for _, e := range p[oplog.Read] {
				f(e, &o.all[e.access], lo, hi)
			}
		}
	})
}

// without drops the entries that a stands for from now on: of the same PE and line,
// ordered before it, and touching no other bytes. What races with them will race
// with a, and be the same race to the reader.
func (o *order) without(list []entry, a *access, view *clock) []entry {
	return slices.DeleteFunc(list, func(e entry) bool {
		b := &o.all[e.access]
		return b.pe == a.pe && b.line == a.line && b.id != a.id && view.knows(b.epoch) &&
			(b.region == a.region || a.rows == 1 && a.addr <= e.lo && e.hi <= a.end())
	})
}

// renew makes bytes new: accesses to them so far don't count.
func (o *order) renew(r region, space oplog.Space) {
	r.pages(func(at, lo, hi int64) {
		if p := o.pages[pageKey{space, at}]; p != nil {
			p[oplog.Read], p[oplog.Write] = outside(p[oplog.Read], lo, hi), outside(p[oplog.Write], lo, hi)
		}
	})
}

// outside is what entries have outside lo to hi.
func outside(list []entry, lo, hi int64) []entry {
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
