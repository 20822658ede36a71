package analysis

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/simtime"
)

// member is what a PE of a launch did in it.
type member struct {
	process int32
	until   simtime.Time // the PE begins its next launch, or never
	end     simtime.Time // of the last activity
	busy    [engines]simtime.Time
	slices  []int32 // of its engines, by these and by when they begin
}

// members are the PEs of a launch, in the order of the trace: those that begin it, at its
// start. Launches of a PE come one after another.
func (t *Trace) members(l Launch) []*member {
	of := make([]*member, len(t.processes))
	var all []*member
	for i := range t.slices {
		s := &t.slices[i]
		if p := t.tracks[s.track].process; s.start == l.Start && t.begins(s) && t.of(int32(i), l) && of[p] == nil {
			of[p] = &member{process: p, until: simtime.Never, end: l.Start}
			all = append(all, of[p])
		}
	}
	for i := range t.slices {
		s := &t.slices[i]
		if m := of[t.tracks[s.track].process]; m != nil && t.begins(s) && s.start > l.Start {
			m.until = min(m.until, s.start)
		}
	}
	for i := range t.slices {
		s := &t.slices[i]
		m := of[t.tracks[s.track].process]
		if m != nil && t.engine(s) != NoEngine && l.Start <= s.start && s.start < m.until {
			m.slices = append(m.slices, int32(i))
		}
	}
	for _, m := range all {
		t.measure(m)
	}
	slices.SortFunc(all, func(a, b *member) int { return cmp.Compare(a.process, b.process) })
	return all
}

// pes returns the PEs of all launches with all that they did.
func (t *Trace) pes() (all []*member) {
	of := make([]*member, len(t.processes))
	for i := range t.processes {
		if len(t.processes[i].launches) > 0 {
			of[i] = &member{process: int32(i)}
			all = append(all, of[i])
		}
	}
	for i := range t.slices {
		s := &t.slices[i]
		if m := of[t.tracks[s.track].process]; m != nil && t.engine(s) != NoEngine {
			m.slices = append(m.slices, int32(i))
		}
	}
	for _, m := range all {
		t.measure(m)
	}
	return all
}

// begins reports whether a slice is the first of its PE in a launch.
func (t *Trace) begins(s *slice) bool { return s.id != 0 && s.after == 0 && t.engine(s) == CPU }

// of reports whether a slice that begins a launch is of this one, and not of another that
// starts at the same instant.
func (t *Trace) of(i int32, l Launch) bool {
	number, says := t.launchOf[i]
	return !says || number == l.Number
}

// measure finds when a PE ended, and how long each engine was at work with at least one
// of its lanes.
func (t *Trace) measure(m *member) {
	slices.SortFunc(m.slices, func(a, b int32) int {
		x, y := &t.slices[a], &t.slices[b]
		return cmp.Or(cmp.Compare(t.engine(x), t.engine(y)), cmp.Compare(x.start, y.start), cmp.Compare(a, b))
	})
	var busy [engines]simtime.Time // until when, so far
	for _, i := range m.slices {
		s := &t.slices[i]
		if s.id != 0 {
			m.end = max(m.end, s.end)
		}
		if t.waits(s) {
			continue
		}
		e := t.engine(s)
		m.busy[e] += max(0, s.end-max(s.start, busy[e]))
		busy[e] = max(busy[e], s.end)
	}
}

// eachWait calls f for each time that the CPU of a PE waited, with the slice that it went on
// with, or nil.
func (t *Trace) eachWait(m *member, f func(wait, then *slice)) {
	for n, i := range m.slices {
		s := &t.slices[i]
		if !t.waits(s) {
			continue
		}
		var then *slice
		if n+1 < len(m.slices) && t.slices[m.slices[n+1]].wait == i {
			then = &t.slices[m.slices[n+1]]
		}
		f(s, then)
	}
}

// waitedFor is what a wait is for, of its name.
func waitedFor(name string) string { return strings.TrimPrefix(name, waitPrefix) }

// EngineUse is how busy the engines of a kind were in a launch or program, as shares of its time.
type EngineUse struct {
	Engine Engine  `json:"engine"`
	Mean   float64 `json:"mean_share"` // over all PEs of it
	Max    float64 `json:"max_share"`
	Most   string  `json:"max_pe"`
}

// engineUse returns that of each engine that did anything in some time.
func (t *Trace) engineUse(time simtime.Time, all []*member) (list []EngineUse) {
	for e := CPU; e < engines; e++ {
		var total, most simtime.Time
		use := EngineUse{Engine: e}
		for _, m := range all {
			total += m.busy[e]
			if m.busy[e] > most {
				most, use.Most = m.busy[e], t.processes[m.process].name
			}
		}
		if most > 0 {
			use.Max, use.Mean = share(most, time), share(total, time)/float64(len(all))
			list = append(list, use)
		}
	}
	return list
}
