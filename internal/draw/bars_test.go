package draw

import (
	"slices"
	"strings"
	"testing"
)

// TestBars checks the texts of a bar chart and the fills of its bars.
func TestBars(t *testing.T) {
	hatched := []string{blue, "url(#hatch1-d55e00-ffffff)", "#b8e4d8"}
	tests := []struct {
		name  string
		bars  Bars
		texts []string
		fills []string
		count [3]int // shapes with each of the fills, in bars and in the legend
	}{
		{"groups", sampleBars(),
			[]string{"Buffer kinds", "tcm", "sram", "hbm", "0", "2", "4", "6", "8", "10", "12", "latency (µs)", "128", "1Ki", "elements", "4.2", "5.2", "6.2", "7.9", "10.9"},
			hatched, [3]int{3, 2, 3}},
	}
	for _, tt := range tests {
		d := parse(t, mustSVG(t, tt.bars))
		if !slices.Equal(d.texts, tt.texts) {
			t.Errorf("%s: text: got %q, want %q", tt.name, d.texts, tt.texts)
		}
		if got := [3]int{d.fills[tt.fills[0]], d.fills[tt.fills[1]], d.fills[tt.fills[2]]}; got != tt.count {
			t.Errorf("%s: got %v bars and swatches, want %v", tt.name, got, tt.count)
		}
	}
}

// TestBarBounds checks that a bound is a dashed line across each group, and that the y axis
// reaches to the value of the bound.
func TestBarBounds(t *testing.T) {
	b := sampleBars()
	without := parse(t, mustSVG(t, b))
	b.Series = append(b.Series, BarSeries{Name: "bound", Values: []float64{3, 30}, Bound: true})
	d := parse(t, mustSVG(t, b))
	if got := d.dashed - without.dashed; got != 2+1 {
		t.Errorf("got %d dashed lines, want one for each group and one in the legend", got)
	}
	for _, tip := range []string{"bound\nelements: 128\nlatency: 3 µs", "bound\nelements: 1Ki\nlatency: 30 µs"} {
		if !slices.Contains(d.tips, tip) {
			t.Errorf("no tooltip %q in %q", tip, d.tips)
		}
	}
	if !slices.Contains(d.texts, "30") || slices.Contains(without.texts, "30") {
		t.Errorf("the axis with a bound of 30 is %q", d.texts)
	}
	if !slices.Contains(d.texts, "4.2") {
		t.Errorf("no bar of 4.2 in %q", d.texts)
	}
}

// TestHeatMap checks the texts, tooltips and empty cells of a heat map.
func TestHeatMap(t *testing.T) {
	d := parse(t, mustSVG(t, sampleHeatMap()))
	want := []string{"Utilization", "16", "4.24", "8", "128", "22.5", "–", "32", "64", "N", "M", "5", "10", "15", "20", "% of peak"}
	if !slices.Equal(d.texts, want) {
		t.Errorf("text: got %q, want %q", d.texts, want)
	}
	if tip := "M: 16\nN: 64\n8 % of peak"; d.tips[1] != tip || d.tips[3] != "M: 128\nN: 64\nno value" {
		t.Errorf("tooltips: got %q, want %q as the second", d.tips, tip)
	}
	if d.fills["#eeeeee"] != 1 {
		t.Errorf("got %d cells without a value, want 1", d.fills["#eeeeee"])
	}
	h := sampleHeatMap()
	h.Log, h.Values = true, [][]float64{{1, 10}, {100, 1000}}
	if got, want := parse(t, mustSVG(t, h)).texts, "Utilization 16 1 10 128 100 1k 32 64 N M 1 10 100 1k % of peak"; strings.Join(got, " ") != want {
		t.Errorf("text with logarithmic colours: got %q, want %q", got, want)
	}
}

// TestBarValues checks that the values of all bars are written in the same way:
// horizontally, from the bottom up, or not at all.
func TestBarValues(t *testing.T) {
	tests := []struct {
		groups int
		values int // number of values that are written
		turned int // number of rotated texts, including the label of the y axis
	}{
		{4, 8, 1},
		{16, 32, 33},
		{40, 0, 41}, // with this many groups, the names of groups are upright
	}
	for _, tt := range tests {
		var b Bars
		b.Y = Axis{Label: "y"}
		b.Series = []BarSeries{{Name: "a"}, {Name: "b"}}
		for i := range tt.groups {
			b.Groups = append(b.Groups, "name")
			b.Series[0].Values = append(b.Series[0].Values, float64(i)+0.51)
			b.Series[1].Values = append(b.Series[1].Values, float64(i)+0.52)
		}
		values := 0
		walk(layOut(t, b).items, "", func(it item, tip string) {
			if _, ok := it.(textLine); ok && tip != "" {
				values++
			}
		})
		if turned := strings.Count(string(mustSVG(t, b)), "rotate("); values != tt.values || turned != tt.turned {
			t.Errorf("%d groups: got %d values and %d turned texts, want %d and %d", tt.groups, values, turned, tt.values, tt.turned)
		}
	}
}
