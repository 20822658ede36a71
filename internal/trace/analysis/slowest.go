package analysis

import (
	"cmp"
	"slices"

	"github.com/kernbench/kernbench/simtime"
)

// Slowest compares the PE of a launch that ended last with the PE that had the median end.
type Slowest struct {
	PE         string       `json:"pe"`
	Of         int          `json:"of_pes"` // number of PEs of the launch
	Took       simtime.Time `json:"ns"`
	Median     string       `json:"median_pe"`
	MedianTook simtime.Time `json:"median_ns"`
	CPU        []Spent      `json:"cpu"`         // runs and waits of its CPU; they do not overlap
	Engines    []Spent      `json:"engines"`     // the other engines; they overlap with the CPU and each other
	From       []Source     `json:"waited_from"` // PEs that it waited for, longest first
	Text       string       `json:"text"`        // a summary in words
}

// Spent is a part of the time of the slowest PE.
type Spent struct {
	What   string       `json:"what"`
	Time   simtime.Time `json:"ns"`
	Share  float64      `json:"share"`     // of the PE's time
	Median simtime.Time `json:"median_ns"` // the same part of the median PE's time
}

// Source is a PE that ended waits of the slowest PE. Time is the sum of these waits.
type Source struct {
	Wait string       `json:"wait"`
	PE   string       `json:"pe"`
	Time simtime.Time `json:"ns"`
}

// slowest compares the PE that ended last with the PE that had the median end. It returns
// nil if there are no PEs.
func (t *Trace) slowest(l Launch, all []*member) *Slowest {
	if len(all) == 0 {
		return nil
	}
	ends := slices.Clone(all)
	slices.SortStableFunc(ends, func(a, b *member) int { return cmp.Compare(a.end, b.end) })
	last, median := ends[len(ends)-1], ends[(len(ends)-1)/2]
	if i := slices.IndexFunc(all, func(m *member) bool { return t.processes[m.process].name == l.Last }); i >= 0 && all[i].end == last.end {
		last = all[i] // several PEs ended last: take the PE that the launch names
	}
	s := &Slowest{
		PE: t.processes[last.process].name, Of: len(all), Took: last.end - l.Start,
		Median: t.processes[median.process].name, MedianTook: median.end - l.Start,
	}
	s.CPU = compareTimes(t.cpuTimes(last), t.cpuTimes(median), s.Took)
	s.Engines = compareTimes(engineTimes(last), engineTimes(median), s.Took)
	s.From = t.sources(last)
	s.Text = s.summary()
	return s
}

// compareTimes lists everything that took time on the slowest or the median PE, sorted by
// the time on the slowest PE. The maps have the times by name. Shares are relative to
// `took`, the time of the slowest PE.
func compareTimes(slowest, median map[string]simtime.Time, took simtime.Time) (list []Spent) {
	for what := range median {
		slowest[what] += 0
	}
	for what, time := range slowest {
		if time > 0 || median[what] > 0 {
			list = append(list, Spent{what, time, share(time, took), median[what]})
		}
	}
	slices.SortFunc(list, func(a, b Spent) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(b.Median, a.Median), cmp.Compare(a.What, b.What))
	})
	return list
}

// cpuTimes returns how long the CPU of a PE ran, and how long it waited in each kind of
// wait, by name.
func (t *Trace) cpuTimes(m *member) map[string]simtime.Time {
	times := map[string]simtime.Time{"run": m.busy[CPU]}
	t.eachWait(m, func(w, _ *slice) { times[t.names[w.name]] += w.end - w.start })
	return times
}

// engineTimes returns the busy times of a PE's engines other than the CPU, by name.
func engineTimes(m *member) map[string]simtime.Time {
	times := map[string]simtime.Time{}
	for e := CPU + 1; e < engines; e++ {
		times[e.String()] = m.busy[e]
	}
	return times
}

// sources adds up the waits of a PE by kind of wait and by the PE that ended the wait,
// longest first.
func (t *Trace) sources(m *member) (list []Source) {
	t.eachWait(m, func(w, then *slice) {
		if then == nil {
			return
		}
		wait, from := awaited(t.names[w.name]), t.processes[t.releasedBy(w, then)].name
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

// releasedBy returns the process that ended a wait. `then` is the slice that follows the
// wait. Starting from that slice, releasedBy goes from each activity back to the activity
// that released it, until it finds an activity of another process. The activity that
// released `then` counts even if it had ended before the wait began, for example because
// its credit was in flight. Activities further back count only if they ended after the wait
// began. If no activity of another process counts, releasedBy returns the waiting process
// itself.
func (t *Trace) releasedBy(wait, then *slice) int32 {
	own := t.tracks[wait.track].process
	for s := then; s.after != 0; {
		i, _ := t.activity(s.after) // every cause is in the trace
		counts := s == then || t.slices[i].end >= wait.start
		s = &t.slices[i]
		if !counts {
			break
		}
		if p := t.tracks[s.track].process; p != own {
			return p
		}
	}
	return own
}
