package chart

import (
	"slices"
	"strings"
	"testing"
)

func TestBars(t *testing.T) {
	tests := []struct {
		name  string
		bars  Bars
		texts []string
		fills [3]int // blue, vermilion, green
	}{
		{"groups", kinds(),
			[]string{"Buffer kinds", "tcm", "sram", "hbm", "0", "2", "4", "6", "8", "10", "12", "latency (µs)", "128", "1Ki", "elements", "4.2", "5.2", "6.2", "7.9", "10.9"},
			[3]int{3, 2, 3}},
		{"stacks", stages(),
			[]string{"Stages", "tcm", "sram", "hbm", "0", "2.5", "5", "7.5", "10", "12.5", "15", "17.5", "20", "latency (µs)", "128", "1Ki", "elements",
				"4.2", "5.2", "6.2", "15.6", "7.9", "10.9", "18.8"},
			[3]int{3, 2, 3}},
		{"broken", broken(),
			[]string{"Against an external figure", "model", "external", "0", "10", "20", "30", "340", "350", "360", "370", "380", "390", "latency (µs)",
				"ring_1d", "torus_2d", "FSIM", "21.4", "16.9", "366"},
			[3]int{3, 2, 0}},
	}
	for _, tt := range tests {
		d := parse(t, mustSVG(t, tt.bars))
		if !slices.Equal(d.texts, tt.texts) {
			t.Errorf("%s: text: got %q, want %q", tt.name, d.texts, tt.texts)
		}
		if got := [3]int{d.fills[blue], d.fills[vermilion], d.fills[green]}; got != tt.fills {
			t.Errorf("%s: got %v bars and swatches, want %v", tt.name, got, tt.fills)
		}
	}
}

// TestBreakIsDrawn wants the slashes at the axis and through the one bar that is cut.
func TestBreakIsDrawn(t *testing.T) {
	whole := broken()
	whole.Break = [2]float64{}
	cut, uncut := parse(t, mustSVG(t, broken())), parse(t, mustSVG(t, whole))
	if got := cut.fills["#FFFFFF"] - uncut.fills["#FFFFFF"]; got != 2 {
		t.Errorf("got %d gaps, want one at the axis and one in a bar", got)
	}
}

func TestHeatMap(t *testing.T) {
	d := parse(t, mustSVG(t, use()))
	want := []string{"Utilization", "16", "4.24", "8", "128", "22.5", "–", "32", "64", "N", "M", "5", "10", "15", "20", "% of peak"}
	if !slices.Equal(d.texts, want) {
		t.Errorf("text: got %q, want %q", d.texts, want)
	}
	if d.fills["#EEEEEE"] != 1 {
		t.Errorf("got %d cells without a value, want 1", d.fills["#EEEEEE"])
	}
	h := use()
	h.Log, h.Values = true, [][]float64{{1, 10}, {100, 1000}}
	if got, want := parse(t, mustSVG(t, h)).texts, "Utilization 16 1 10 128 100 1k 32 64 N M 1 10 100 1k % of peak"; strings.Join(got, " ") != want {
		t.Errorf("text with logarithmic colours: got %q, want %q", got, want)
	}
}
