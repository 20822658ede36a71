package collperf

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/topology"
)

// TestTiles checks that every algorithm computes right values in a small TCM. The TCM holds
// only as many tiles as the algorithm says that it needs.
func TestTiles(t *testing.T) {
	reductions := []ccl.Reduction{ccl.Sum, ccl.Avg, ccl.PremulSum}
	for _, sets := range [][]string{
		{"system.sips.count=8"}, {"system.sips.count=5"}, {"system.sips.topology=torus_2d", "system.sips.count=6", "system.sips.w=2", "system.sips.h=3"},
	} {
		for c := ccl.AllReduce; c <= ccl.Barrier; c++ {
			for _, a := range ccl.Algorithms(c) {
				g := system(t, "default", append(sets, "pe.ipcq.buffer_kind=sram", fmt.Sprintf("pe.tcm.size=%dKiB", 4*a.Tiles))...)
				o := Options{Topology: g, Collective: c, Algorithm: a.Name, RanksPer: PerSIP, Min: 100 << 10, Max: 100 << 10}
				if c == ccl.Barrier {
					o.Min, o.Max = 0, 0
				}
				if c.Reduces() {
					o.Reductions = reductions
				}
				for _, r := range measure(t, o) {
					if r.Wrong != nil && *r.Wrong != 0 {
						t.Errorf("%v by %s, %v: %d wrong values", c, a.Name, sets, *r.Wrong)
					}
				}
			}
		}
	}
}

// TestAutoFits checks that auto picks another algorithm if the queues or tiles of the
// cheapest algorithm do not fit into memory.
func TestAutoFits(t *testing.T) {
	for _, tt := range []struct {
		topology, ccl []string
		size          int
		want          string
	}{
		{[]string{"system.sips.topology=fully_connected", "system.sips.count=8"}, []string{"defaults.n_slots=50", "defaults.chunk_bytes=200KiB"}, 8 << 20, "bidirectional_ring"}, // not direct
		{[]string{"system.sips.topology=torus_2d", "system.sips.count=16", "pe.tcm.size=16KiB", "pe.ipcq.buffer_kind=sram"}, nil, 1600 << 10, "bidirectional_ring"},              // not double_tree
	} {
		config, err := ccl.Load(t.Context(), "default", tt.ccl...)
		if err != nil {
			t.Fatal(err)
		}
		o := Options{Topology: system(t, "default", tt.topology...), CCL: config, Algorithm: ccl.Auto, RanksPer: PerSIP, Min: topology.Bytes(tt.size), Max: topology.Bytes(tt.size), NoCheck: true}
		if rows := measure(t, o); rows[0].Algorithm != tt.want {
			t.Errorf("%v, %v: auto picks %s, want %s", tt.topology, tt.ccl, rows[0].Algorithm, tt.want)
		}
	}
}

// TestAutoFindsNone checks the error of auto if no algorithm fits into memory. The error
// says how much the default algorithm needs.
func TestAutoFindsNone(t *testing.T) {
	for _, tt := range []struct{ buffers, want string }{
		{"tcm", "auto finds no algorithm for all_reduce that fits: ring needs 3 × 256B of tiles and 2 ports × 512 slots × 4KiB of queues in tcm, 4195072B of TCM, and pe.tcm.size is 2MiB; use fewer or smaller slots (n_slots, slot_size), another memory for them (buffer_kind), or smaller messages (chunk_bytes)"},
		{"sram", "auto finds no algorithm for all_reduce that fits: ring needs 3 × 256B of tiles and 2 ports × 16384 slots × 4KiB of queues in sram, 128MiB for the PEs of a cube, and cube.sram.size is 32MiB; use fewer or smaller slots (n_slots, slot_size), another memory for them (buffer_kind), or smaller messages (chunk_bytes)"},
	} {
		slots := map[string]string{"tcm": "512", "sram": "16384"}[tt.buffers]
		config, err := ccl.Load(t.Context(), "default", "defaults.n_slots="+slots, "defaults.buffer_kind="+tt.buffers)
		if err != nil {
			t.Fatal(err)
		}
		o := Options{Topology: system(t, "default"), CCL: config, Algorithm: ccl.Auto, RanksPer: PerSIP, Min: 64, Max: 64}
		if _, _, err := Run(t.Context(), o, nil); err == nil || !strings.HasSuffix(err.Error(), tt.want) {
			t.Errorf("got %v\nwant %s", err, tt.want)
		}
	}
}
