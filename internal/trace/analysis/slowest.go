package analysis

import (
	"cmp"
	"slices"

	"github.com/kernbench/kernbench/simtime"
)

// Slowest is the PE of a launch that ended last, beside the one of the median end.
type Slowest struct {
	PE         string       `json:"pe"`
	Of         int          `json:"of_pes"`
	Took       simtime.Time `json:"ns"`
	Median     string       `json:"median_pe"`
	MedianTook simtime.Time `json:"median_ns"`
	CPU        []Spent      `json:"cpu"`         // what its CPU did: every instant is in one of them
	Engines    []Spent      `json:"engines"`     // beside the CPU, and each other
	From       []Source     `json:"waited_from"` // whom it waited for, longest first
	Text       string       `json:"text"`        // all this in words
}

// Spent is a part of a PE's time.
type Spent struct {
	What   string       `json:"what"`
	Time   simtime.Time `json:"ns"`
	Share  float64      `json:"share"`     // of the time it took
	Median simtime.Time `json:"median_ns"` // that of the median PE
}

// Source is a PE whose activities ended waits.
type Source struct {
	Wait string       `json:"wait"`
	PE   string       `json:"pe"`
	Time simtime.Time `json:"ns"`
}

// slowest compares the PE that ended last with the one in the middle.
func (t *Trace) slowest(l Launch, all []*member) *Slowest {
	if len(all) == 0 {
		return nil
	}
	ends := slices.Clone(all)
	slices.SortStableFunc(ends, func(a, b *member) int { return cmp.Compare(a.end, b.end) })
	last, median := ends[len(ends)-1], ends[(len(ends)-1)/2]
	if i := slices.IndexFunc(all, func(m *member) bool { return t.processes[m.process].name == l.Last }); i >= 0 && all[i].end == last.end {
		last = all[i] // of several
	}
	s := &Slowest{
		PE: t.processes[last.process].name, Of: len(all), Took: last.end - l.Start,
		Median: t.processes[median.process].name, MedianTook: median.end - l.Start,
	}
	s.CPU = spent(t.cpuTimes(last), t.cpuTimes(median), s.Took)
	s.Engines = spent(engineTimes(last), engineTimes(median), s.Took)
	s.From = t.sources(last)
	s.Text = s.words()
	return s
}

// spent lists what took time in one of two PEs, by what it took in the first.
func spent(of, median map[string]simtime.Time, took simtime.Time) (list []Spent) {
	for what := range median {
		of[what] += 0
	}
	for what, time := range of {
		if time > 0 || median[what] > 0 {
			list = append(list, Spent{what, time, share(time, took), median[what]})
		}
	}
	slices.SortFunc(list, func(a, b Spent) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(b.Median, a.Median), cmp.Compare(a.What, b.What))
	})
	return list
}

// cpuTimes is what the CPU of a PE did.
func (t *Trace) cpuTimes(m *member) map[string]simtime.Time {
	times := map[string]simtime.Time{"run": m.busy[CPU]}
	t.eachWait(m, func(w, _ *slice) { times[t.names[w.name]] += w.end - w.start })
	return times
}

func engineTimes(m *member) map[string]simtime.Time {
	times := map[string]simtime.Time{}
	for e := CPU + 1; e < engines; e++ {
		times[e.String()] = m.busy[e]
	}
	return times
}

// sources is who ended the waits of a PE.
func (t *Trace) sources(m *member) (list []Source) {
	t.eachWait(m, func(w, then *slice) {
		if then == nil {
			return
		}
		wait, from := waitedFor(t.names[w.name]), t.processes[t.releasedBy(w, then)].name
		i := slices.IndexFunc(list, func(s Source) bool { return s.Wait == wait && s.PE == from })
		if i < 0 {
			i = len(list)
			list = append(list, Source{Wait: wait, PE: from})
		}
		list[i].Time += w.end - w.start
	})
	slices.SortStableFunc(list, func(a, b Source) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.PE, b.PE))
	})
	return list
}

// releasedBy is the process that a wait was ended by: that of the activity which did, even if
// it is over when the wait begins, as one is whose credit is on its way; or another that the
// chain of causes leads to while the wait lasts; otherwise its own.
func (t *Trace) releasedBy(wait, then *slice) int32 {
	own := t.tracks[wait.track].process
	for s := then; s.after != 0; {
		i, _ := t.activity(s.after) // every cause is in the trace
		late := s == then || t.slices[i].end >= wait.start
		s = &t.slices[i]
		if !late {
			break
		}
		if p := t.tracks[s.track].process; p != own {
			return p
		}
	}
	return own
}
