package draw

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Axis is a scale of numbers. Its ends and ticks are chosen from the data.
type Axis struct {
	Label  string // quantity, such as "time"
	Unit   string // unit of all numbers, such as "µs"; empty if Format writes the unit
	Log    bool
	Format func(float64) string // formats tick labels, such as [SI]; nil: a default format
}

// text returns the label with its unit: "time (µs)".
func (a Axis) text() string {
	if a.Unit == "" || a.Label == "" {
		return a.Label + a.Unit
	}
	return a.Label + " (" + a.Unit + ")"
}

// tooltip returns a line of a tooltip: the label of the axis, followed by v with its unit.
// If the axis has no label, the text `name` replaces it.
func (a Axis) tooltip(name string, v float64) string {
	return cmp.Or(a.Label, name) + ": " + withUnit(a.Format, v, a.Unit)
}

// withUnit formats a number and its unit for a tooltip. If the function `format` is nil,
// the number has up to six digits, which is more than a label has.
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

// check returns an error for the first value that the axis cannot show. In the error, the
// text `name` says which values these are, such as `x of series "ring"`.
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

// span returns the ends of the axis. On a linear axis they are multiples of the tick step.
// A linear axis of positive values starts at 0 if the smallest value is far below the
// largest, or always if fromZero is set. Likewise, a linear axis of negative values ends at
// 0.
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
	if !a.Log && hi-lo <= 1e-12*max(hi, -lo) { // too close together for distinct ticks
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

// scale maps a value of an axis to a coordinate. The value lo has the coordinate from, and
// hi has the coordinate to.
type scale struct {
	lo, hi   float64
	log      bool
	from, to float64
}

// check returns an error if hi - lo overflows a float64. `axis` is the name of the axis in
// the error.
func (s scale) check(axis string) error {
	if math.IsInf(s.hi-s.lo, 0) {
		return fmt.Errorf("%s axis from %v to %v: the ends are too far apart to draw", axis, s.lo, s.hi)
	}
	return nil
}

// at returns the coordinate of a value.
func (s scale) at(v float64) float64 {
	share := (v - s.lo) / (s.hi - s.lo)
	if s.log {
		share = (math.Log(v) - math.Log(s.lo)) / (math.Log(s.hi) - math.Log(s.lo))
	}
	return s.from + (s.to-s.from)*share
}
