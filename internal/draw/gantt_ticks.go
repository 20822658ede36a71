package draw

import "github.com/kernbench/kernbench/internal/sim"

// timeTick is a mark on an axis of time.
type timeTick struct {
	at   sim.Time
	text string // a number of the axis's unit
}

// timeTicks returns marks from 0 to the end, in steps of 1, 2 or 5 times a power of ten, and
// the unit of their numbers. It makes at most the given number of steps, and at least one if
// that is two or more.
func timeTicks(end sim.Time, most int) (ticks []timeTick, unit string) {
	u := end.Unit()
	step := sim.Femtosecond
	for factor := 0; end/step > sim.Time(most); factor++ {
		if factor%3 == 1 {
			step = step / 2 * 5
		} else {
			step *= 2
		}
	}
	for n := range end/step + 1 {
		ticks = append(ticks, timeTick{n * step, u.Number(n * step)})
	}
	return ticks, u.Name
}
