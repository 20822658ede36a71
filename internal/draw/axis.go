package draw

import (
	"cmp"
	"fmt"
	"math"
)

// Axis is a scale of numbers. What is zero is chosen to suit the data.
type Axis struct {
	Label    string // what the numbers are: "time"
	Unit     string // of all numbers, if Format does not write one: "µs"
	Log      bool
	Min, Max float64
	Ticks    []float64
	Format   func(float64) string // of tick labels, such as [Bytes] or [SI]
}

// text returns the label with its unit: "time (µs)".
func (a Axis) text() string {
	if a.Unit == "" || a.Label == "" {
		return a.Label + a.Unit
	}
	return a.Label + " (" + a.Unit + ")"
}

// tip returns a line of a tooltip: what the number is, and the number with its unit.
func (a Axis) tip(name string, v float64) string {
	return cmp.Or(a.Label, name) + ": " + withUnit(a.Format, v, a.Unit)
}

// withUnit returns a number and its unit as tooltips show them, with more digits than labels.
func withUnit(format func(float64) string, v float64, unit string) string {
	text := digits(v, 6)
	if format != nil {
		text = format(v)
	}
	if unit == "" {
		return text
	}
	return text + " " + unit
}

// check returns an error that names the first value that the axis has no place for.
func (a Axis) check(name string, values []float64) error {
	for i, v := range values {
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
			return fmt.Errorf("%s, point %d: %v is no number to draw", name, i+1, v)
		case a.Log && v <= 0:
			return fmt.Errorf("%s, point %d: %v has no place on a logarithmic axis; leave it out or draw a linear one", name, i+1, v)
		}
	}
	if a.Log && (a.Min < 0 || a.Max < 0) {
		return fmt.Errorf("%s: a logarithmic axis from %v to %v; both ends have to be above zero", name, a.Min, a.Max)
	}
	return nil
}

// checkSpan returns an error if the ends of an axis leave nothing between them, such as a
// given start above all values.
func checkSpan(axis string, lo, hi float64) error {
	if lo < hi && !math.IsInf(hi-lo, 0) {
		return nil
	}
	if lo < hi {
		return fmt.Errorf("%s axis from %v to %v: the ends are too far apart to draw", axis, lo, hi)
	}
	return fmt.Errorf("%s axis from %v to %v: the end has to be above the start", axis, lo, hi)
}

// span returns the ends of the axis, whole steps of its ticks unless its ends are given.
// Linear axes begin at 0 if the values are far from each other, or always with fromZero.
func (a Axis) span(values []float64, fromZero bool) (lo, hi float64) {
	lo, hi = bounds(values)
	switch {
	case a.Log && lo == hi:
		lo, hi = lo/2, hi*2
	case a.Log && !doubling(values):
		lo, hi = roundDown(lo), roundUp(hi)
	case a.Log:
	case lo > 0 && (fromZero || lo < hi/10):
		lo = 0
	case hi < 0 && (fromZero || hi > lo/10):
		hi = 0
	}
	if !a.Log && hi-lo <= 1e-12*max(hi, -lo) { // too near each other for ticks between them
		lo, hi = min(lo, 0), max(hi, 0)
	}
	if lo == hi {
		hi = 1
	}
	if a.Min != 0 {
		lo = a.Min
	}
	if a.Max != 0 {
		hi = a.Max
	}
	if !a.Log && checkSpan("", lo, hi) == nil {
		step := niceStep(lo, hi, mostSteps)
		if a.Min == 0 {
			lo = math.Floor(lo/step+1e-9) * step
		}
		if a.Max == 0 {
			hi = math.Ceil(hi/step-1e-9) * step
		}
	}
	return lo, hi
}

// bounds returns the least and the greatest of values.
func bounds(values []float64) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		lo, hi = min(lo, v), max(hi, v)
	}
	return lo, hi
}

// scale maps the values of an axis to places, from being that of lo and to that of hi.
type scale struct {
	lo, hi   float64
	log      bool
	skip     [2]float64 // that the axis leaves out, if any
	from, to float64
}

// breakGap is the room that the part left out takes.
const breakGap = 18.0

func (s scale) broken() bool { return s.skip != [2]float64{} }

// at returns the place of a value.
func (s scale) at(v float64) float64 {
	switch {
	case s.broken():
		return s.atBroken(v)
	case s.log:
		return s.between((math.Log(v) - math.Log(s.lo)) / (math.Log(s.hi) - math.Log(s.lo)))
	}
	return s.between((v - s.lo) / (s.hi - s.lo))
}

func (s scale) between(share float64) float64 { return s.from + (s.to-s.from)*share }

// atBroken returns the place of a value on a broken axis. The scale is the same below and
// above the break, unless a side would be too small to see.
func (s scale) atBroken(v float64) float64 {
	below, above := s.skip[0]-s.lo, s.hi-s.skip[1]
	space := breakGap / math.Abs(s.to-s.from)
	edge := (1 - space) * min(max(below/(below+above), 0.2), 0.8)
	switch {
	case v <= s.skip[0]:
		return s.between(edge * (v - s.lo) / below)
	case v >= s.skip[1]:
		return s.between(edge + space + (1-edge-space)*(v-s.skip[1])/above)
	}
	return s.between(edge + space*(v-s.skip[0])/(s.skip[1]-s.skip[0]))
}
