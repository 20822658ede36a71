package analysis

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/simtime"
)

// Path is the chain of dependent activities that determines how long a launch or the whole
// program takes. Its segments follow each other without gaps from the start of the launch
// or program to its end.
type Path struct {
	Kinds    []KindSum `json:"kinds"` // largest sum first
	Steps    []Step    `json:"steps"` // only of a program
	Segments []Segment `json:"segments"`
	Visits   []string  `json:"visits"` // PEs, host and control cores that the path visits, in order

	parts []Segment // segments before neighbours were merged
}

// Segment is a part of the path in one place.
type Segment struct {
	At     simtime.Time `json:"at_ns"` // since the start of the launch or program
	For    simtime.Time `json:"ns"`
	Where  string       `json:"where"`
	Kind   string       `json:"kind"`
	Name   string       `json:"name,omitempty"` // of the operation
	Line   string       `json:"line,omitempty"` // of the kernel
	Launch *int64       `json:"launch,omitempty"`
	Count  int          `json:"activities"` // number of consecutive activities on the track; 0 is latency
	Bytes  int64        `json:"bytes,omitempty"`
	Queued simtime.Time `json:"queued_ns"` // the part of For that transfers waited for links
	track  int32
	engine Engine
}

// KindSum is the sum of the segments of a kind.
type KindSum struct {
	Kind       string       `json:"kind"`
	Time       simtime.Time `json:"ns"`
	Share      float64      `json:"share"`
	Activities int          `json:"activities"`
	Queued     simtime.Time `json:"queued_ns"`
}

// Step is the part of a program's path in one launch, or in one operation of the host or of
// a control core.
type Step struct {
	At       simtime.Time `json:"at_ns"`
	For      simtime.Time `json:"ns"`
	Share    float64      `json:"share"`
	Name     string       `json:"name"`
	Launch   *int64       `json:"launch,omitempty"`
	Segments int          `json:"segments"`
	Mostly   string       `json:"mostly"`    // the kind that takes most of the time
	Most     simtime.Time `json:"mostly_ns"` // the time of that kind
}

// CriticalPath returns the path of a launch.
func (t *Trace) CriticalPath(l Launch) (*Path, error) {
	p, err := t.path(l.Start, l.End(), l.after)
	if err != nil {
		return nil, fmt.Errorf("launch %d: %w", l.Number, err)
	}
	return p, nil
}

// ProgramPath returns the path of the whole program, through launches, collectives, copies
// and tasks. Its length is the makespan.
func (t *Trace) ProgramPath() (*Path, error) {
	p, err := t.path(t.Program.Start, t.Program.Start+t.Program.Makespan, t.Program.after)
	if err != nil {
		return nil, fmt.Errorf("program: %w", err)
	}
	p.addSteps(t)
	return p, nil
}

// path returns the critical path of a launch or program from its start time `from` to its
// end time `to`. `last` is its last activity. The path is found by walking back in time:
// from each activity to the activity that released it, and from the first activity of a
// launch to the activity that released the launch. If the releasing activity had ended
// earlier, the time in between is latency. If it continued in parallel, only its time
// before the release counts.
func (t *Trace) path(from, to simtime.Time, last int64) (*Path, error) {
	w := walk{t: t, p: &Path{}, from: from, at: to}
	if err := w.back(last); err != nil {
		return nil, err
	}
	slices.Reverse(w.p.parts)
	w.p.merge()
	w.p.sum(to - from)
	return w.p, nil
}

// walk is the state of a walk back along a path.
type walk struct {
	t    *Trace
	p    *Path
	from simtime.Time
	at   simtime.Time // segments cover the time after at
}

// back walks back from the activity `last` to the start of the path, and adds the segments
// of the path.
func (w *walk) back(last int64) error {
	var later *slice // the activity visited before; nil at the end of the path
	for id := last; id != 0 && w.at > w.from; {
		i, ok := w.t.activity(id)
		if !ok {
			return fmt.Errorf("its last activity, %d, is not in the trace", id)
		}
		s := &w.t.slices[i]
		w.addLatency(s.end, later, s)
		w.add(Segment{
			Where: w.t.where(s), Kind: w.t.kind(s), Name: w.t.names[s.name], Line: w.t.names[s.source], Launch: w.t.launchAt(s),
			Count: 1, Bytes: s.bytes, Queued: s.queued, track: s.track, engine: w.t.engine(s),
		}, s.start)
		if later, id = s, s.after; id == 0 {
			id = w.t.releaseOf(i)
		}
	}
	if w.at == w.from {
		return nil
	}
	if later == nil {
		return errors.New("the trace does not say which activity was its last")
	}
	return fmt.Errorf("its critical path ends at %v, with activity %d of %s, which nothing released, and not at its start at %v: the trace is not complete",
		later.start, later.id, w.t.where(later), w.from)
}

