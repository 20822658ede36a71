package collperf

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/topology"
)

// TestPerRank checks that every rank has a time if Options.PerRank is set, and that the
// longest time is the time of the row. It covers every collective and algorithm, ranks that
// are PEs and ranks that are SIPs, and several iterations.
func TestPerRank(t *testing.T) {
	g := system(t, "ring6", "system.sips.count=7")
	for _, c := range ccl.Collectives() {
		for i, world := range []int{1, 3, 5, 7} {
			if c == ccl.SendRecv && world == 1 {
				continue // sendrecv needs two ranks
			}
			o := Options{Collective: c, Algorithm: AllAlgorithms, Min: 480, Max: 480, NoCheck: true, Topology: g, World: world, Iters: 1 + i, PerRank: true}
			o.RanksPer = []RanksPer{PerSIP, PerPE}[i%2]
			for _, r := range measure(t, o) {
				if len(r.PEExec) != world || microseconds(slices.Max(r.PEExec)) != *r.TimeUS || slices.Min(r.PEExec) <= 0 && *r.TimeUS > 0 && world > 1 {
					t.Errorf("%v by %s, %d ranks per %s: %v, the row takes %v us", c, r.Algorithm, world, o.RanksPer, r.PEExec, *r.TimeUS)
				}
			}
			if o.PerRank = false; measure(t, o)[0].PEExec != nil {
				t.Errorf("%v has times of ranks without PerRank", c)
			}
		}
	}
}

// TestPerRankOfPartialTensors checks that an all-reduce of partial tensors has one time for
// each rank, not for each addend, and that the longest time is the time of the row.
func TestPerRankOfPartialTensors(t *testing.T) {
	o := Options{Collective: ccl.AllReduce, Algorithm: "ring", Min: 64, Max: 64, NoCheck: true, Topology: system(t, "ring6", "system.sips.count=3"), RanksPer: PerSIP, Partial: true, PerRank: true}
	r := measure(t, o)[0]
	if len(r.PEExec) != 3 || microseconds(slices.Max(r.PEExec)) != *r.TimeUS {
		t.Errorf("%v, the row takes %v us; want 3 ranks", r.PEExec, *r.TimeUS)
	}
}

// TestPerRankOfRealRanks checks that the time of a real rank is its average over all
// iterations. The time of the row must be at least as long, because it averages the slowest
// rank of each iteration.
func TestPerRankOfRealRanks(t *testing.T) {
	o := Options{Backend: Goroutines, Collective: ccl.AllReduce, Iters: 2, NRanks: 3, PerRank: true}
	p := newProblem(&o, o.series()[0], 3, 64)
	took := func(ns ...time.Duration) []rankResult { return []rankResult{{Times: ns}} }
	r := o.realRow(p, Auto, [][]rankResult{took(10, 31), took(40, 20), took(5, 6)}, 0)
	want := []simtime.Time{20500 * simtime.Picosecond, 30 * simtime.Nanosecond, 5500 * simtime.Picosecond}
	if !cmp.Equal(r.PEExec, want) || *r.TimeUS != 0.0355 {
		t.Errorf("ranks take %v and the row %v us, want %v and 0.0355", r.PEExec, *r.TimeUS, want)
	}
	o.Min, o.Max, o.NRanks = 64, topology.Bytes(64), 5
	for _, r := range measure(t, o) {
		if len(r.PEExec) != 5 || slices.Min(r.PEExec) <= 0 || microseconds(slices.Max(r.PEExec)) > *r.TimeUS {
			t.Errorf("ranks take %v and the row %v us", r.PEExec, *r.TimeUS)
		}
	}
}
