package collperf

import (
	"testing"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// sweepElems is the elements of each of 96 addends in the latency sweep.
var sweepElems = []int{8, 32, 64, 128, 512, 1024, 2048, 4096, 8192, 16384, 32768, 49152}

// BenchmarkSweep is the latency sweep of center_root on three systems of 6 SIPs, 36
// all-reduces of f16, with values compared:
//
//	go test ./internal/collperf -run '^$' -bench 'Sweep$' -benchtime 1x
func BenchmarkSweep(b *testing.B) {
	var all []Options
	for _, name := range []string{"ring6", "torus2x3", "mesh2x3"} {
		all = append(all, Options{Topology: system(b, name), Algorithm: ccl.CenterRoot.Name, RanksPer: PerSIP, Partial: true})
	}
	for b.Loop() {
		var jobs []job
		for i := range all {
			for _, n := range sweepElems {
				size := topology.Bytes(n * tl.F16.Size())
				p := newProblem(&all[i], series{dtype: tl.F16, reduction: ccl.Sum}, 6, size)
				jobs = append(jobs, all[i].job(p, ccl.CenterRoot.Name))
			}
		}
		rows := 0
		if err := inOrder(b.Context(), jobs, all[0].threads(), func(r Row) {
			if rows++; *r.Wrong != 0 || r.Algorithm != ccl.CenterRoot.Name {
				b.Errorf("row %d, %d bytes by %s: %d wrong, want 0 by center_root", rows, r.Size, r.Algorithm, *r.Wrong)
			}
		}); err != nil || rows != 36 {
			b.Fatalf("%d rows and error %v, want 36 and none", rows, err)
		}
	}
}
