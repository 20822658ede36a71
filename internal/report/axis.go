package report

import (
	"strconv"

	"github.com/kernbench/kernbench/internal/sim"
)

// timeUnit is a unit that people read times in.
type timeUnit struct {
	name   string
	size   sim.Time
	places int // of a femtosecond behind the point
}

var timeUnits = []timeUnit{
	{"s", sim.Second, 15},
	{"ms", sim.Millisecond, 12},
	{"µs", sim.Microsecond, 9},
	{"ns", sim.Nanosecond, 6},
	{"ps", sim.Picosecond, 3},
	{"fs", sim.Femtosecond, 0},
}

// unitOf is the largest unit that a time has one of; of none it is ns.
func unitOf(t sim.Time) timeUnit {
	for _, u := range timeUnits {
		if t >= u.size {
			return u
		}
	}
	return timeUnits[3]
}

// number is a time in the unit, to the last digit.
func (u timeUnit) number(t sim.Time) string {
	return string(decimal(strconv.FormatInt(int64(t), 10), u.places))
}

// TimeText is a time to the last digit in the unit that suits it: "12.5 µs".
func TimeText(t sim.Time) string {
	u := unitOf(t)
	return u.number(t) + " " + u.name
}

// Rounded is a time to four digits, in the unit that suits it: "257.6 µs".
func Rounded(t sim.Time) string {
	step := sim.Femtosecond
	for t/step > 9999 {
		step *= 10
	}
	up := t % step * 2 / step // 1 from half a step on
	return TimeText((t/step + up) * step)
}

// Tick is a mark on an axis of time.
type Tick struct {
	At   sim.Time
	Text string // a number of the axis's unit
}

// Ticks are marks from 0 to the end, in steps of 1, 2 or 5 times a power of ten, and
// the unit of their numbers. There are at most a number of steps, and with two or
// more allowed at least one.
func Ticks(end sim.Time, most int) (ticks []Tick, unit string) {
	u := unitOf(end)
	step := sim.Femtosecond
	for factor := 0; end/step > sim.Time(most); factor++ {
		if factor%3 == 1 {
			step = step / 2 * 5
		} else {
			step *= 2
		}
	}
	for n := range end/step + 1 {
		ticks = append(ticks, Tick{n * step, u.number(n * step)})
	}
	return ticks, u.name
}
