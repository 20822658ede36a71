package printable

import (
	"strings"
	"testing"
)

func TestRuns(t *testing.T) {
	for _, c := range []struct {
		list  []int
		least int
		want  string
	}{
		{nil, 2, ""},
		{[]int{7}, 2, "7"},
		{[]int{0, 1, 3, 4, 5, 9}, 2, "0-1 3-5 9"},
		{[]int{0, 1, 3, 4, 5, 9}, 3, "0 1 3-5 9"},
		{[]int{0, 1, 2, 3}, 3, "0-3"},
	} {
		if got := strings.Join(Runs(c.list, c.least), " "); got != c.want {
			t.Errorf("Runs(%v, %d): got %q, want %q", c.list, c.least, got, c.want)
		}
	}
}

func TestList(t *testing.T) {
	for want, words := range map[string][]string{"": nil, "a": {"a"}, "a and b": {"a", "b"}, "a, b and c": {"a", "b", "c"}} {
		if got := List(words); got != want {
			t.Errorf("List(%q): got %q, want %q", words, got, want)
		}
	}
}
