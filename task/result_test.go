package task

import (
	"testing"

	"github.com/kernbench/kernbench/simtime"
)

// TestIdle checks that the field Idle of a result is exact if it fits into a Time, and
// simtime.Never otherwise.
func TestIdle(t *testing.T) {
	const longest = simtime.Never / (1 << 17) // the longest makespan of 2^17 idle compute cores that fits into a Time; 131,071 fs remain
	for _, tt := range []struct {
		name         string
		ranks, cores int
		makespan     Time
		busy         Time // of one core
		want         Time
	}{
		{"nothing", 1, 128, 0, 0, 0},
		{"all busy", 1, 1, 100, 100, 0},
		{"some", 2, 128, 1000, 700, 255_300},
		{"as much as there may be", 1, 1 << 17, longest, 0, simtime.Never - (1<<17 - 1)},
		{"just within", 1024, 128, longest + 1, 1, simtime.Never},
		{"just beyond", 1024, 128, longest + 1, 0, simtime.Never},
		{"the sum is beyond, idle is not", 1, 1 << 17, longest + 1, 3, simtime.Never - 2},
		{"131,072 cores for 131 ms", 1024, 128, 131 * simtime.Millisecond, simtime.Millisecond, simtime.Never},
		{"a product that wraps to little", 1 << 16, 1 << 17, 1 << 31, 0, simtime.Never},
	} {
		r := &Result{
			Ranks: tt.ranks, Cores: tt.cores, Makespan: tt.makespan,
			Spans: []Span{{Dispatched: tt.makespan - tt.busy, Begin: tt.makespan - tt.busy, End: tt.makespan, Noticed: tt.makespan, Released: -1}},
		}
		r.sum()
		if r.Idle != tt.want || r.Compute != tt.busy {
			t.Errorf("%s: computing for %v and idle for %v, want %v and %v", tt.name, r.Compute, r.Idle, tt.busy, tt.want)
		}
	}
}
