package topology

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/simtime"
)

const ns = simtime.Nanosecond

// testSpec returns a spec of the default shape with round numbers, so that the latencies in
// these tests can be added by hand: a pitch of wire is 20 ps, a gap 10 ps, a router 1 ns.
func testSpec() *Spec {
	s := &Spec{}
	s.System = System{
		Flit: 256, WireDelay: TimePerMM(10 * simtime.Picosecond),
		SIPs: SIPs{
			Count: 2, Topology: Ring1D,
			Link:   SIPLink{Bandwidth: 64 * GBps, Latency: 150 * ns, Links: 1},
			Switch: Overhead{100 * ns},
		},
	}
	s.SIP = SIP{
		CubeMesh: CubeMesh{W: 4, H: 4, Gap: 1000},
		UCIe:     UCIe{Bandwidth: 128 * GBps, Overhead: 8 * ns},
		IO:       IO{PCIe: Overhead{5 * ns}, CPU: Overhead{10 * ns}, Switch: Overhead{5 * ns}, Bandwidth: 320 * GBps},
	}
	s.Cube = Cube{
		PELayout: PELayout{Corners: 4, PEPerCorner: 2},
		NoC:      NoC{W: 4, H: 4, Pitch: 2000, Bandwidth: 384 * GBps, Overhead: 1 * ns},
		CPU:      CubeCPU{At: Site{0, 2}, Overhead: 5 * ns},
		SRAM:     SRAM{At: Site{3, 0}, Size: 32 * MiB, Bandwidth: 130 * GBps, Overhead: 2 * ns},
		HBM: HBM{
			SliceSize: GiB, Bandwidth: 256 * GBps, Channels: 8, ChannelBandwidth: 32 * GBps, Burst: 256,
		},
	}
	s.PE = PE{
		CPU:        CPU{Overhead: 2 * ns, Clock: 1e9},
		Scheduler:  Overhead{1 * ns},
		DMA:        DMA{Bandwidth: 260 * GBps, Outstanding: 8},
		FetchStore: FetchStore{Bandwidth: 1024 * GBps},
		TCM:        TCM{Size: 4 * MiB, ReadBandwidth: 512 * GBps, WriteBandwidth: 500 * GBps},
		IPCQ:       IPCQ{MaxPorts: 8, NSlots: 4, SlotSize: 4 * KiB, BufferKind: BufferTCM, CreditBytes: 16, Backpressure: Sleep, PollCycles: 8},
	}
	s.Host = Host{PCIe: PCIe{Bandwidth: 60 * GBps, Latency: 500 * ns}, LaunchBytes: 64}
	return s
}

// fabricSpec returns testSpec with one cube per SIP and a SIP fabric of the given shape.
// `count` is the number of SIPs; w and h are the columns and rows of a grid, or 0.
func fabricSpec(shape Shape, count, w, h int) *Spec {
	s := testSpec()
	s.System.SIPs.Topology, s.System.SIPs.Count, s.System.SIPs.W, s.System.SIPs.H = shape, count, w, h
	s.SIP.CubeMesh.W, s.SIP.CubeMesh.H = 1, 1
	return s
}

func mustCompile(t testing.TB, s *Spec) *Graph {
	t.Helper()
	g, err := Compile(s)
	if err != nil {
		t.Fatalf("Compile: %v", err)
	}
	return g
}

// drawSpec draws a random small system of any shape.
func drawSpec(t *rapid.T) *Spec {
	s := testSpec()
	n := func(name string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, name) }
	sips := &s.System.SIPs
	sips.Topology = rapid.SampledFrom(Shapes).Draw(t, "topology")
	sips.Link.Links = n("links", 1, 3)
	if sips.Topology.Grid() {
		sips.W, sips.H = n("sips.w", 1, 4), n("sips.h", 1, 4)
		sips.Count = sips.W * sips.H
	} else {
		sips.Count = n("sips", 1, 6)
	}
	s.SIP.CubeMesh.W, s.SIP.CubeMesh.H = n("cubes.w", 1, 3), n("cubes.h", 1, 3)
	noc := &s.Cube.NoC
	noc.W, noc.H = n("noc.w", 1, 4), n("noc.h", 1, 4)
	corners := []int{1}
	if noc.W > 1 {
		corners = append(corners, 2)
	}
	if noc.W > 1 && noc.H > 1 {
		corners = append(corners, 4)
	}
	s.Cube.PELayout = PELayout{Corners: rapid.SampledFrom(corners).Draw(t, "corners"), PEPerCorner: n("pe_per_corner", 1, 3)}
	s.Cube.CPU.At = Site{n("cpu.row", 0, noc.H-1), n("cpu.col", 0, noc.W-1)}
	s.Cube.SRAM.At = Site{n("sram.row", 0, noc.H-1), n("sram.col", 0, noc.W-1)}
	return s
}

