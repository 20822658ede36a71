package sim

// Unit is a unit that times are shown in.
type Unit struct {
	Name string
	Size Time
}

var units = []Unit{
	{"s", Second}, {"ms", Millisecond}, {"µs", Microsecond}, {"ns", Nanosecond}, {"ps", Picosecond}, {"fs", Femtosecond},
}

// Unit returns the largest unit that fits in the time, and ns for 0.
func (t Time) Unit() Unit {
	for _, u := range units {
		if t >= u.Size {
			return u
		}
	}
	return Unit{"ns", Nanosecond}
}

// Number returns the time as an exact decimal number of units.
func (u Unit) Number(t Time) string { return string(t.AppendIn(nil, u.Size)) }

// Text returns the time, exact to the last digit, in the unit that [Time.Unit] picks: "12.5 µs".
func (t Time) Text() string {
	u := t.Unit()
	return u.Number(t) + " " + u.Name
}

// Rounded returns the time as [Time.Text] does, rounded to four digits: "257.6 µs".
func (t Time) Rounded() string {
	step := Femtosecond
	for t/step > 9999 {
		step *= 10
	}
	up := t % step * 2 / step // 1 from half a step on
	return ((t/step + up) * step).Text()
}
