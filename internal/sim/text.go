package sim

// timeUnit is a unit that people read times in.
type timeUnit struct {
	name string
	size Time
}

var timeUnits = []timeUnit{
	{"s", Second}, {"ms", Millisecond}, {"µs", Microsecond}, {"ns", Nanosecond}, {"ps", Picosecond}, {"fs", Femtosecond},
}

// Unit returns the largest unit that a time has one of, and its name: "µs". For 0 the unit
// is the nanosecond.
func (t Time) Unit() (size Time, name string) {
	for _, u := range timeUnits {
		if t >= u.size {
			return u.size, u.name
		}
	}
	return Nanosecond, "ns"
}

// Text returns the time to the last digit in the unit that suits it: "12.5 µs".
func (t Time) Text() string {
	size, name := t.Unit()
	return string(t.AppendIn(nil, size)) + " " + name
}

// Rounded returns the time to four digits, in the unit that suits it: "257.6 µs".
func (t Time) Rounded() string {
	step := Femtosecond
	for t/step > 9999 {
		step *= 10
	}
	up := t % step * 2 / step // 1 from half a step on
	return ((t/step + up) * step).Text()
}