// TestCounts checks the number of components and links of systems of several sizes.
func TestCounts(t *testing.T) {
	pairs := func(w, h int) int { return (w-1)*h + w*(h-1) } // neighbours in a mesh
	for _, size := range []struct{ cubesW, cubesH, nocW, nocH int }{{4, 4, 4, 4}, {1, 1, 2, 2}, {3, 2, 2, 5}, {1, 3, 3, 2}} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			s := testSpec()
			s.SIP.CubeMesh.W, s.SIP.CubeMesh.H = size.cubesW, size.cubesH
			s.Cube.NoC.W, s.Cube.NoC.H = size.nocW, size.nocH
			s.Cube.CPU.At, s.Cube.SRAM.At = Site{0, 0}, Site{1, 1}
			g := mustCompile(t, s)

			cubes, ports := size.cubesW*size.cubesH, 2*pairs(size.cubesW, size.cubesH)+size.cubesW
			const pes, unitLinks = 8, 14 + 1 + 5 + 1 // data in both directions; commands of CPU, scheduler, IPCQ
			nodes := 1 + 2*(3+size.cubesW+cubes*(size.nocW*size.nocH+2+9*pes)+ports)
			links := 2 + 4 + 2*(4+2*size.cubesW+ // SIPs, host, IO chiplet
				2*pairs(size.cubesW, size.cubesH)+2*size.cubesW+2*ports+
				cubes*(2*pairs(size.nocW, size.nocH)+4+unitLinks*pes))
			if g.NumNodes() != nodes || g.NumLinks() != links {
				t.Errorf("%d nodes and %d links, want %d and %d", g.NumNodes(), g.NumLinks(), nodes, links)
			}
		})
	}
	if g := mustCompile(t, testSpec()); g.NumNodes() != 2999 || g.NumLinks() != 7390 {
		t.Errorf("the default has %d nodes and %d links, want 2999 and 7390", g.NumNodes(), g.NumLinks())
	}
}

