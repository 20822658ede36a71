package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/simtime"
)

// waitSource is the part of the machine that ends a kind of wait.
type waitSource int

const (
	peers      waitSource = iota // other PEs
	ownEngines                   // engines of the same PE
	host                         // the host or a control core
)

// waitWords has the description and the source of each kind of wait.
var waitWords = map[string]struct {
	things string
	source waitSource
}{
	"message":   {"messages", peers},
	"credit":    {"credits", peers},
	"signal":    {"signals", peers},
	"select":    {"messages or credits", peers},
	"TCM":       {"room in its TCM", ownEngines},
	"composite": {"its composites", ownEngines},
	"value":     {"values of its tiles", ownEngines},
	"end":       {"the end of what it had begun", ownEngines},
	"task":      {"tasks", host},
}

// summary returns the comparison of the slowest PE with the median PE in words.
func (s *Slowest) summary() string {
	var text string
	late := s.Took - s.MedianTook
	switch {
	case s.Of == 1:
		text = fmt.Sprintf("%s ran alone, for %s", s.PE, s.Took.Rounded())
	case late == 0:
		text = fmt.Sprintf("%s ended last of %d PEs, no later than the median", s.PE, s.Of)
	default:
		text = fmt.Sprintf("%s ended last of %d PEs, %s after the median", s.PE, s.Of, late.Rounded())
	}
	if len(s.CPU) > 0 {
		text += "; " + s.mostly()
	}
	if what, more := s.excess(1); late > 0 && more > 0 {
		text += fmt.Sprintf(". The median PE, %s, spent %s less on %s", s.Median, more.Rounded(), gerund(what))
		if what, less := s.excess(-1); less > late {
			text += fmt.Sprintf(", and %s more on %s", less.Rounded(), gerund(what))
		}
	}
	return text
}

// mostly describes what took most of the CPU's time: running, or a wait. For a wait it adds
// the PE that was waited for longest, or the busiest engine.
func (s *Slowest) mostly() string {
	most := s.CPU[0]
	wait, waited := strings.CutPrefix(most.What, waitPrefix)
	if !waited {
		return fmt.Sprintf("%.0f%% of its time its CPU was at work", 100*most.Share)
	}
	text := fmt.Sprintf("%.0f%% of its time its CPU waited for %s", 100*most.Share, things(wait))
	switch waitWords[wait].source {
	case peers:
		if i := slices.IndexFunc(s.From, func(f Source) bool { return f.Wait == wait }); i >= 0 && s.From[i].PE != s.PE {
			text += ", longest for those from " + s.From[i].PE
		}
	case ownEngines:
		if len(s.Engines) > 0 {
			e := s.Engines[0]
			text += fmt.Sprintf(", and its busiest engine, %s, was at work for %.0f%%", e.What, 100*e.Share)
		}
	}
	return text
}

// excess compares the times of runs and of each kind of wait on the slowest PE with those
// on the median PE. If `sign` is 1, it returns the run or kind of wait that takes longer on
// the slowest PE by the largest difference, and the difference. If `sign` is -1, it returns
// the one that takes less time there by the largest difference.
func (s *Slowest) excess(sign simtime.Time) (what string, more simtime.Time) {
	for _, c := range s.CPU {
		if d := sign * (c.Time - c.Median); d > more {
			what, more = c.What, d
		}
	}
	return what, more
}

// gerund returns a phrase for a part of the CPU's time: "waiting for messages" for a wait,
// or "CPU work".
func gerund(what string) string {
	if wait, ok := strings.CutPrefix(what, waitPrefix); ok {
		return "waiting for " + things(wait)
	}
	return "CPU work"
}

// things returns words for what a CPU waits for in the given kind of wait, such as
// "messages".
func things(wait string) string {
	if w, ok := waitWords[wait]; ok {
		return w.things
	}
	return wait
}

// Report is the analysis of a launch, or of the whole program.
type Report struct {
	About    About       `json:"trace"`
	Events   int         `json:"events"`
	Launches int         `json:"launches"`
	Longest  []Launch    `json:"longest"` // the longest launches
	Program  *Program    `json:"program"`
	Launch   *Launch     `json:"launch"` // the launch that the fields below describe; null for the program
	Path     *Path       `json:"path"`
	Slowest  *Slowest    `json:"slowest"` // the slowest PE of the launch
	Engines  []EngineUse `json:"engines"`
	Links    Links       `json:"links"` // in the launch, or in the whole trace
}

// Whole selects the whole program in place of a launch.
const Whole = -1

// Analyse reports on the launch with the given number, or on the whole program for [Whole].
// If the trace has no program, as in older versions, it reports on the longest launch
// instead of the program. The lists of launches, of links, and of PEs that the slowest PE
// waited for have at most `top` entries.
func (t *Trace) Analyse(launch int64, top int) (*Report, error) {
	r := &Report{About: t.About, Events: t.Events, Launches: len(t.launches), Program: t.Program}
	l, err := t.pick(launch)
	if err != nil {
		return nil, err
	}
	r.Longest = slices.Clone(t.launches)
	slices.SortStableFunc(r.Longest, func(a, b Launch) int { return cmp.Compare(b.Critical, a.Critical) })
	r.Longest = r.Longest[:min(top, len(r.Longest))]
	if l == nil {
		r.Links = t.Links(t.From, t.To+1, top) // +1 includes trains that begin at the end
		if t.Program != nil {
			r.Engines = t.engineUse(t.Program.Makespan, t.pes())
			r.Path, err = t.ProgramPath()
		}
		return r, err
	}
	r.Launch, r.Links = l, t.Links(l.Start, l.End(), top)
	if r.Path, err = t.CriticalPath(*l); err != nil {
		return nil, err
	}
	all := t.members(*l)
	r.Engines, r.Slowest = t.engineUse(l.Critical, all), t.slowest(*l, all)
	if r.Slowest != nil {
		r.Slowest.From = r.Slowest.From[:min(top, len(r.Slowest.From))]
	}
	return r, nil
}

// pick returns the launch with the given number, or nil for the whole program. If the trace
// has launches and no program, it returns the longest launch instead of the program. It
// returns an error if there is no launch with the number.
func (t *Trace) pick(launch int64) (*Launch, error) {
	switch n := len(t.launches); {
	case launch == Whole && (n == 0 || t.Program != nil):
		return nil, nil
	case n == 0:
		return nil, fmt.Errorf("no launch %d: the trace has none", launch)
	case launch == Whole:
		longest := slices.MaxFunc(t.launches, func(a, b Launch) int { return cmp.Compare(a.Critical, b.Critical) })
		return &longest, nil
	}
	i := t.launch(launch)
	if i < 0 {
		return nil, fmt.Errorf("no launch %d: the trace has %d to %d", launch, t.launches[0].Number, t.launches[len(t.launches)-1].Number)
	}
	return &t.launches[i], nil
}
