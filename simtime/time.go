package simtime

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// Time is simulated time in femtoseconds: an instant since the start of the run, or a
// duration. The range of an int64 is two and a half hours.
type Time int64

// The units of time. Femtosecond is the resolution of the clock.
const (
	Femtosecond Time = 1
	Picosecond       = 1000 * Femtosecond
	Nanosecond       = 1000 * Picosecond
	Microsecond      = 1000 * Nanosecond
	Millisecond      = 1000 * Microsecond
	Second           = 1000 * Millisecond
)

// Never is later than every event. It is the limit of a run without a limit.
const Never Time = 1<<63 - 1

// NS returns the time in nanoseconds, exact up to 2^53 fs (9 s).
func (t Time) NS() float64 { return float64(t) / float64(Nanosecond) }

// String formats the time in nanoseconds, exact to the last digit: "12.5ns".
func (t Time) String() string { return string(t.AppendIn(nil, Nanosecond)) + "ns" }

// MarshalJSON writes the time as an exact decimal number of nanoseconds.
func (t Time) MarshalJSON() ([]byte, error) { return t.AppendIn(nil, Nanosecond), nil }

// UnmarshalJSON parses the output of MarshalJSON.
func (t *Time) UnmarshalJSON(text []byte) (err error) {
	*t, err = ParseTime(string(text), Nanosecond)
	return err
}

// AppendIn appends the time to b as an exact decimal number of units. The number of
// femtoseconds in a unit must be a power of ten.
func (t Time) AppendIn(b []byte, unit Time) []byte {
	u, scale := uint64(t), uint64(unit)
	if t < 0 {
		b = append(b, '-')
		u = -u
	}
	b = strconv.AppendUint(b, u/scale, 10)
	frac := u % scale
	if frac == 0 {
		return b
	}
	b = append(b, '.')
	for scale /= 10; frac != 0; scale /= 10 {
		b = append(b, byte('0'+frac/scale))
		frac %= scale
	}
	return b
}

// ParseTime parses the output of AppendIn: a decimal number of units that is a whole
// number of femtoseconds.
func ParseTime(text string, unit Time) (Time, error) {
	whole, fraction, _ := strings.Cut(text, ".")
	digits := 0 // the largest number of digits after the decimal point
	for u := unit; u > 1; u /= 10 {
		digits++
	}
	if whole == "" {
		return 0, fmt.Errorf("%q is no time: write a decimal number", text)
	}
	if len(fraction) > digits {
		return 0, fmt.Errorf("%s is not a whole number of femtoseconds", text)
	}
	fs, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", digits-len(fraction)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no time: write a decimal number", text)
	}
	return Time(fs), nil
}

// MulDiv returns a·b/c femtoseconds, rounded to nearest. The product has 128 bits, so that
// the serialization time of any message on any link is exact to the femtosecond. A result
// above Never becomes Never.
func MulDiv(a, b, c uint64) Time {
	hi, lo := bits.Mul64(a, b)
	lo, carry := bits.Add64(lo, c/2, 0)
	hi += carry
	if hi >= c {
		return Never
	}
	q, _ := bits.Div64(hi, lo, c)
	return Time(min(q, uint64(Never)))
}

// Unit is a unit in which times are printed.
type Unit struct {
	Name string
	Size Time
}

var units = []Unit{
	{"s", Second}, {"ms", Millisecond}, {"µs", Microsecond}, {"ns", Nanosecond}, {"ps", Picosecond}, {"fs", Femtosecond},
}

// Unit returns the largest unit that is not longer than the time, or ns for 0.
func (t Time) Unit() Unit {
	for _, u := range units {
		if t >= u.Size {
			return u
		}
	}
	return Unit{"ns", Nanosecond}
}

// Number formats the time as an exact decimal number of units.
func (u Unit) Number(t Time) string { return string(t.AppendIn(nil, u.Size)) }

// Text formats the time in the unit of [Time.Unit], exact to the last digit: "12.5 µs".
func (t Time) Text() string {
	u := t.Unit()
	return u.Number(t) + " " + u.Name
}

// Rounded formats the time in the unit of [Time.Unit], rounded to four digits: "257.6 µs".
func (t Time) Rounded() string {
	step := Femtosecond
	for t/step > 9999 {
		step *= 10
	}
	up := t % step * 2 / step // 1 if the remainder is at least half a step
	return ((t/step + up) * step).Text()
}