// TestLinkNumbers checks the bandwidth and the latency of each kind of link.
func TestLinkNumbers(t *testing.T) {
	g := mustCompile(t, testSpec())
	for _, c := range []struct {
		link string
		want Link
	}{
		{"host->sip1.io.pcie", Link{Bandwidth: 60 * GBps, Latency: 500 * ns}},
		{"sip1.io.pcie->sip1.io.switch", Link{Bandwidth: 320 * GBps, Latency: 5_000}},
		{"sip1.io.cpu->sip1.io.switch", Link{Bandwidth: 320 * GBps, Latency: 5_000}},
		{"sip1.io.switch->sip1.io.ucie3", Link{Bandwidth: 320 * GBps, Latency: 135_000}},
		{"sip0.io.switch->sip1.io.switch", Link{Bandwidth: 64 * GBps, Latency: 150 * ns}},
		{"sip0.io.ucie0->sip0.cube0.ucie_n", Link{Bandwidth: 128 * GBps, Latency: 10_000}},
		{"sip0.cube5.ucie_e->sip0.cube6.ucie_w", Link{Bandwidth: 128 * GBps, Latency: 10_000}},
		{"sip0.cube5.ucie_s->sip0.cube9.ucie_n", Link{Bandwidth: 128 * GBps, Latency: 10_000}},
		{"sip0.cube5.r1c3->sip0.cube5.ucie_e", Link{Bandwidth: 384 * GBps, Latency: 10_000}},
		{"sip0.cube5.r1c0->sip0.cube5.ucie_w", Link{Bandwidth: 384 * GBps, Latency: 10_000}},
		{"sip0.cube5.r0c1->sip0.cube5.ucie_n", Link{Bandwidth: 384 * GBps, Latency: 10_000}},
		{"sip0.cube5.r3c1->sip0.cube5.ucie_s", Link{Bandwidth: 384 * GBps, Latency: 10_000}},
		{"sip0.cube5.r1c1->sip0.cube5.r1c2", Link{Bandwidth: 384 * GBps, Latency: 20_000}},
		{"sip0.cube5.r0c2->sip0.cube5.cpu", Link{Bandwidth: 384 * GBps, Latency: 5_000}},
		{"sip0.cube5.r3c0->sip0.cube5.sram", Link{Bandwidth: 130 * GBps, Latency: 5_000}},
		{"sip0.cube5.r3c1->sip0.cube5.hbm5", Link{Bandwidth: 256 * GBps, Latency: 5_000}},
		{"sip0.cube5.pe5.dma->sip0.cube5.r3c1", Link{Bandwidth: 260 * GBps, Latency: 5_000}},
		{"sip0.cube5.r3c1->sip0.cube5.pe5.cpu", Link{Bandwidth: 384 * GBps, Latency: 6_250}},
		{"sip0.cube5.pe5.dma->sip0.cube5.pe5.tcm", Link{Bandwidth: 500 * GBps, Latency: 1_250}},
		{"sip0.cube5.pe5.tcm->sip0.cube5.pe5.dma", Link{Bandwidth: 512 * GBps, Latency: 1_250}},
		{"sip0.cube5.pe5.tcm->sip0.cube5.pe5.fetch_store", Link{Bandwidth: 1024 * GBps, Latency: 1_250}},
		{"sip0.cube5.pe5.fetch_store->sip0.cube5.pe5.gemm", Link{Bandwidth: Unlimited, Latency: 2_500}},
		{"sip0.cube5.pe5.cpu->sip0.cube5.pe5.scheduler", Link{Bandwidth: Unlimited, Latency: 1_250}},
		{"sip0.cube5.pe5.ipcq->sip0.cube5.pe5.dma", Link{Bandwidth: Unlimited, Latency: 1_250}},
	} {
		ids, ok := g.LookupLink(c.link)
		if !ok || len(ids) != 1 {
			t.Errorf("%s: %d links, want 1", c.link, len(ids))
			continue
		}
		got := g.Link(ids[0])
		if got.Bandwidth != c.want.Bandwidth || got.Latency != c.want.Latency {
			t.Errorf("%s: %v %v, want %v %v", c.link, got.Bandwidth, got.Latency, c.want.Bandwidth, c.want.Latency)
		}
	}
}

func TestExplicitLatencyReplacesWire(t *testing.T) {
	s := testSpec()
	noc, ucie := 3*ns, 7*ns
	s.Cube.NoC.Latency, s.SIP.UCIe.Latency = &noc, &ucie
	g := mustCompile(t, s)
	for name, want := range map[string]Time{
		"sip0.cube5.r1c1->sip0.cube5.r1c2":     3 * ns,
		"sip0.cube5.ucie_e->sip0.cube6.ucie_w": 7 * ns,
		"sip0.io.ucie1->sip0.cube1.ucie_n":     7 * ns,
		"sip0.cube5.r1c3->sip0.cube5.ucie_e":   10_000,
		"sip0.cube5.r3c0->sip0.cube5.sram":     5_000,
	} {
		ids, _ := g.LookupLink(name)
		if len(ids) != 1 || g.Link(ids[0]).Latency != want {
			t.Errorf("%s: %v, want one link of %v", name, ids, want)
		}
	}
}

