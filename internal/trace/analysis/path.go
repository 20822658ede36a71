package analysis

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/simtime"
)

// Path is the chain of activities that a launch took as long as it did for: each segment
// begins when the one before ends, the first with the launch, and the last ends with it.
type Path struct {
	Launch   Launch    `json:"-"`
	Kinds    []KindSum `json:"kinds"` // by what they sum up to
	Segments []Segment `json:"segments"`
	Visits   []string  `json:"visits"` // PEs, in order
}

// Segment is a part of the path in one place.
type Segment struct {
	At     simtime.Time `json:"at_ns"` // since the start of the launch
	For    simtime.Time `json:"ns"`
	Where  string       `json:"where"`
	Kind   string       `json:"kind"`
	Count  int          `json:"activities"` // one after another on the track; 0 is latency
	Bytes  int64        `json:"bytes,omitempty"`
	Queued simtime.Time `json:"queued_ns"` // of For: in front of links
	track  int32
}

// KindSum is what the segments of a kind sum up to.
type KindSum struct {
	Kind       string       `json:"kind"`
	Time       simtime.Time `json:"ns"`
	Share      float64      `json:"share"`
	Activities int          `json:"activities"`
	Queued     simtime.Time `json:"queued_ns"`
}

// CriticalPath walks back from the end of a launch, from each activity to the one that
// released it. Where the other had ended before, what lies between is latency; where it
// goes on beside, only its time before counts.
func (t *Trace) CriticalPath(l Launch) (*Path, error) {
	w := walk{t: t, p: &Path{Launch: l}, l: l, at: l.End()}
	if err := w.back(); err != nil {
		return nil, fmt.Errorf("launch %d: %w", l.Number, err)
	}
	slices.Reverse(w.p.Segments)
	w.p.merge()
	w.p.sum()
	return w.p, nil
}

// walk is on its way back along a path.
type walk struct {
	t  *Trace
	p  *Path
	l  Launch
	at simtime.Time // all after this is in segments
}

func (w *walk) back() error {
	var later *slice // that the one before released; nil is the end of the launch
	for id := w.l.after; id != 0 && w.at > w.l.Start; {
		i, ok := w.t.activity(id)
		if !ok {
			return fmt.Errorf("its last activity, %d, is not in the trace", id)
		}
		s := &w.t.slices[i]
		w.latency(s.end, later, s)
		w.add(Segment{Where: w.t.where(s), Kind: w.t.kind(s), Count: 1, Bytes: s.bytes, Queued: s.queued, track: s.track}, s.start)
		later, id = s, s.after
	}
	if w.at == w.l.Start {
		return nil
	}
	if later == nil {
		return errors.New("the trace does not say which activity was its last")
	}
	if slices.ContainsFunc(w.t.launches, func(l Launch) bool { return l.Start == later.start }) {
		w.add(Segment{Where: w.t.where(later), Kind: "latency: launch"}, w.l.Start) // of others that it waited for
		return nil
	}
	return fmt.Errorf("its critical path ends at %v, with activity %d of %s, which nothing released, and not with the launch at %v: the trace is not complete",
		later.start, later.id, w.t.where(later), w.l.Start)
}

// latency adds what is between the end of an activity and what it released: another, or
// at the end of the launch nothing.
func (w *walk) latency(from simtime.Time, later, before *slice) {
	at := later
	if at == nil {
		at = before
	}
	w.add(Segment{Where: w.t.where(at), Kind: w.t.latencyKind(later, before)}, from)
}

// add adds a segment from an instant to what is covered, if that is any time: an activity counts as
// far as it is not beside what it released.
func (w *walk) add(s Segment, from simtime.Time) {
	from = max(from, w.l.Start) // another launch may have begun before
	if from >= w.at {
		return
	}
	s.At, s.For = from-w.l.Start, w.at-from
	s.Queued = min(s.Queued, s.For)
	w.p.Segments = append(w.p.Segments, s)
	w.at = from
}

// kind is what an activity is.
func (t *Trace) kind(s *slice) string {
	switch e := t.engine(s); {
	case e == NoEngine, t.waits(s): // a worker waits for a task
		return t.names[s.name]
	case e == DMARead, e == DMAWrite:
		return "dma " + t.names[s.name]
	default:
		return e.String()
	}
}

// latencyKind is what takes the time between the end of an activity and the begin of the
// one it released, or the end of its launch.
func (t *Trace) latencyKind(later, before *slice) string {
	const is = "latency: "
	if later == nil {
		return is + "end"
	}
	if later.wait >= 0 {
		return is + waitedFor(t.names[t.slices[later.wait].name])
	}
	switch from, to := t.engine(before), t.engine(later); {
	case from == CPU:
		return is + "issue"
	case to == DMARead || to == DMAWrite || to == Copy:
		return is + "set-up"
	}
	return is + t.kind(later)
}

// merge makes one segment of neighbours that are the same thing on the same track.
func (p *Path) merge() {
	merged := p.Segments[:0]
	for _, s := range p.Segments {
		if n := len(merged) - 1; n >= 0 && s.Count > 0 && merged[n].track == s.track && merged[n].Kind == s.Kind {
			m := &merged[n]
			m.For += s.For
			m.Count += s.Count
			m.Bytes += s.Bytes
			m.Queued += s.Queued
			continue
		}
		merged = append(merged, s)
	}
	p.Segments = merged
}

// sum sums up kinds and lists where the path goes.
func (p *Path) sum() {
	for _, s := range p.Segments {
		i := slices.IndexFunc(p.Kinds, func(k KindSum) bool { return k.Kind == s.Kind })
		if i < 0 {
			i = len(p.Kinds)
			p.Kinds = append(p.Kinds, KindSum{Kind: s.Kind})
		}
		k := &p.Kinds[i]
		k.Time += s.For
		k.Activities += s.Count
		k.Queued += s.Queued
		if n := len(p.Visits); n == 0 || p.Visits[n-1] != s.Where {
			p.Visits = append(p.Visits, s.Where)
		}
	}
	for i := range p.Kinds {
		p.Kinds[i].Share = share(p.Kinds[i].Time, p.Launch.Critical)
	}
	slices.SortStableFunc(p.Kinds, func(a, b KindSum) int { return cmp.Compare(b.Time, a.Time) })
}
