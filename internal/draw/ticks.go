package draw

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/lists"
)

// tick is a mark on an axis.
type tick struct {
	at    float64
	major bool // labelled, if there is space
	label string
}

const (
	maxSteps       = 8  // maximum number of steps of a linear axis
	maxPowersOfTwo = 16 // maximum number of labels of a logarithmic axis with base two
)

// ticks returns the marks of an axis from lo to hi, with at most `limit` steps between the
// first and the last labelled mark. If most values are powers of two, a logarithmic axis
// has base two.
func (a Axis) ticks(lo, hi float64, values []float64, limit int) []tick {
	var ts []tick
	switch {
	case a.Log && doubling(values):
		ts = powerOfTwoTicks(lo, hi, min(limit, maxPowersOfTwo))
	case a.Log:
		ts = decadeTicks(lo, hi, limit)
	default:
		ts = evenTicks(lo, hi, min(limit, maxSteps))
	}
	a.label(ts, a.Log && doubling(values))
	return ts
}

// label sets the labels of major ticks. If the default format would round a number, or if a
// format writes two different numbers as the same text, all labels have up to 12 digits.
func (a Axis) label(ts []tick, binary bool) {
	format, exact := a.Format, true
	switch {
	case format != nil:
	case binary:
		format = Binary
	default:
		format = SI
	}
	seen := map[string]bool{}
	for i, t := range ts {
		if t.major {
			ts[i].label = format(t.at)
			exact = exact && !seen[ts[i].label] && (a.Format != nil || formatDigits(t.at, 4) == formatDigits(t.at, 12))
			seen[ts[i].label] = true
		}
	}
	for i, t := range ts {
		if t.major && !exact {
			ts[i].label = formatDigits(t.at, 12)
		}
	}
}

// doubling reports whether values are sizes that double, which means that most distinct
// values are powers of two.
func doubling(values []float64) bool {
	distinct := slices.Compact(slices.Sorted(slices.Values(values)))
	powers := 0
	for _, v := range distinct {
		if fraction, _ := math.Frexp(v); fraction == 0.5 {
			powers++
		}
	}
	return len(distinct) > 1 && 2*powers > len(distinct)
}

// powerOfTwoTicks returns a tick for each power of two from lo to hi. It labels every power
// if there are at most `limit` powers, and otherwise every n-th power, counted from 2⁰.
func powerOfTwoTicks(lo, hi float64, limit int) []tick {
	first, last := int(math.Ceil(math.Log2(lo)-1e-9)), int(math.Floor(math.Log2(hi)+1e-9))
	every := (last-first)/limit + 1
	return lists.Make(max(0, last-first+1), func(i int) tick { return tick{at: math.Ldexp(1, first+i), major: (first+i)%every == 0} })
}

// decadeTicks returns ticks at 1 to 9 times powers of ten. It labels the powers. If there
// are fewer than three powers, it also labels 2 and 5 times each power. If there are too
// many powers, it returns and labels only every n-th power.
func decadeTicks(lo, hi float64, limit int) []tick {
	first, last := int(math.Floor(math.Log10(lo)+1e-9)), int(math.Ceil(math.Log10(hi)-1e-9))
	powers := math.Floor(math.Log10(hi)+1e-9) - math.Ceil(math.Log10(lo)-1e-9) + 1
	few := powers < 3
	every := (last-first)/limit + 1
	var ts []tick
	for e := first; e <= last; e++ {
		for m := 1; m <= 9; m++ {
			t := tick{at: float64(m) * math.Pow10(e), major: m == 1 && e%every == 0 || few && (m == 2 || m == 5)}
			if t.at >= lo*(1-1e-9) && t.at <= hi*(1+1e-9) && (every == 1 || t.major) {
				ts = append(ts, t)
			}
		}
	}
	return ts
}

// evenTicks returns ticks at the multiples of a round step, from lo to hi.
func evenTicks(lo, hi float64, limit int) []tick {
	var ts []tick
	step := niceStep(lo, hi, limit)
	first := math.Ceil(lo/step - 1e-9)
	for i := 0.0; first+i <= hi/step+1e-9 && i < 100; i++ { // with large numbers, first+i may equal first
		ts = append(ts, tick{at: (first + i) * step, major: true})
	}
	return ts
}

// niceStep returns the smallest round step that divides the range from lo to hi into at
// most `limit` parts. A round step is 1, 2, 2.5 or 5 times a power of ten.
func niceStep(lo, hi float64, limit int) float64 {
	width := hi - lo
	for e := max(int(math.Floor(math.Log10(width/float64(limit)))), -323) - 1; ; e++ {
		for _, m := range []float64{1, 2, 2.5, 5} {
			if step := m * math.Pow10(e); width/step <= float64(limit)+1e-9 {
				return step
			}
		}
	}
}

// roundOut rounds lo down and hi up to numbers that are 1, 2 or 5 times a power of ten.
func roundOut(lo, hi float64) (below, above float64) {
	power := func(v float64) float64 { return math.Pow10(int(math.Floor(math.Log10(v) + 1e-9))) }
	below, above = power(lo), 10*power(hi)
	for _, m := range []float64{5, 2, 1} {
		if v := m * power(lo); v <= lo*(1+1e-9) {
			below = max(below, v)
		}
		if v := m * power(hi); v >= hi*(1-1e-9) {
			above = v
		}
	}
	return below, above
}

// Binary formats a count with a binary prefix: "512", "4Ki", "1.5Mi".
func Binary(v float64) string {
	return formatScaled(v, []prefix{{1 << 40, "Ti"}, {1 << 30, "Gi"}, {1 << 20, "Mi"}, {1 << 10, "Ki"}, {1, ""}})
}

// SI formats a number with an SI prefix: "512", "4k", "1.5M". Numbers from 0.001 to 1 have
// no prefix.
func SI(v float64) string {
	if math.Abs(v) >= 0.001 && math.Abs(v) < 1 {
		return formatDigits(v, 4)
	}
	return formatScaled(v, []prefix{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}, {1e-3, "m"}, {1e-6, "µ"}, {1e-9, "n"}, {1e-12, "p"}})
}

// prefix is the name of a multiple of a unit.
type prefix struct {
	size float64
	name string
}

// formatScaled formats a number with four digits and the largest prefix that does not
// exceed it. If the number is smaller than all prefixes, it uses the last prefix.
func formatScaled(v float64, prefixes []prefix) string {
	if v == 0 {
		return "0"
	}
	i := slices.IndexFunc(prefixes, func(p prefix) bool { return math.Abs(v) >= p.size*(1-1e-9) })
	if i < 0 {
		i = len(prefixes) - 1
	}
	return formatDigits(v/prefixes[i].size, 4) + prefixes[i].name
}

// formatDigits formats a number rounded to n significant digits, without an exponent and
// without zeros at the end of the fraction. It does not round digits before the point.
func formatDigits(v float64, n int) string {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	places := max(0, n-1-int(math.Floor(math.Log10(math.Abs(v)))))
	text := strconv.FormatFloat(v, 'f', places, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// valueText formats a value, rounded to three digits, for a bar or a cell. If the function
// `format` is nil, it uses SI.
func valueText(format func(float64) string, v float64) string {
	if format == nil {
		format = SI
	}
	return format(threeDigits(v))
}

// threeDigits rounds a number to three digits, for the labels of bars and cells.
func threeDigits(v float64) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 2, 64), 64)
	if err != nil {
		panic(err) // strconv parses the numbers that it formats
	}
	return short
}
