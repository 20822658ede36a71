package draw

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/table"
)

// labelString returns the labels of ticks, separated by spaces, with a dot for a tick
// without a label.
func labelString(ts []tick) string {
	var words []string
	for _, t := range ts {
		if !t.major {
			words = append(words, ".")
			continue
		}
		words = append(words, t.label)
	}
	return strings.Join(words, " ")
}

// TestTicks checks the labels of axes for various values and limits.
func TestTicks(t *testing.T) {
	sizes := []float64{8, 32, 64, 128, 512, 1024, 2048, 4096, 8192, 16384, 32768, 49152}
	tests := []struct {
		name   string
		axis   Axis
		values []float64
		zero   bool
		most   int
		want   string
	}{
		{"from zero", Axis{}, []float64{10, 91}, true, 8, "0 20 40 60 80 100"},
		{"few ticks", Axis{}, []float64{10, 91}, true, 4, "0 25 50 75 100"},
		{"near values", Axis{}, []float64{101, 103}, false, 8, "101 101.25 101.5 101.75 102 102.25 102.5 102.75 103"},
		{"four digits are not enough", Axis{}, []float64{100_001, 100_003}, false, 4, "100001 100001.5 100002 100002.5 100003"},
		{"below zero", Axis{}, []float64{-3, 5}, true, 8, "-3 -2 -1 0 1 2 3 4 5"},
		{"all below zero", Axis{}, []float64{-30, -5}, true, 8, "-30 -25 -20 -15 -10 -5 0"},
		{"one value", Axis{}, []float64{7}, false, 8, "0 1 2 3 4 5 6 7"},
		{"only zeros", Axis{}, []float64{0, 0}, true, 5, "0 0.2 0.4 0.6 0.8 1"},
		{"sizes that double", Axis{Log: true}, sizes, false, 16, "8 16 32 64 128 256 512 1Ki 2Ki 4Ki 8Ki 16Ki 32Ki"},
		{"every second", Axis{Log: true, Format: table.Unit("B").Format}, sizes, false, 7, ". 16 B . 64 B . 256 B . 1 KiB . 4 KiB . 16 KiB ."},
		{"decades", Axis{Log: true, Format: table.Unit("ns").Format}, []float64{1200, 480_000}, true, 8,
			"1 µs . . . . . . . . 10 µs . . . . . . . . 100 µs . . . ."},
		{"few decades", Axis{Log: true}, []float64{3, 41}, true, 8, "2 . . 5 . . . . 10 20 . . 50"},
		{"many decades", Axis{Log: true}, []float64{1e-6, 1e9}, true, 8, "1µ 100µ 0.01 1 100 10k 1M 100M"},
		{"one size", Axis{Log: true}, []float64{64}, false, 8, ". 50 . . . . 100"},
	}
	for _, tt := range tests {
		lo, hi := tt.axis.span(tt.values, tt.zero)
		if got := labelString(tt.axis.ticks(lo, hi, tt.values, tt.most)); got != tt.want {
			t.Errorf("%s, from %v to %v: got %q, want %q", tt.name, lo, hi, got, tt.want)
		}
	}
}

// TestDoubling checks for which values doubling reports true.
func TestDoubling(t *testing.T) {
	tests := []struct {
		values []float64
		want   bool
	}{
		{[]float64{1, 2, 4, 8}, true},
		{[]float64{8, 8, 8, 12}, false},      // one of two distinct values
		{[]float64{128, 1024, 10_240}, true}, // two of three
		{[]float64{0.5, 0.25}, true},
		{[]float64{64}, false}, // a single value does not double
		{[]float64{1000, 10_000, 16}, false},
		{[]float64{3.5, 17.25, 4, 9}, false},  // a measurement may be a power of two by chance
		{[]float64{-4, 4, 16, 0, -16}, false}, // sizes are positive
	}
	for _, tt := range tests {
		if got := doubling(tt.values); got != tt.want {
			t.Errorf("doubling(%v): got %v, want %v", tt.values, got, tt.want)
		}
	}
}

// TestAxisHoldsValues checks for random values that the axis covers all values and has at
// least two ticks. The ticks must be on the axis, in ascending order. A linear axis must
// not have more labels than the limit allows.
func TestAxisHoldsValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := rapid.Bool().Draw(t, "log")
		least := -1e9
		if log {
			least = 1e-9
		}
		values := rapid.SliceOfN(rapid.Float64Range(least, 1e9), 1, 5).Draw(t, "values")
		most := rapid.IntRange(4, 16).Draw(t, "most")
		a := Axis{Log: log}
		lo, hi := a.span(values, rapid.Bool().Draw(t, "from zero"))
		for _, v := range values {
			if slack := 1e-9 * (hi - lo); v < lo-slack || v > hi+slack {
				t.Fatalf("axis from %v to %v does not hold %v", lo, hi, v)
			}
		}
		ts := a.ticks(lo, hi, values, most)
		if len(ts) < 2 {
			t.Errorf("axis from %v to %v: got %d ticks, want at least 2", lo, hi, len(ts))
		}
		labelled := 0
		for i, tick := range ts {
			if slack := 1e-9 * (hi - lo); tick.at < lo-slack || tick.at > hi+slack {
				t.Errorf("tick at %v is not on the axis from %v to %v", tick.at, lo, hi)
			}
			if i > 0 && tick.at <= ts[i-1].at {
				t.Errorf("tick at %v after one at %v", tick.at, ts[i-1].at)
			}
			if tick.major {
				labelled++
			}
		}
		if !log && labelled > most+1 {
			t.Errorf("axis from %v to %v: got %d labels, want at most %d", lo, hi, labelled, most+1)
		}
	})
}

// TestScale checks the coordinates of values on a linear and on a logarithmic scale.
func TestScale(t *testing.T) {
	tests := []struct {
		scale scale
		v     float64
		want  float64
	}{
		{scale{lo: 0, hi: 10, from: 100, to: 200}, 5, 150},
		{scale{lo: 1, hi: 100, log: true, from: 0, to: 200}, 10, 100},
	}
	for _, tt := range tests {
		if got := tt.scale.at(tt.v); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%+v at %v: got %v, want %v", tt.scale, tt.v, got, tt.want)
		}
	}
}