// addLatency adds a segment for the latency between two activities: the activity `before`,
// which ended at the time `from`, and the activity `later`, which `before` released.
// `later` is nil at the end of the path.
func (w *walk) addLatency(from simtime.Time, later, before *slice) {
	at := later
	if at == nil {
		at = before
	}
	w.add(Segment{Where: w.t.where(at), Kind: w.t.latencyKind(later, before), Launch: w.t.launchAt(at)}, from)
}

// add adds segment s at the front of the path. The segment lasts from the time `from` to
// the start of the segment that was added before it. The activity of s may end later, but
// only its time before that start counts. If no time is left, add adds nothing.
func (w *walk) add(s Segment, from simtime.Time) {
	from = max(from, w.from) // the activity may belong to an earlier launch
	if from >= w.at {
		return
	}
	s.At, s.For = from-w.from, w.at-from
	s.Queued = min(s.Queued, s.For)
	w.p.parts = append(w.p.parts, s)
	w.at = from
}

// kind returns the name of the sum to which the time of activity s on a path is added: the
// name of its engine, its DMA operation, its wait, or its track.
func (t *Trace) kind(s *slice) string {
	switch e := t.engine(s); {
	case e == NoEngine:
		return t.tracks[s.track].family()
	case t.waits(s): // a worker waits for a task
		return t.names[s.name]
	case e == DMARead, e == DMAWrite:
		return "dma " + t.names[s.name]
	default:
		return e.String()
	}
}

// latencyKind returns the kind of the latency from the end of activity `before` to the
// start of activity `later`, which `before` released. A path sums its times by kind.
// `later` is nil if the latency ends with the launch or program.
func (t *Trace) latencyKind(later, before *slice) string {
	const prefix = "latency: "
	if later == nil {
		return prefix + "end"
	}
	if later.wait >= 0 {
		return prefix + awaited(t.names[t.slices[later.wait].name])
	}
	switch from, to := t.engine(before), t.engine(later); {
	case from == CPU:
		return prefix + "issue"
	case to == DMARead || to == DMAWrite || to == Copy:
		return prefix + "set-up"
	}
	return prefix + t.kind(later)
}

// merge merges neighbouring parts with the same track, kind and name into segments. A
// segment has a line if all its parts have the same line.
func (p *Path) merge() {
	for _, s := range p.parts {
		if n := len(p.Segments) - 1; n >= 0 && s.Count > 0 && p.Segments[n].track == s.track && p.Segments[n].Kind == s.Kind && p.Segments[n].Name == s.Name {
			m := &p.Segments[n]
			m.For += s.For
			m.Count += s.Count
			m.Bytes += s.Bytes
			m.Queued += s.Queued
			if m.Line != s.Line {
				m.Line = ""
			}
			continue
		}
		p.Segments = append(p.Segments, s)
	}
}

// sum adds up the segments by kind and lists the places that the path visits. `whole` is
// the length of the path, to which the shares are relative.
func (p *Path) sum(whole simtime.Time) {
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
		p.Kinds[i].Share = share(p.Kinds[i].Time, whole)
	}
	slices.SortStableFunc(p.Kinds, func(a, b KindSum) int { return cmp.Compare(b.Time, a.Time) })
}

// addSteps groups consecutive segments of a program's path into steps: by launch, and
// outside of launches by name.
func (p *Path) addSteps(t *Trace) {
	kinds := map[string]simtime.Time{} // times of the last step, by kind
	for _, s := range p.Segments {
		name := s.Name
		if s.Launch != nil {
			name = t.launches[t.launch(*s.Launch)].Name
		} else if name == "" {
			name = s.Kind
		}
		n := len(p.Steps) - 1
		if n < 0 || p.Steps[n].Name != name || !sameLaunch(p.Steps[n].Launch, s.Launch) {
			p.Steps = append(p.Steps, Step{At: s.At, Name: name, Launch: s.Launch})
			n++
			clear(kinds)
		}
		step := &p.Steps[n]
		step.For += s.For
		step.Segments++
		step.Share = share(step.For, t.Program.Makespan)
		kinds[s.Kind] += s.For
		if kinds[s.Kind] > step.Most {
			step.Mostly, step.Most = s.Kind, kinds[s.Kind]
		}
	}
}

// sameLaunch reports whether two numbers of launches are equal; nil means no launch.
func sameLaunch(a, b *int64) bool { return a == b || a != nil && b != nil && *a == *b }
