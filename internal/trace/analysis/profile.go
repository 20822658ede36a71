package analysis

import (
	"cmp"
	"slices"

	"github.com/kernbench/kernbench/simtime"
)

// By is the key by which a profile groups activities.
type By string

// The profiles.
const (
	ByOp   By = "op"   // by operation and engine
	ByLine By = "line" // by line of the kernel
)

// Profile shows where the time of a launch or the whole program went, by operation or by
// line. The rows' times on the critical path add up to the length of the path.
type Profile struct {
	About    About        `json:"trace"`
	Launches int          `json:"launches"`
	Program  *Program     `json:"program"`
	Launch   *Launch      `json:"launch"` // null for a profile of the program
	By       By           `json:"by"`
	Time     simtime.Time `json:"ns"` // the length of the critical path
	Rows     []Work       `json:"rows"`
}

// Work is a row of a profile: an operation on an engine, or a line of a kernel.
type Work struct {
	// Name is the operation or the line. For the host and control cores it is the track.
	Name string `json:"name"`
	// Engine is the kind of engine. For the host and control cores it is the process.
	Engine string `json:"engine,omitempty"`
	// Count is the number of operations. By line, fetching the operands of a command and
	// storing its result are part of the command.
	Count int          `json:"count"`
	Busy  simtime.Time `json:"busy_ns"`           // on all engines of the kind
	Mean  simtime.Time `json:"mean_ns,omitempty"` // per operation
	Max   simtime.Time `json:"max_ns,omitempty"`  // of the longest operation
	Path  simtime.Time `json:"path_ns"`           // on the critical path
	Share float64      `json:"path_share"`        // of the critical path
}

// Profile sums the busy times of activities, and the times that they take on the critical
// path. It covers the launch with the number `launch`, or the whole program if `launch` is
// [Whole]. Rows are sorted by time on the path, then by busy time, largest first.
func (t *Trace) Profile(by By, launch int64) (*Profile, error) {
	l, err := t.pick(launch)
	if err != nil {
		return nil, err
	}
	p := profileBuilder{by: by, rows: map[workKey]*Work{}}
	path := &Path{}
	switch {
	case l != nil:
		path, err = t.CriticalPath(*l)
	case t.Program != nil:
		path, err = t.ProgramPath()
	}
	if err != nil {
		return nil, err
	}
	for _, i := range t.activities {
		if s := &t.slices[i]; l == nil || t.inLaunch(s, l) {
			name := t.names[s.name]
			if t.engine(s) == NoEngine {
				name = t.kind(s)
			}
			p.addActivity(name, t.names[s.source], t.engine(s), t.where(s), s.end-s.start)
		}
	}
	r := &Profile{About: t.About, Launches: len(t.launches), Program: t.Program, Launch: l, By: by}
	for _, s := range path.parts {
		r.Time += s.For
		p.addSegment(s)
	}
	for _, w := range p.rows {
		w.Share = share(w.Path, r.Time)
		r.Rows = append(r.Rows, *w)
	}
	slices.SortFunc(r.Rows, func(a, b Work) int {
		return cmp.Or(cmp.Compare(b.Path, a.Path), cmp.Compare(b.Busy, a.Busy), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Engine, b.Engine))
	})
	return r, nil
}

// inLaunch reports whether slice s belongs to a PE that runs launch l at the time of the
// slice.
func (t *Trace) inLaunch(s *slice, l *Launch) bool {
	at := t.launchAt(s)
	return at != nil && *at == l.Number
}

// profileBuilder collects the rows of a profile.
type profileBuilder struct {
	by   By
	rows map[workKey]*Work
}

type workKey struct{ name, engine string }

// row returns the row to which an activity belongs. In a profile by operation, this is the
// row of the operation `name` on engine e, or in the process `where` if e is NoEngine. In a
// profile by line, it is the row of `line`. Activities without a line are in a row with the
// name of the engine or process.
func (p *profileBuilder) row(name, line string, e Engine, where string) *Work {
	key := workKey{name, cmp.Or(e.String(), where)}
	if p.by == ByLine {
		key = workKey{cmp.Or(line, "("+cmp.Or(key.engine, "latency")+")"), ""}
	}
	if p.rows[key] == nil {
		p.rows[key] = &Work{Name: key.name, Engine: key.engine}
	}
	return p.rows[key]
}

// addActivity adds the time of an activity to the row that the method row returns for it.
// In a profile by line, it does not count fetches and stores as activities.
func (p *profileBuilder) addActivity(name, line string, e Engine, where string, took simtime.Time) {
	w := p.row(name, line, e, where)
	w.Busy += took
	if p.by == ByOp || e != Fetch && e != Store {
		w.Count++
	}
	if p.by == ByOp {
		w.Max, w.Mean = max(w.Max, took), w.Busy/simtime.Time(w.Count)
	}
}

// addSegment adds the time of s, a part of the critical path, to the row of the profile to
// which s belongs.
func (p *profileBuilder) addSegment(s Segment) {
	name, where := s.Name, s.Where
	if s.Count == 0 || s.engine == NoEngine {
		name = s.Kind
	}
	if s.Count == 0 {
		where = ""
	}
	p.row(name, s.Line, s.engine, where).Path += s.For
}
