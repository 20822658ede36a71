package cost

import (
	"errors"
	"testing"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// graph returns the compiled graph of the default system.
func graph(t *testing.T) *topology.Graph {
	t.Helper()
	spec, err := topology.Load(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	g, err := topology.Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestSettingsFit checks that CheckSettings refuses settings whose queues, together with
// the tiles of the smallest messages, do not fit into memory.
func TestSettingsFit(t *testing.T) {
	g := graph(t) // 2 SIPs of 16 cubes of 8 PEs
	spread := func(ranks, stride int) (pes []int) {
		for rank := range ranks {
			pes = append(pes, rank*stride)
		}
		return pes
	}
	const slots = "; use fewer or smaller slots (n_slots, slot_size), another memory for them (buffer_kind), or smaller messages (chunk_bytes)"
	for _, tt := range []struct {
		s    ccl.Settings
		pes  []int
		want string
	}{
		{ccl.Settings{Algorithm: "ring"}, spread(256, 1), ""},
		{ccl.Settings{Algorithm: "ring", NSlots: 255}, spread(7, 1), ""},
		{ccl.Settings{Algorithm: "ring", NSlots: 256}, spread(1, 1), ""}, // one rank sends nothing
		{ccl.Settings{Algorithm: "ring", NSlots: 256}, spread(7, 1),
			"ring needs 3 × 256B of tiles and 2 ports × 256 slots × 4KiB of queues in tcm, 2097920B of TCM, and pe.tcm.size is 2MiB" + slots},
		{ccl.Settings{Algorithm: "mesh", NSlots: 200}, spread(7, 1), ""}, // one row
		{ccl.Settings{Algorithm: "mesh", NSlots: 200}, spread(12, 1),
			"mesh needs 3 × 256B of tiles and 4 ports × 200 slots × 4KiB of queues in tcm, 3277568B of TCM, and pe.tcm.size is 2MiB" + slots},
		// With up to 9 ranks each peer has a queue, with more an inbox.
		{ccl.Settings{Algorithm: "direct", NSlots: 100}, spread(7, 1),
			"direct needs 4 × 256B of tiles and 6 ports × 100 slots × 4KiB of queues in tcm, 2401KiB of TCM, and pe.tcm.size is 2MiB" + slots},
		{ccl.Settings{Algorithm: "direct", NSlots: 100}, spread(12, 1), ""},
		// PEs of a cube share its SRAM.
		{ccl.Settings{Algorithm: "ring", NSlots: 512, BufferKind: topology.BufferSRAM}, spread(12, 1), ""},
		{ccl.Settings{Algorithm: "ring", NSlots: 513, BufferKind: topology.BufferSRAM}, spread(12, 1),
			"ring needs 3 × 256B of tiles and 2 ports × 513 slots × 4KiB of queues in sram, 32832KiB for the PEs of a cube, and cube.sram.size is 32MiB" + slots},
		{ccl.Settings{Algorithm: "ring", NSlots: 513, BufferKind: topology.BufferSRAM}, spread(7, 1), ""},
		{ccl.Settings{Algorithm: "ring", NSlots: 513, BufferKind: topology.BufferSRAM}, spread(12, 8), ""},
		{ccl.Settings{Algorithm: "tree", NSlots: 65536, SlotSize: 64 * topology.KiB, BufferKind: topology.BufferHBM}, spread(7, 1),
			"tree needs 4 × 256B of tiles and 3 ports × 65536 slots × 64KiB of queues in hbm, 12GiB, and cube.hbm.slice_size is 6GiB" + slots},
		// For auto, at least one algorithm must fit.
		{ccl.Settings{Algorithm: ccl.Auto, NSlots: 255}, spread(7, 1), ""},
		{ccl.Settings{Algorithm: ccl.Auto, NSlots: 256}, spread(7, 1),
			"auto finds no algorithm for all_reduce that fits: ring needs 3 × 256B of tiles and 2 ports × 256 slots × 4KiB of queues in tcm, 2097920B of TCM, and pe.tcm.size is 2MiB" + slots},
		{ccl.Settings{Algorithm: ccl.Auto, NSlots: 256}, spread(12, 1), ""}, // direct uses inboxes
	} {
		q := g.Spec().PE.IPCQ
		over := tt.s.Queues()
		if over.NSlots != 0 {
			q.NSlots = over.NSlots
		}
		if over.SlotSize != 0 {
			q.SlotSize = over.SlotSize
		}
		if over.BufferKind != "" {
			q.BufferKind = over.BufferKind
		}
		err, got := CheckSettings(tt.s, g, tt.pes, q), ""
		if err != nil {
			got = err.Error()
		}
		var unfit *FitError
		if got != tt.want || errors.As(err, &unfit) != (err != nil) {
			t.Errorf("%+v on %d ranks:\ngot  %s\nwant %s", tt.s, len(tt.pes), got, tt.want)
		}
	}
}

// TestQueuesAlone checks that an algorithm without inboxes does not fit if a rank has more
// neighbours than a PE has ports, and that the error lists the algorithms that need no more
// ports than a PE has.
func TestQueuesAlone(t *testing.T) {
	g := graph(t)
	a := *ccl.Direct
	a.Name, a.Inbox = "near", nil
	for ranks, want := range map[int]string{
		9: "", 13: "near needs 12 ports, and pe.ipcq.max_ports is 8; use fewer ranks, or raise pe.ipcq.max_ports, or choose an algorithm for all_reduce that needs no more: " +
			"bidirectional_ring, center_root, double_tree, dual_mesh, halving_doubling, mesh, ring, torus, tree",
	} {
		p := &ccl.Plan{Collective: ccl.AllReduce, Ranks: ranks, DType: tl.F16, Counts: []int{100}, Chunk: 2048, Slots: 4}
		err, got := NewNetwork(g, make([]int, ranks), g.Spec().PE.IPCQ).Fits(&a, p), ""
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%d ranks:\ngot  %s\nwant %s", ranks, got, want)
		}
	}
}
