package analysis

import (
	"cmp"
	"slices"

	"github.com/kernbench/kernbench/simtime"
)

// By is what a profile sums up by.
type By string

// The profiles.
const (
	ByOp   By = "op"   // by operation and engine
	ByLine By = "line" // by line of the kernel
)

// Profile is where the time of a launch or the whole program went, by operation or by line.
// The times on the critical path add up to its length.
type Profile struct {
	About    About        `json:"trace"`
	Launches int          `json:"launches"`
	Program  *Program     `json:"program"`
	Launch   *Launch      `json:"launch"` // that it is of; null if it is of the program
	By       By           `json:"by"`
	Time     simtime.Time `json:"ns"` // the length of the critical path
	Rows     []Work       `json:"rows"`
}

// Work is what an operation on an engine, or a line of a kernel, took.
type Work struct {
	Name   string       `json:"name"`              // of the operation, or the line; of the host and control cores the track
	Engine string       `json:"engine,omitempty"`  // or the process of the host and of control cores
	Count  int          `json:"count"`             // of operations; fetching operands and storing results of a command is part of it
	Busy   simtime.Time `json:"busy_ns"`           // on all engines of the kind
	Mean   simtime.Time `json:"mean_ns,omitempty"` // of an operation,
	Max    simtime.Time `json:"max_ns,omitempty"`  // and the longest
	Path   simtime.Time `json:"path_ns"`           // on the critical path
	Share  float64      `json:"path_share"`
}

// Profile sums up the activities of a launch, or of the whole program, with their parts of its
// critical path. Rows are in the order of their times on the path, then of their busy times.
func (t *Trace) Profile(by By, launch int64) (*Profile, error) {
	l, err := t.pick(launch)
	if err != nil {
		return nil, err
	}
	p := profile{by: by, rows: map[workKey]*Work{}}
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
		if s := &t.slices[i]; l == nil || t.in(s, l) {
			name := t.names[s.name]
			if t.engine(s) == NoEngine {
				name = t.kind(s)
			}
			p.activity(name, t.names[s.source], t.engine(s), t.where(s), s.end-s.start)
		}
	}
	r := &Profile{About: t.About, Launches: len(t.launches), Program: t.Program, Launch: l, By: by}
	for _, s := range path.parts {
		r.Time += s.For
		p.onPath(s)
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

// in reports whether a slice is of a PE in a launch.
func (t *Trace) in(s *slice, l *Launch) bool {
	at := t.launchAt(s)
	return at != nil && *at == l.Number
}

// profile is one in the making.
type profile struct {
	by   By
	rows map[workKey]*Work
}

type workKey struct{ name, engine string }

// row returns that of an operation, with its line, on an engine, or else in a process. What no
// line of a kernel asked for is in a row with the name of the engine or process.
func (p *profile) row(name, line string, e Engine, where string) *Work {
	key := workKey{name, cmp.Or(e.String(), where)}
	if p.by == ByLine {
		key = workKey{cmp.Or(line, "("+cmp.Or(key.engine, "latency")+")"), ""}
	}
	if p.rows[key] == nil {
		p.rows[key] = &Work{Name: key.name, Engine: key.engine}
	}
	return p.rows[key]
}

// activity adds an activity.
func (p *profile) activity(name, line string, e Engine, where string, took simtime.Time) {
	w := p.row(name, line, e, where)
	w.Busy += took
	if p.by == ByOp || e != Fetch && e != Store {
		w.Count++
	}
	if p.by == ByOp {
		w.Max, w.Mean = max(w.Max, took), w.Busy/simtime.Time(w.Count)
	}
}

// onPath adds a part of the critical path.
func (p *profile) onPath(s Segment) {
	name, where := s.Name, s.Where
	if s.Count == 0 || s.engine == NoEngine {
		name = s.Kind
	}
	if s.Count == 0 {
		where = ""
	}
	p.row(name, s.Line, s.engine, where).Path += s.For
}
