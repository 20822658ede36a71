package tl_test

import (
	"slices"
	"testing"

	"github.com/kernbench/kernbench/tl"
)

// TestBarrierCounts checks the signal value that each call of Barrier waits for: the
// arrivals of this call and of all earlier calls on the same signal. The order in which the
// ranks are listed makes no difference.
func TestBarrierCounts(t *testing.T) {
	r := &recorder{}
	pe := tl.NewPE(r, "test") // rank 2 of 4
	pe.Barrier(7)
	pe.Barrier(7, 0, 1, 2, 3)
	pe.Barrier(7, 3, 2, 1, 0)
	up := []string{"notify rank 0 signal 7 op 1 value 1", "notify rank 1 signal 7 op 1 value 1", "notify rank 3 signal 7 op 1 value 1"}
	down := []string{up[2], up[1], up[0]}
	want := slices.Concat(up, []string{"wait signal 7 cmp 3 value 3"}, up, []string{"wait signal 7 cmp 3 value 6"}, down, []string{"wait signal 7 cmp 3 value 9"})
	if !slices.Equal(r.calls, want) {
		t.Errorf("got %q\nwant %q", r.calls, want)
	}
}
