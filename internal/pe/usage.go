package pe

import (
	"slices"

	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/sim"
)

// Usage is when parts of a PE were at work. Those that do the work note it, if
// somebody wants to know.
type Usage struct {
	Compute Spans    // commands, from the fetch of their operands to the store of their results
	DMA     [2]Spans // requests under way, by class
	Waits   Spans    // the CPU for messages, signals or room for messages
}

// Span is some time, from Start to End.
type Span struct{ Start, End sim.Time }

// Spans is times that do not touch, in order.
type Spans []Span

// Add takes in a span, which begins near the end of the others: a result may be stored
// long after the command behind it has begun.
func (s *Spans) Add(start, end sim.Time) {
	if end <= start {
		return
	}
	from := len(*s)
	for from > 0 && (*s)[from-1].End >= start {
		from--
	}
	to := from
	for ; to < len(*s) && (*s)[to].Start <= end; to++ {
		start, end = min(start, (*s)[to].Start), max(end, (*s)[to].End)
	}
	*s = slices.Replace(*s, from, to, Span{start, end})
}

// Union is the time that is in either.
func (s Spans) Union(other Spans) (all Spans) {
	for len(s)+len(other) > 0 {
		if len(s) == 0 || len(other) > 0 && other[0].Start < s[0].Start {
			s, other = other, s
		}
		all.Add(s[0].Start, s[0].End)
		s = s[1:]
	}
	return all
}

// Common is the time that is in both.
func (s Spans) Common(other Spans) (both Spans) {
	for len(s) > 0 && len(other) > 0 {
		both.Add(max(s[0].Start, other[0].Start), min(s[0].End, other[0].End))
		if s[0].End < other[0].End {
			s = s[1:]
		} else {
			other = other[1:]
		}
	}
	return both
}

// Total is how long it is together.
func (s Spans) Total() (sum sim.Time) {
	for _, span := range s {
		sum += span.End - span.Start
	}
	return sum
}

// inUse counts the requests of a class that are under way, for Usage.
type inUse struct {
	requests [2]int
	since    [2]sim.Time
}

func (u *inUse) begin(class fabric.Class, now sim.Time) {
	if u.requests[class] == 0 {
		u.since[class] = now
	}
	u.requests[class]++
}

func (u *inUse) end(class fabric.Class, now sim.Time, to *Usage) {
	u.requests[class]--
	if u.requests[class] == 0 && to != nil {
		to.DMA[class].Add(u.since[class], now)
	}
}
