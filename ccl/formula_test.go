package ccl

import (
	"fmt"
	"testing"

	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// sipFabric is a fabric of SIPs. With the preset alpha_beta, SIPs have one PE each, and only
// links take time. With other presets, SIPs have many PEs, of which the first takes part.
type sipFabric struct {
	preset string
	shape  topology.Shape
	w, h   int
}

func (f sipFabric) String() string { return fmt.Sprintf("%s %s %d×%d", f.preset, f.shape, f.w, f.h) }

// experiment returns an experiment that runs collective c with algorithm a over all SIPs.
// The data has the given number of bytes, and its elements are f32.
func (f sipFabric) experiment(a *Algorithm, c Collective, bytes int) experiment {
	e := experiment{algorithm: a, preset: f.preset, timing: true, stride: 128}
	e.Plan = Plan{
		Collective: c, Ranks: f.w * f.h, DType: tl.F32, Chunk: 1024, Slots: 4, Tiles: 400,
		Layout: Layout{f.shape, f.w, f.h, 1, 1},
	}
	if f.preset == "alpha_beta" {
		e.stride, e.Slots, e.Tiles = 1, 256, 1<<20
	}
	e.Counts = []int{bytes / 4}
	if c != AllReduce && c != Reduce && c != Broadcast {
		e.Counts[0] /= e.Ranks
	}
	e.sets = []string{fmt.Sprintf("system.sips.count=%d", f.w*f.h), "system.sips.topology=" + string(f.shape)}
	if f.shape.Grid() {
		e.sets = append(e.sets, fmt.Sprintf("system.sips.w=%d", f.w), fmt.Sprintf("system.sips.h=%d", f.h))
	}
	return e
}

// TestAllReduceTakesItsFormula checks that an all-reduce of M bytes on the preset
// alpha_beta takes steps·α + factor·M/b within 2 %, where α is the latency of a message and
// b the bandwidth of a link. A tiny all-reduce takes only the first term.
func TestAllReduceTakesItsFormula(t *testing.T) {
	ring6, ring8 := sipFabric{"alpha_beta", topology.Ring1D, 6, 1}, sipFabric{"alpha_beta", topology.Ring1D, 8, 1}
	torus := func(w, h int) sipFabric { return sipFabric{"alpha_beta", topology.Torus2D, w, h} }
	all8 := sipFabric{"alpha_beta", topology.FullyConnected, 8, 1}
	message := ring6.experiment(Direct, SendRecv, 4*6)
	alpha := message.run(t, nil).time.NS()
	for _, c := range []struct {
		algorithm *Algorithm
		on        sipFabric
		steps     int
		factor    float64 // factor of M/b; 0 skips the large all-reduce
	}{
		{Ring, ring6, 10, 10. / 6},
		{Ring, ring8, 14, 14. / 8},
		{BidirectionalRing, ring6, 10, 5. / 6},
		{BidirectionalRing, ring8, 14, 7. / 8},
		{Torus, torus(2, 3), 2*1 + 2*2, 5. / 9}, // 2(N-1) divided by the number of links of all SIPs
		{Torus, torus(3, 2), 2*2 + 2*1, 5. / 9},
		{Torus, torus(4, 4), 2*3 + 2*3, 15. / 32},
		{Tree, all8, 2 * 3, 1},
		{Tree, sipFabric{"alpha_beta", topology.FullyConnected, 7, 1}, 2 * 2, 1},
		{HalvingDoubling, all8, 2 * 3, 0},
		{DirectOnePhase, all8, 1, 1},
		{Direct, all8, 2, 2. / 8},
	} {
		tiny := c.on.experiment(c.algorithm, AllReduce, 4)
		within(t, tiny.String(), tiny.run(t, nil).time.NS(), float64(c.steps)*alpha, 0.98, 1.02)
		if c.factor > 0 {
			const bytes, bandwidth = 16 << 20, 100.0 // B/ns
			large := c.on.experiment(c.algorithm, AllReduce, bytes)
			formula := float64(c.steps)*alpha + c.factor*bytes/bandwidth
			within(t, large.String(), large.run(t, nil).time.NS(), formula, 0.98, 1.02)
		}
	}
}

// TestMoreBytesTakeMoreTime checks that the time of an all-reduce grows with the number of
// bytes. It also checks that the fastest algorithm on a torus is at least as fast as the
// fastest algorithm on a mesh of the same size.
func TestMoreBytesTakeMoreTime(t *testing.T) {
	least := map[string]simtime.Time{}
	for _, shape := range []topology.Shape{topology.Torus2D, topology.Mesh2DNoWrap} {
		on := sipFabric{"alpha_beta", shape, 2, 3}
		for _, a := range Algorithms(AllReduce) {
			last := simtime.Time(0)
			for bytes := 64; bytes <= 1<<20; bytes *= 2 {
				e := on.experiment(a, AllReduce, bytes)
				took := e.run(t, nil).time
				if a == CenterRoot { // it changes from a tree to rings at some size
					last -= last / 100
				}
				if took < last {
					t.Errorf("%v: %d bytes take %v, half of them %v", &e, bytes, took, last)
				}
				last = took
				if key := fmt.Sprint(shape, bytes); least[key] == 0 || took < least[key] {
					least[key] = took
				}
			}
		}
	}
	for bytes := 64; bytes <= 1<<20; bytes *= 2 {
		if torus, mesh := least[fmt.Sprint(topology.Torus2D, bytes)], least[fmt.Sprint(topology.Mesh2DNoWrap, bytes)]; torus > mesh {
			t.Errorf("%d bytes take %v on a torus and %v on the mesh of the same grid", bytes, torus, mesh)
		}
	}
}

// TestCenterRootWithinASIP checks the times of center_root within one SIP for different
// root cubes and chunks. The path to a root in the middle and back is 8 hops, and to a root
// in a corner 12 hops. Chunks that follow each other must be faster than whole tensors.
func TestCenterRootWithinASIP(t *testing.T) {
	e := experiment{algorithm: CenterRoot, preset: "default", sets: []string{"system.sips.count=1"}, timing: true, stride: 8}
	e.Plan = Plan{
		Collective: AllReduce, Ranks: 16, DType: tl.F16, Counts: []int{64}, Chunk: 2048, Slots: 4, Tiles: 400,
		Layout: Layout{topology.Ring1D, 1, 1, 4, 4},
	}
	middle := e.run(t, nil).time
	e.RootCube = 11 // cube 10, counted from 1
	if got := e.run(t, nil).time; got != middle {
		t.Errorf("with root cube 10 it takes %v, with the one in the middle %v: want the same", got, middle)
	}
	e.RootCube = 1
	corner := e.run(t, nil).time
	// All hops take about the same time, and so do all sums on the way up.
	if ratio := corner.NS() / middle.NS(); ratio < 1.35 || ratio > 1.6 {
		t.Errorf("the corner takes %v, the middle %v: ratio %.3f, want about 12 to 8", corner, middle, ratio)
	}
	e.RootCube, e.Counts = 0, []int{1 << 19} // 1 MiB
	chunks := e.run(t, nil).time
	e.Chunk, e.Slots, e.Tiles = 1<<19, 1, 4
	e.queues = topology.IPCQ{BufferKind: topology.BufferHBM, NSlots: 1, SlotSize: 1 << 20}
	e.sets = append(e.sets, "pe.tcm.size=16MiB")
	if whole := e.run(t, nil).time; whole < 3*chunks {
		t.Errorf("1 MiB takes %v in chunks and %v as a whole, want three times as long at least", chunks, whole)
	}
}
