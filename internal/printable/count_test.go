package printable

import "testing"

func TestCount(t *testing.T) {
	for _, c := range []struct {
		n     int
		thing string
		want  string
	}{
		{0, "check", "0 checks"}, {1, "check", "1 check"}, {2, "check", "2 checks"},
		{1, "process", "1 process"}, {3, "process", "3 processes"}, {2, "host read", "2 host reads"},
	} {
		if got := Count(c.n, c.thing); got != c.want {
			t.Errorf("Count(%d, %q): got %q, want %q", c.n, c.thing, got, c.want)
		}
	}
}
