package draw

import (
	"math"
	"testing"
)

// TestFormats checks numbers formatted with binary and SI prefixes.
func TestFormats(t *testing.T) {
	formats := map[string]func(float64) string{"Binary": Binary, "SI": SI}
	tests := []struct {
		format string
		v      float64
		want   string
	}{
		{"Binary", 0, "0"},
		{"Binary", 512, "512"},
		{"Binary", 32768, "32Ki"},
		{"Binary", 1 << 31, "2Gi"},
		{"SI", 0, "0"},
		{"SI", 0.3 - 0.1, "0.2"},
		{"SI", 0.05, "0.05"},
		{"SI", 12.5, "12.5"},
		{"SI", 999.96, "1000"},
		{"SI", 1000, "1k"},
		{"SI", 1500, "1.5k"},
		{"SI", 2.5e6, "2.5M"},
		{"SI", 3e-6, "3µ"},
		{"SI", 1e-15, "0.001p"},
		{"SI", -1500, "-1.5k"},
		{"SI", math.Inf(1), "+InfT"},
	}
	for _, tt := range tests {
		if got := formats[tt.format](tt.v); got != tt.want {
			t.Errorf("%s(%v): got %q, want %q", tt.format, tt.v, got, tt.want)
		}
	}
}

func TestThreeDigits(t *testing.T) {
	for v, want := range map[float64]float64{0: 0, 1234: 1230, 0.0078951: 0.0079, 999.6: 1000, -72.25: -72.2, 42: 42} {
		if got := threeDigits(v); got != want {
			t.Errorf("threeDigits(%v): got %v, want %v", v, got, want)
		}
	}
}
