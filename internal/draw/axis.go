package draw

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Axis is a scale of numbers. Its ends and its ticks suit the data.
type Axis struct {
	Label  string // what the numbers are: "time"
	Unit   string // of all numbers, if Format does not write one: "µs"
	Log    bool
	Format func(float64) string // of tick labels, such as [SI]
}

// text returns the label with its unit: "time (µs)".
func (a Axis) text() string {
	if a.Unit == "" || a.Label == "" {
		return a.Label + a.Unit
	}
	return a.Label + " (" + a.Unit + ")"
}

// tooltip returns a line of a tooltip: what the number is, and the number with its unit.
func (a Axis) tooltip(name string, v float64) string {
	return cmp.Or(a.Label, name) + ": " + withUnit(a.Format, v, a.Unit)
}

// withUnit returns a number and its unit as tooltips show them, with more digits than labels.
func withUnit(format func(float64) string, v float64, unit string) string {
	text := formatDigits(v, 6)
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
	return nil
}

// span returns the ends of the axis, whole steps of its ticks. Linear axes begin at 0 if the
// values are far from each other, or always with fromZero.
func (a Axis) span(values []float64, fromZero bool) (lo, hi float64) {
	lo, hi = slices.Min(values), slices.Max(values)
	switch {
	case a.Log && lo == hi:
		lo, hi = lo/2, hi*2
	case a.Log && !doubling(values):
		lo, hi = roundOut(lo, hi)
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
	if !a.Log && !math.IsInf(hi-lo, 0) {
		step := niceStep(lo, hi, maxSteps)
		lo, hi = math.Floor(lo/step+1e-9)*step, math.Ceil(hi/step-1e-9)*step
	}
	return lo, hi
}

// scale maps the values of an axis to places, from being that of lo and to that of hi.
type scale struct {
	lo, hi   float64
	log      bool
	from, to float64
}

// check returns an error if the ends of the axis are further apart than numbers reach.
func (s scale) check(axis string) error {
	if math.IsInf(s.hi-s.lo, 0) {
		return fmt.Errorf("%s axis from %v to %v: the ends are too far apart to draw", axis, s.lo, s.hi)
	}
	return nil
}

// at returns the place of a value.
func (s scale) at(v float64) float64 {
	share := (v - s.lo) / (s.hi - s.lo)
	if s.log {
		share = (math.Log(v) - math.Log(s.lo)) / (math.Log(s.hi) - math.Log(s.lo))
	}
	return s.from + (s.to-s.from)*share
}
