package tl

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/sim"
)

// Printf shows a line of text to the user, after the PE and its time:
//
//	[sip0.cube0.pe3 1.25µs] row 7
//
// A tile prints as its shape and dtype. Its elements are Values.
func (t *PE) Printf(format string, args ...any) {
	text := strings.TrimSuffix(fmt.Sprintf(format, args...), "\n")
	t.m.Print("[" + t.place.Name + " " + timeText(t.m.Now()) + "] " + text)
}

// Assert stops the launch unless cond holds, for the reason that the text gives.
func (t *PE) Assert(cond bool, format string, args ...any) {
	if !cond {
		panic(t.fail("Assert", "", fmt.Errorf(format, args...)))
	}
}

// timeText is a time to the last digit in the unit that suits it.
func timeText(at sim.Time) string {
	if at < sim.Microsecond {
		return at.String()
	}
	return strconv.FormatFloat(float64(at)/float64(sim.Microsecond), 'f', -1, 64) + "µs"
}
