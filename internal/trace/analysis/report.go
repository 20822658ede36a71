package analysis

import (
	"cmp"
	"fmt"
	"slices"
)

// Report is what there is to tell of a trace.
type Report struct {
	About    About       `json:"trace"`
	Events   int         `json:"events"`
	Launches int         `json:"launches"`
	Longest  []Launch    `json:"longest"` // launches
	Launch   *Launch     `json:"launch"`  // the one that the rest is about; null if there is none
	Path     *Path       `json:"path"`
	Slowest  *Slowest    `json:"slowest"`
	Engines  []EngineUse `json:"engines"`
	Links    Links       `json:"links"` // in the launch, or without one in the whole trace
}

// Longest asks for the launch that took longest, the first of several.
const Longest = -1

// Analyse tells of one launch, by its number, or of the longest. Lists of launches, of
// links and of those waited for have at most top entries.
func (t *Trace) Analyse(launch int64, top int) (*Report, error) {
	r := &Report{About: t.About, Events: t.Events, Launches: len(t.launches)}
	l, err := t.pick(launch)
	if err != nil {
		return nil, err
	}
	r.Longest = slices.Clone(t.launches)
	slices.SortStableFunc(r.Longest, func(a, b Launch) int { return cmp.Compare(b.Critical, a.Critical) })
	r.Longest = r.Longest[:min(top, len(r.Longest))]
	if l == nil {
		r.Links = t.Links(t.From, t.To+1, top) // with what begins at the end
		return r, nil
	}
	r.Launch, r.Links = l, t.Links(l.Start, l.End(), top)
	if r.Path, err = t.CriticalPath(*l); err != nil {
		return nil, err
	}
	all := t.members(*l)
	r.Engines, r.Slowest = t.engineUse(*l, all), t.slowest(*l, all)
	if r.Slowest != nil {
		r.Slowest.From = r.Slowest.From[:min(top, len(r.Slowest.From))]
	}
	return r, nil
}

// pick is a launch by number, or the longest, or nil if there is none.
func (t *Trace) pick(launch int64) (*Launch, error) {
	switch n := len(t.launches); {
	case n == 0 && launch == Longest:
		return nil, nil
	case n == 0:
		return nil, fmt.Errorf("no launch %d: the trace has none", launch)
	case launch == Longest:
		longest := slices.MaxFunc(t.launches, func(a, b Launch) int { return cmp.Compare(a.Critical, b.Critical) })
		return &longest, nil
	}
	i := slices.IndexFunc(t.launches, func(l Launch) bool { return l.Number == launch })
	if i < 0 {
		return nil, fmt.Errorf("no launch %d: the trace has %d to %d", launch, t.launches[0].Number, t.launches[len(t.launches)-1].Number)
	}
	return &t.launches[i], nil
}