// TestGraphIsSound checks that links are in the order of From and To, that every link has a
// latency, that links outside of PEs have a link back, and that the methods that return
// components by their place agree with the nodes.
func TestGraphIsSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpec(t)
		g, err := Compile(s)
		if err != nil {
			t.Fatalf("Compile: %v", err)
		}
		links := g.Links()
		for i, l := range links {
			if i > 0 && (links[i-1].From > l.From || links[i-1].From == l.From && links[i-1].To > l.To) {
				t.Fatalf("link %d, %s, comes after %s", i, g.LinkName(LinkID(i)), g.LinkName(LinkID(i-1)))
			}
			if l.Latency <= 0 {
				t.Fatalf("%s has latency %v, want more than 0", g.LinkName(LinkID(i)), l.Latency)
			}
			if _, back := g.LinkBetween(l.To, l.From); !back && g.Node(l.From).Kind < KindPECPU {
				t.Fatalf("%s has no link back", g.LinkName(LinkID(i)))
			}
		}
		for id := range NodeID(g.NumNodes()) {
			n := g.Node(id)
			sip, cube, i := int(n.SIP), int(n.Cube), int(n.Index)
			var again NodeID
			switch n.Kind {
			case KindHost:
				again = g.Host()
			case KindSwitch:
				again = g.centralSwitch()
			case KindPCIe:
				again = g.PCIe(sip)
			case KindIOCPU:
				again = g.IOCPU(sip)
			case KindIOSwitch:
				again = g.IOSwitch(sip)
			case KindUCIe:
				if again = g.ioUCIe(sip, i); cube >= 0 {
					again = g.port(sip, cube, Direction(i))
				}
			case KindRouter:
				again = g.Router(sip, cube, i/s.Cube.NoC.W, i%s.Cube.NoC.W)
			case KindCubeCPU:
				again = g.CubeCPU(sip, cube)
			case KindSRAM:
				again = g.SRAM(sip, cube)
			case KindHBM:
				again = g.HBM(sip, cube, i)
			default:
				again = g.PENode(sip, cube, i, n.Kind)
			}
			if again != id {
				t.Fatalf("node %d %+v is node %d by its place", id, n, again)
			}
		}
	})
}

func TestCompileTwiceIsIdentical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpec(t)
		a, errA := Compile(s)
		b, errB := Compile(s)
		if errA != nil || errB != nil {
			t.Fatalf("Compile: %v, %v", errA, errB)
		}
		if diff := cmp.Diff(a.Links(), b.Links()); diff != "" {
			t.Fatalf("links differ:\n%s", diff)
		}
		for id := range NodeID(a.NumNodes()) {
			if a.Node(id) != b.Node(id) {
				t.Fatalf("node %d is %+v and %+v", id, a.Node(id), b.Node(id))
			}
		}
	})
}

func TestPENodeRefusesOtherKinds(t *testing.T) {
	g := mustCompile(t, testSpec())
	defer func() {
		if recover() == nil {
			t.Error("PENode(KindHBM) returned, want a panic")
		}
	}()
	g.PENode(0, 0, 0, KindHBM)
}

// thousandSIPs returns the largest system that the design requires: 131,072 PEs.
func thousandSIPs() *Spec {
	s := testSpec()
	s.System.SIPs.Topology, s.System.SIPs.Count = Torus2D, 1024
	return s
}

func TestThousandSIPsFit(t *testing.T) {
	if testing.Short() {
		t.Skip("builds 1.5 million components")
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	g := mustCompile(t, thousandSIPs())
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	// The limits are far above the usual time and memory (see the benchmark), to find only
	// gross regressions.
	if took > 10*time.Second {
		t.Errorf("compiling took %v, want at most 10s", took)
	}
	if got := Bytes(after.TotalAlloc - before.TotalAlloc); got > 4*GiB {
		t.Errorf("compiling allocated %v, want at most 4GiB", got)
	}
	if want := 1 + 1024*1499; g.NumNodes() != want {
		t.Errorf("%d nodes, want %d", g.NumNodes(), want)
	}
	if want := 1024 * (3692 + 2 + 4); g.NumLinks() != want { // links inside a SIP, of the host, of the torus
		t.Errorf("%d links, want %d", g.NumLinks(), want)
	}
}

func BenchmarkCompile1024SIPs(b *testing.B) {
	b.ReportAllocs() // reports B/op in addition to the seconds
	for b.Loop() {
		mustCompile(b, thousandSIPs())
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/op")
}
