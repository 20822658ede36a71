package analysis

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/simtime"
)

// member is the work of a PE in a launch, or in the whole program.
type member struct {
	process int32
	until   simtime.Time // start of the PE's next launch, or simtime.Never
	end     simtime.Time // of the last activity
	busy    [engines]simtime.Time
	slices  []int32 // slices of the PE's engines, sorted by engine and start
}

// members returns the PEs of launch l, each with its work in the launch, in the order of
// the trace. A PE belongs to launch l if the first activity of one of its launches begins
// when l starts, and does not name another launch. Launches of a PE do not overlap.
func (t *Trace) members(l Launch) []*member {
	byProcess := make([]*member, len(t.processes))
	var all []*member
	for i := range t.slices {
		s := &t.slices[i]
		if p := t.tracks[s.track].process; s.start == l.Start && t.beginsLaunch(s) && t.mayBegin(int32(i), l) && byProcess[p] == nil {
			byProcess[p] = &member{process: p, until: simtime.Never, end: l.Start}
			all = append(all, byProcess[p])
		}
	}
	for i := range t.slices {
		s := &t.slices[i]
		if m := byProcess[t.tracks[s.track].process]; m != nil && t.beginsLaunch(s) && s.start > l.Start {
			m.until = min(m.until, s.start)
		}
	}
	for i := range t.slices {
		s := &t.slices[i]
		m := byProcess[t.tracks[s.track].process]
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

// pes returns the PEs of all launches, each with its work in the whole program.
func (t *Trace) pes() (all []*member) {
	byProcess := make([]*member, len(t.processes))
	for i := range t.processes {
		if len(t.processes[i].launches) > 0 {
			byProcess[i] = &member{process: int32(i)}
			all = append(all, byProcess[i])
		}
	}
	for i := range t.slices {
		s := &t.slices[i]
		if m := byProcess[t.tracks[s.track].process]; m != nil && t.engine(s) != NoEngine {
			m.slices = append(m.slices, int32(i))
		}
	}
	for _, m := range all {
		t.measure(m)
	}
	return all
}

// beginsLaunch reports whether a slice is the first activity of its PE in a launch.
func (t *Trace) beginsLaunch(s *slice) bool { return s.id != 0 && s.after == 0 && t.engine(s) == CPU }

// mayBegin reports whether slice i, the first activity of a PE in a launch, may belong to
// launch l. It does not belong to l if it names another launch, which may start at the same
// instant.
func (t *Trace) mayBegin(i int32, l Launch) bool {
	number, named := t.launchOf[i]
	return !named || number == l.Number
}

// measure sorts the slices of a PE by engine and start. It computes when the PE ended, and
// how long each engine was busy on at least one of its subtracks.
func (t *Trace) measure(m *member) {
	slices.SortFunc(m.slices, func(a, b int32) int {
		x, y := &t.slices[a], &t.slices[b]
		return cmp.Or(cmp.Compare(t.engine(x), t.engine(y)), cmp.Compare(x.start, y.start), cmp.Compare(a, b))
	})
	var busy [engines]simtime.Time // latest end so far
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

// eachWait calls f for each wait of a PE's CPU. The arguments of f are the slice of the
// wait and the slice of the CPU that follows the wait, or nil if no slice follows.
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

// awaited returns the thing that a CPU waits for, given the name of the wait: "message" for
// "wait: message".
func awaited(name string) string { return strings.TrimPrefix(name, waitPrefix) }

// EngineUse is the utilization of the engines of a kind in a launch or in the program.
type EngineUse struct {
	Engine Engine  `json:"engine"`
	Mean   float64 `json:"mean_share"` // over all PEs of the launch or program
	Max    float64 `json:"max_share"`
	Most   string  `json:"max_pe"` // the PE with the largest share
}

// engineUse returns the utilization of each kind of engine that was busy. The utilization
// of an engine is its busy time divided by the given time. The result contains the maximum
// and the mean over the PEs in `all`.
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
