package draw

import (
	"slices"
	"strings"
	"testing"
)

const (
	blue, vermilion, green, grey = "#0072b2", "#d55e00", "#009e73", "#5f5f5f"
)

// TestLines checks the texts, lines, marks and tooltips of a line chart.
func TestLines(t *testing.T) {
	d := parse(t, mustSVG(t, sampleLines()))
	want := []string{
		"Latency by topology", "ring6", "f16, Partial over <16 cubes> & more",
		"2 µs", "5 µs", "10 µs", "20 µs", "50 µs", "100 µs", "200 µs", "500 µs",
		"8", "16", "32", "64", "128", "256", "512", "1Ki", "2Ki", "4Ki", "8Ki", "16Ki", "32Ki",
		"ring", "mesh", "torus", "bound of ring", "elements per PE", "latency",
	}
	if !slices.Equal(d.texts, want) {
		t.Errorf("text: got %q, want %q", d.texts, want)
	}
	for _, c := range []string{blue, vermilion, green} {
		if d.fills[c] != 6+1 || d.lines[c] != 1+2 {
			t.Errorf("%s: got %d markers and %d lines, want 6 and 1, plus a mark, a leader and a sample at the name", c, d.fills[c], d.lines[c])
		}
	}
	if d.dashed != 1+1 || d.lines[grey] != 3 {
		t.Errorf("bound: got %d dashed lines and %d grey ones, want 2 including the sample at the name, and 3 including the leader", d.dashed, d.lines[grey])
	}
	tips := []string{
		"ring", "ring\nelements per PE: 8\nlatency: 5.234 µs", "ring\nelements per PE: 64\nlatency: 5.469 µs", "ring\nelements per PE: 512\nlatency: 7.35 µs",
		"ring\nelements per PE: 4096\nlatency: 22.4 µs", "ring\nelements per PE: 32768\nlatency: 142.8 µs", "ring\nelements per PE: 49152\nlatency: 211.6 µs", "torus",
	}
	if len(d.tips) != 3*(6+1)+1 || !slices.Equal(d.tips[:8], tips) {
		t.Errorf("got %d tooltips, %q, want 22, %q", len(d.tips), d.tips[:8], tips)
	}
	if last := "bound of ring\nelements per PE: 8, latency: 2.216 µs\nelements per PE: 64, latency: 2.328 µs\n"; !strings.HasPrefix(d.tips[21], last) {
		t.Errorf("tooltip of the bound: got %q, want %q and more", d.tips[21], last)
	}
}

// TestBoundsArePaired checks that bounds have the colours of the lines that they belong to,
// if there is a bound for each line.
func TestBoundsArePaired(t *testing.T) {
	l := sampleLines()
	l.Series = []Series{l.Series[0], l.Series[1], l.Series[3], {Name: "bound of torus", X: []float64{8, 64}, Y: []float64{1e3, 2e3}, Bound: true}}
	d := parse(t, mustSVG(t, l))
	if d.lines[blue] != 4 || d.lines[vermilion] != 4 || d.dashed != 4 || d.lines[grey] != 0 {
		t.Errorf("got %d blue, %d vermilion, %d dashed and %d grey lines, want 4, 4, 4 and none", d.lines[blue], d.lines[vermilion], d.dashed, d.lines[grey])
	}
}

// TestOneLine checks that a single series has no legend.
func TestOneLine(t *testing.T) {
	l := Lines{Title: "One", X: Axis{Label: "M"}, Y: Axis{Label: "use (%)"}, Series: []Series{{Name: "use", X: []float64{1, 2, 3, 4, 5, 6}, Y: []float64{10, 30, 40, 70, 82, 91}}}}
	d := parse(t, mustSVG(t, l))
	want := []string{"One", "0", "20", "40", "60", "80", "100", "1", "2", "3", "4", "5", "6", "M", "use (%)"}
	if !slices.Equal(d.texts, want) {
		t.Errorf("text: got %q, want %q", d.texts, want)
	}
	if d.fills[blue] != 6 || d.lines[blue] != 1 {
		t.Errorf("got %d markers and %d lines, want 6 and 1", d.fills[blue], d.lines[blue])
	}
}

// TestScatter checks that no line is drawn if the x values of the points go back and forth,
// or if Scatter is set.
func TestScatter(t *testing.T) {
	tests := []struct {
		series Series
		lines  int
	}{
		{Series{X: []float64{1, 2, 2, 3}}, 1},
		{Series{X: []float64{3, 2, 2, 1}}, 1},
		{Series{X: []float64{1, 3, 2, 4}}, 0},
		{Series{X: []float64{1, 2, 3, 4}, Scatter: true}, 0},
	}
	for _, tt := range tests {
		tt.series.Y = []float64{1, 2, 3, 4}
		d := parse(t, mustSVG(t, Lines{Series: []Series{tt.series}}))
		if d.lines[blue] != tt.lines || d.fills[blue] != 4 {
			t.Errorf("%+v: got %d lines and %d markers, want %d and 4", tt.series, d.lines[blue], d.fills[blue], tt.lines)
		}
	}
}
