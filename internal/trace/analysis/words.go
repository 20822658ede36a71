package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/sim"
)

// ender is who ends a wait.
type ender int

const (
	othersEnd  ender = iota // other PEs
	enginesEnd              // those of the PE
	hostEnds                // or a control core
)

// waitWords says what a CPU waits for.
var waitWords = map[string]struct {
	things string
	ender  ender
}{
	"message":   {"messages", othersEnd},
	"credit":    {"credits", othersEnd},
	"signal":    {"signals", othersEnd},
	"select":    {"messages or credits", othersEnd},
	"TCM":       {"room in its TCM", enginesEnd},
	"composite": {"its composites", enginesEnd},
	"value":     {"values of its tiles", enginesEnd},
	"end":       {"the end of what it had begun", enginesEnd},
	"task":      {"tasks", hostEnds},
}

// words is what there is to say of it.
func (s *Slowest) words() string {
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

// mostly is what the CPU did most, and for whom or beside what.
func (s *Slowest) mostly() string {
	most := s.CPU[0]
	wait, waited := strings.CutPrefix(most.What, waitPrefix)
	if !waited {
		return fmt.Sprintf("%.0f%% of its time its CPU was at work", 100*most.Share)
	}
	text := fmt.Sprintf("%.0f%% of its time its CPU waited for %s", 100*most.Share, things(wait))
	switch waitWords[wait].ender {
	case othersEnd:
		if i := slices.IndexFunc(s.From, func(f Source) bool { return f.Wait == wait }); i >= 0 && s.From[i].PE != s.PE {
			text += ", longest for those from " + s.From[i].PE
		}
	case enginesEnd:
		if len(s.Engines) > 0 {
			e := s.Engines[0]
			text += fmt.Sprintf(", and its busiest engine, %s, was at work for %.0f%%", e.What, 100*e.Share)
		}
	}
	return text
}

// excess is what the CPU spent more time on than that of the median PE, or with the other sign
// less, and how much: the most there is.
func (s *Slowest) excess(sign sim.Time) (what string, more sim.Time) {
	for _, c := range s.CPU {
		if d := sign * (c.Time - c.Median); d > more {
			what, more = c.What, d
		}
	}
	return what, more
}

func gerund(what string) string {
	if wait, ok := strings.CutPrefix(what, waitPrefix); ok {
		return "waiting for " + things(wait)
	}
	return "CPU work"
}

func things(wait string) string {
	if w, ok := waitWords[wait]; ok {
		return w.things
	}
	return wait
}
