package chart

import (
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
)

func TestWrap(t *testing.T) {
	s := style{size: sizeTick}
	tests := []struct {
		text   string
		most   vg.Length
		within bool
		want   []string
	}{
		{"", 50, false, nil},
		{"one two  three", 60, false, []string{"one two", "three"}},
		{"direct_one_phase", 60, false, []string{"direct_one_phase"}},
		{"direct_one_phase", 60, true, []string{"direct_", "one_", "phase"}},
		{"direct_one_phase", 80, true, []string{"direct_one_", "phase"}},
	}
	for _, tt := range tests {
		if got := s.wrap(tt.text, tt.most, tt.within); !slices.Equal(got, tt.want) {
			t.Errorf("wrap(%q, %v, %v): got %q, want %q", tt.text, tt.most, tt.within, got, tt.want)
		}
	}
}

func TestCut(t *testing.T) {
	s := style{size: sizeTick}
	for text, want := range map[string]string{"short": "short", "a name that is too long": "a name …", "": ""} {
		if got := s.cut(text, 65); got != want || s.width(got) > 65 {
			t.Errorf("cut(%q): got %q, %v wide, want %q and at most 65", text, got, s.width(got), want)
		}
	}
}

// TestBarValues wants all bars to carry their values in the same way: level, upright, or
// not at all.
func TestBarValues(t *testing.T) {
	tests := []struct {
		groups int
		values int // that are written
		turned int // texts, with that of the y axis
	}{
		{4, 8, 1},
		{16, 32, 33},
		{40, 0, 41}, // names of groups are upright by then
	}
	for _, tt := range tests {
		var b Bars
		b.Y = Axis{Label: "y", Ticks: []float64{0}}
		b.Series = []BarSeries{{Name: "a"}, {Name: "b"}}
		for i := range tt.groups {
			b.Groups = append(b.Groups, "name")
			b.Series[0].Values = append(b.Series[0].Values, float64(i)+0.51)
			b.Series[1].Values = append(b.Series[1].Values, float64(i)+0.52)
		}
		svg := mustSVG(t, b)
		values := 0
		for _, text := range parse(t, svg).texts {
			if strings.HasSuffix(text, ".51") || strings.HasSuffix(text, ".52") || strings.HasSuffix(text, ".5") {
				values++
			}
		}
		if turned := strings.Count(string(svg), "rotate("); values != tt.values || turned != tt.turned {
			t.Errorf("%d groups: got %d values and %d turned texts, want %d and %d", tt.groups, values, turned, tt.values, tt.turned)
		}
	}
}
