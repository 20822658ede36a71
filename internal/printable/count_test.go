package printable

import "testing"

func TestCount(t *testing.T) {
	for _, c := range []struct {
		n     int
		thing string
		want  string
	}{{0, "cube", "0 cubes"}, {1, "cube", "1 cube"}, {2, "cube", "2 cubes"}, {1, "process", "1 process"}, {2, "process", "2 processes"}} {
		if got := Count(c.n, c.thing); got != c.want {
			t.Errorf("%d %s: got %q, want %q", c.n, c.thing, got, c.want)
		}
	}
}

func TestName(t *testing.T) {
	for v, want := range []string{"Kind(0)", "load", "Kind(2)", "store", "Kind(4)"} {
		if got := Name("Kind", uint8(v), []string{"", "load", 3: "store"}); got != want {
			t.Errorf("%d: got %q, want %q", v, got, want)
		}
	}
}
