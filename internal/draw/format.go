package draw

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Binary formats a count that doubles: "512", "4Ki", "1.5Mi".
func Binary(v float64) string {
	return scaled(v, []prefix{{1 << 40, "Ti"}, {1 << 30, "Gi"}, {1 << 20, "Mi"}, {1 << 10, "Ki"}, {1, ""}})
}

// SI formats a number with a prefix of thousands: "512", "4k", "1.5M". Prefixes of small
// numbers begin below 0.001.
func SI(v float64) string {
	if math.Abs(v) >= 0.001 && math.Abs(v) < 1 {
		return digits(v, 4)
	}
	return scaled(v, []prefix{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}, {1e-3, "m"}, {1e-6, "µ"}, {1e-9, "n"}, {1e-12, "p"}})
}

// prefix is the name of a multiple.
type prefix struct {
	size float64
	name string
}

// scaled formats a number with four digits and the largest prefix that is not above it.
func scaled(v float64, prefixes []prefix) string {
	if v == 0 {
		return "0"
	}
	i := slices.IndexFunc(prefixes, func(p prefix) bool { return math.Abs(v) >= p.size*(1-1e-9) })
	if i < 0 {
		i = len(prefixes) - 1
	}
	return digits(v/prefixes[i].size, 4) + prefixes[i].name
}

// digits formats a number rounded to n digits, without an exponent.
func digits(v float64, n int) string {
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

// valueText returns a value on a bar or in a cell.
func valueText(format func(float64) string, v float64) string {
	if format == nil {
		format = SI
	}
	return format(threeDigits(v))
}

// threeDigits returns a number rounded to three digits, for the labels of bars and cells.
func threeDigits(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return v
	}
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 2, 64), 64)
	if err != nil {
		panic(err) // a number that was written by strconv
	}
	return short
}
