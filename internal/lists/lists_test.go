package lists

import (
	"slices"
	"testing"
)

func TestCount(t *testing.T) {
	if got, want := Count(3, 4), []int{3, 4, 5, 6}; !slices.Equal(got, want) {
		t.Errorf("4 numbers from 3 on: got %v, want %v", got, want)
	}
	if got := Count(0, 0); len(got) != 0 {
		t.Errorf("no numbers: got %v", got)
	}
}

func TestMake(t *testing.T) {
	if got, want := Make(3, func(i int) string { return "abc"[:i] }), []string{"", "a", "ab"}; !slices.Equal(got, want) {
		t.Errorf("Make(3, ...) = %q, want %q", got, want)
	}
}

func TestMap(t *testing.T) {
	if got, want := Map([]string{"a", "", "bcd"}, func(s string) int { return len(s) }), []int{1, 0, 3}; !slices.Equal(got, want) {
		t.Errorf("Map of lengths: got %v, want %v", got, want)
	}
}
