package draw

import (
	"slices"
	"strings"
	"testing"
)

// TestWrap checks where texts are broken into lines.
func TestWrap(t *testing.T) {
	s := style{size: sizeTick}
	tests := []struct {
		text   string
		most   float64
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

// TestCut checks that texts that are too wide end in an ellipsis.
func TestCut(t *testing.T) {
	s := style{size: sizeTick}
	for text, want := range map[string]string{"short": "short", "a name that is too long": "a name …", "": ""} {
		if got := s.cut(text, 65); got != want || s.width(got) > 65 {
			t.Errorf("cut(%q): got %q, %v wide, want %q and at most 65", text, got, s.width(got), want)
		}
	}
}

// TestFold checks that fold breaks texts into at most two lines and cuts text that does not
// fit.
func TestFold(t *testing.T) {
	s := style{size: sizeTick}
	for text, want := range map[string][]string{
		"":                                     nil,
		"one two":                              {"one two"},
		"one two three four five six seven":    {"one two", "three f…"},
		strings.Repeat("wide", 20):             {"widewi…"},
		strings.Repeat("w", 30) + " two three": {"wwww…", "two three"},
	} {
		if got := s.fold(text, 60, 2); !slices.Equal(got, want) {
			t.Errorf("fold(%q): got %q, want %q", text, got, want)
		}
	}
}
