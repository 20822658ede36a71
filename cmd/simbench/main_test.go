//go:build unix

package main

import (
	"strings"
	"testing"
)

// TestParseMetrics checks that the metrics of the first benchmark are read by unit.
func TestParseMetrics(t *testing.T) {
	const out = `goos: linux
BenchmarkQueueMessages/256-2         	       9	        52.5 msgs/1000-bare-events	    900000 msgs/cpu-s
BenchmarkQueueMessages/16384-2       	       3	         7.0 msgs/1000-bare-events
PASS
`
	got := parseMetrics(out)
	if len(got) != 2 || got[perEvents] != 52.5 || got["msgs/cpu-s"] != 900000 {
		t.Errorf("metrics %v, want 52.5 %s and 900000 msgs/cpu-s", got, perEvents)
	}
	if got := parseMetrics("PASS\n"); got != nil {
		t.Errorf("metrics %v of no benchmark, want none", got)
	}
}

// TestLimits checks lower and upper limits, and their texts.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		limit
		v    float64
		want bool
		text string
	}{
		{limit{}, 7, true, ""},
		{limit{least: 50}, 50, true, ">= 50"},
		{limit{least: 50}, 49.9, false, ">= 50"},
		{limit{most: 2}, 2, true, "<= 2"},
		{limit{most: 2}, 2.1, false, "<= 2"},
	} {
		if got := c.holds(c.v); got != c.want || c.String() != c.text {
			t.Errorf("%+v: %v for %v and text %q, want %v and %q", c.limit, got, c.v, c.limit, c.want, c.text)
		}
	}
}

// TestRowsHaveDistinctNames checks that -run can select every row.
func TestRowsHaveDistinctNames(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range rows {
		if seen[r.name] || strings.TrimSpace(r.name) == "" {
			t.Errorf("two rows are named %q", r.name)
		}
		seen[r.name] = true
	}
}
