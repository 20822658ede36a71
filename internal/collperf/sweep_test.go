package collperf

import (
	"math"
	"testing"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// sweepElems lists the numbers of elements of each of 96 addends in the latency sweep.
var sweepElems = []int{8, 32, 64, 128, 512, 1024, 2048, 4096, 8192, 16384, 32768, 49152}

// BenchmarkSweep runs the latency sweep of center_root on three systems of 6 SIPs: 36
// all-reduces of f16, with values checked.
//
//	go test ./internal/collperf -run '^$' -bench 'Sweep$' -benchtime 1x
func BenchmarkSweep(b *testing.B) {
	var all []Options
	for _, name := range []string{"ring6", "torus2x3", "mesh2x3"} {
		all = append(all, Options{Topology: system(b, name), Algorithm: ccl.CenterRoot.Name, RanksPer: PerSIP, Partial: true})
	}
	for b.Loop() {
		for i := range all {
			var problems []*problem
			for _, n := range sweepElems {
				problems = append(problems, newProblem(&all[i], series{dtype: tl.F16, reduction: ccl.Sum}, 6, topology.Bytes(n*tl.F16.Size())))
			}
			var t tally
			if err := all[i].simulate(b.Context(), problems, &t); err != nil || t.sum.Wrong != 0 || len(t.rows) != len(sweepElems) {
				b.Fatalf("%d rows, %d wrong and error %v, want %d, 0 and none", len(t.rows), t.sum.Wrong, err, len(sweepElems))
			}
		}
	}
}

// BenchmarkRing measures a ring all-reduce of 1 GiB over 256 SIPs of alpha_beta, without
// values. Slots have 1 MiB, so that there are 522,240 messages.
//
//	go test ./internal/collperf -run '^$' -bench 'Ring$' -benchtime 1x
func BenchmarkRing(b *testing.B) {
	o := Options{
		Topology:  system(b, "alpha_beta", "system.sips.count=256", "pe.ipcq.slot_size=1MiB", "pe.ipcq.n_slots=4", "pe.ipcq.max_ports=8"),
		Algorithm: ccl.Ring.Name, RanksPer: PerSIP, DTypes: []tl.DType{tl.F32}, NoCheck: true, Min: 1 << 30, Max: 1 << 30, Threads: 1,
	}
	for b.Loop() {
		if got := *measure(b, o)[0].TimeUS; math.Abs(got-21391.1) > 0.05 {
			b.Fatalf("takes %v µs, want 21391.1", got)
		}
	}
}
