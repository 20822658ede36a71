package chart

import (
	"fmt"
	"math"

	"gonum.org/v1/plot/vg"
)

// Axis is a scale of numbers. What is zero is chosen to suit the data.
type Axis struct {
	Label    string // with the unit
	Log      bool
	Min, Max float64
	Ticks    []float64
	Format   func(float64) string // of tick labels, such as [Bytes] or [SI]
}

// check finds a value that the axis has no place for.
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

// checkSpan finds ends that leave nothing between them, such as a given start above all
// values.
func checkSpan(axis string, lo, hi float64) error {
	if lo < hi {
		return nil
	}
	return fmt.Errorf("%s axis from %v to %v: the end has to be above the start", axis, lo, hi)
}

// span is the axis from end to end, whole steps of its ticks unless its ends are given.
// Linear axes begin at 0 if the values are far from each other, or always.
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
	if lo == hi { // of a linear axis
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
	if !a.Log && lo < hi {
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

func bounds(values []float64) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		lo, hi = min(lo, v), max(hi, v)
	}
	return lo, hi
}

// scale is where the values of an axis lie on the slide.
type scale struct {
	lo, hi   float64
	log      bool
	skip     [2]float64 // that the axis leaves out, if any
	from, to vg.Length
}

// breakGap is the room that the part left out takes.
const breakGap vg.Length = 18

func (s scale) broken() bool { return s.skip != [2]float64{} }

// at is the place of a value.
func (s scale) at(v float64) vg.Length {
	if s.broken() {
		return s.atBroken(v)
	}
	if s.log {
		return s.between(math.Log(v/s.lo) / math.Log(s.hi/s.lo))
	}
	return s.between((v - s.lo) / (s.hi - s.lo))
}

func (s scale) between(share float64) vg.Length { return s.from + (s.to-s.from)*vg.Length(share) }

// atBroken has the same scale below and above the break, unless a side would be
// too small to see.
func (s scale) atBroken(v float64) vg.Length {
	below, above := s.skip[0]-s.lo, s.hi-s.skip[1]
	share := vg.Length(min(max(below/(below+above), 0.2), 0.8))
	edge := s.from + (s.to-s.from-breakGap)*share
	switch {
	case v <= s.skip[0]:
		return s.from + (edge-s.from)*vg.Length((v-s.lo)/below)
	case v >= s.skip[1]:
		return edge + breakGap + (s.to-edge-breakGap)*vg.Length((v-s.skip[1])/above)
	}
	return edge + breakGap*vg.Length((v-s.skip[0])/(s.skip[1]-s.skip[0]))
}
