package collperf

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/tl"
)

// TestThreadsChangeNothing measures each algorithm of each collective over PEs of four SIPs,
// with one thread and with more. The rows must be the same, with the times of every rank.
func TestThreadsChangeNothing(t *testing.T) {
	g := system(t, "default", "system.sips.count=4", "system.sips.topology=torus_2d", "system.sips.w=2", "system.sips.h=2",
		"sip.cube_mesh.w=2", "sip.cube_mesh.h=1") // 16 PEs, so that a SIP is simulated by itself
	for _, c := range ccl.Collectives() {
		for i, a := range ccl.Algorithms(c) {
			o := Options{
				Topology: g, Collective: c, Algorithm: a.Name, RanksPer: PerPE, DTypes: []tl.DType{tl.F16}, NoCheck: true, PerRank: true,
				Min: 4 << 10, Max: 4 << 10, Threads: 1,
			}
			want := measure(t, o)
			o.Threads = []int{2, 3, 8}[i%3]
			if diff := cmp.Diff(want, measure(t, o)); diff != "" {
				t.Errorf("%v by %s: %d threads instead of one (-want +got):\n%s", c, a.Name, o.Threads, diff)
			}
		}
	}
}
