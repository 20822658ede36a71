package collperf

import (
	"strings"
	"testing"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/host/hosttest"
	"github.com/kernbench/kernbench/topology"
)

// TestMemory checks the estimated memory of rows without values: 32 KiB for each rank, and a
// number of bytes for each pair of ranks only if ranks keep something for all other ranks.
func TestMemory(t *testing.T) {
	const perPE, n = 32 << 10, 512
	small := system(t, "default", "system.sips.count=4")
	large := system(t, "default", "system.sips.count=1024", "system.sips.topology=torus_2d", "system.sips.w=32", "system.sips.h=32")
	for _, tt := range []struct {
		g          *topology.Graph
		collective ccl.Collective
		algorithm  string
		per        RanksPer
		want       int64
	}{
		{large, ccl.AllReduce, "tree", PerPE, 131072 * perPE},
		{large, ccl.AllReduce, "ring", PerPE, 131072 * perPE},
		{large, ccl.Broadcast, "direct", PerPE, 131072 * perPE},                                      // only the root has all others as neighbours
		{large, ccl.AllReduce, "halving_doubling", PerPE, 131072*perPE + 131072*(131072*192+14*512)}, // 14 inboxes
		{large, ccl.AllReduce, "direct", PerPE, 131072*perPE + 131072*131071*512},
		{large, ccl.AllReduce, ccl.Auto, PerPE, 131072*perPE + 131072*(131072*192+14*512)},
		{large, ccl.AllReduce, ccl.Auto, PerSIP, 1024*perPE + 1024*1024*2048},
		{large, ccl.AllGather, "ring", PerPE, 131072*perPE + 131072*131072*128},

		{small, ccl.AllReduce, "tree", PerPE, n * perPE},
		{small, ccl.AllReduce, "direct", PerPE, n*perPE + n*(n-1)*512},
		{small, ccl.AllReduce, "direct_one_phase", PerPE, n*perPE + n*n*2048},
		{small, ccl.AllReduce, ccl.Auto, PerPE, n*perPE + n*n*2048},
		{small, ccl.ReduceScatter, "ring", PerPE, n*perPE + n*n*128},
		{small, ccl.AllToAll, "ring", PerPE, n*perPE + n*n*256},
		{small, ccl.AllToAll, "direct", PerPE, n*perPE + n*n*256 + n*(n-1)*512},
		{small, ccl.AllToAll, "direct", PerSIP, 4*perPE + 4*4*256}, // queues, not inboxes
		{small, ccl.Gather, "tree", PerPE, n*perPE + n*n*1024},
		{small, ccl.Gather, "tree", PerSIP, 4 * perPE},
		{small, ccl.SendRecv, "direct", PerPE, n*perPE + n*n*384},
		{small, ccl.Barrier, "tree", PerPE, n * perPE},
	} {
		o := &Options{Topology: tt.g, Collective: tt.collective, Algorithm: tt.algorithm, RanksPer: tt.per, Min: 4096, Max: 4096, NoCheck: true}
		ranks, err := o.Ranks()
		if err != nil {
			t.Fatal(err)
		}
		if got := o.memory(o.problems(ranks)[0], o.groupMemory(ranks, tt.algorithm)); got != tt.want {
			t.Errorf("%v by %s over %d ranks: %d bytes, want %d", tt.collective, tt.algorithm, ranks, got, tt.want)
		}
	}
}

// TestMemoryOfValues checks the estimated memory of a row with values.
func TestMemoryOfValues(t *testing.T) {
	o := &Options{Topology: system(t, "default"), Algorithm: "tree", World: 4, Min: 1 << 20, Max: 1 << 20}
	want := int64(4*(32<<10) + 4*4*2<<20) // of each rank: an input and an output, each four times
	if got := o.memory(o.problems(4)[0], o.groupMemory(4, "tree")); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
}

// TestRefusesPairs checks that a collective is refused if its pairs of ranks do not fit into
// memory, and accepted with an algorithm that keeps nothing for each pair.
func TestRefusesPairs(t *testing.T) {
	hosttest.SetMemory(t, 6000)
	o := Options{
		Topology: system(t, "default", "system.sips.count=1024", "system.sips.topology=torus_2d", "system.sips.w=32", "system.sips.h=32"),
		Min:      4096, Max: 4096, NoCheck: true,
	}
	for algorithm, want := range map[string]string{
		"tree": "", "ring": "",
		"direct":      "all_reduce of 4096 bytes between 131072 ranks: 8.8e+03 GB of memory are needed, and 6 GB are free",
		ccl.Auto:      "all_reduce of 4096 bytes between 131072 ranks: 3.3e+03 GB of memory are needed, and 6 GB are free",
		AllAlgorithms: "all_reduce of 4096 bytes between 131072 ranks: 3.52e+04 GB of memory are needed, and 6 GB are free",
	} {
		o.Algorithm = algorithm
		err := o.Validate()
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", algorithm, err, want)
		}
	}
}
