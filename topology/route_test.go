package topology

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func lookup(t testing.TB, g *Graph, name string) NodeID {
	t.Helper()
	id, ok := g.Lookup(name)
	if !ok {
		t.Fatalf("no component %s", name)
	}
	return id
}

func route(t testing.TB, g *Graph, from, to string) []LinkID {
	t.Helper()
	path, err := g.Route(nil, lookup(t, g, from), lookup(t, g, to))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// nodeNames returns the names of the nodes that a path enters, without the prefix "sip0.".
func nodeNames(g *Graph, path []LinkID) string {
	var names []string
	for _, id := range path {
		names = append(names, strings.TrimPrefix(g.Name(g.Link(id).To), "sip0."))
	}
	return strings.Join(names, " ")
}

// TestRoutes checks the nodes, the latency and the bottleneck of routes inside and between
// SIPs.
func TestRoutes(t *testing.T) {
	g := mustCompile(t, testSpec())
	for _, c := range []struct {
		name, from, to string
		want           string
		latency        Time // by hand: wires and overheads
		bottleneck     BytesPerSec
	}{
		{"own slice", "sip0.cube0.hbm0", "sip0.cube0.pe0.tcm",
			"cube0.r0c0 cube0.pe0.dma cube0.pe0.tcm",
			1*ns + 5_000 + 5_000 + 1_250, 256 * GBps},
		{"same half", "sip0.cube0.hbm1", "sip0.cube0.pe0.tcm",
			"cube0.r0c1 cube0.r0c0 cube0.pe0.dma cube0.pe0.tcm",
			2*ns + 20_000 + 11_250, 256 * GBps},
		{"cross half", "sip0.cube0.hbm2", "sip0.cube0.pe0.tcm",
			"cube0.r0c3 cube0.r0c2 cube0.r0c1 cube0.r0c0 cube0.pe0.dma cube0.pe0.tcm",
			4*ns + 3*20_000 + 11_250, 256 * GBps},
		{"columns before rows", "sip0.cube0.pe0.dma", "sip0.cube0.hbm7",
			"cube0.r0c0 cube0.r0c1 cube0.r0c2 cube0.r1c2 cube0.r2c2 cube0.r3c2 cube0.hbm7",
			6*ns + 5*20_000 + 10_000, 256 * GBps},
		{"and back", "sip0.cube0.hbm7", "sip0.cube0.pe0.dma",
			"cube0.r3c2 cube0.r3c1 cube0.r3c0 cube0.r2c0 cube0.r1c0 cube0.r0c0 cube0.pe0.dma",
			6*ns + 5*20_000 + 10_000, 256 * GBps},
		{"shared memory", "sip0.cube0.pe5.tcm", "sip0.cube0.sram",
			"cube0.pe5.dma cube0.r3c1 cube0.r3c0 cube0.sram",
			2*ns + 2*ns + 1_250 + 5_000 + 20_000 + 5_000, 130 * GBps},
		{"between units of one PE", "sip0.cube0.pe0.tcm", "sip0.cube0.pe0.dma", "cube0.pe0.dma", 1_250, 512 * GBps},
		{"and back", "sip0.cube0.pe0.dma", "sip0.cube0.pe0.tcm", "cube0.pe0.tcm", 1_250, 500 * GBps},
		{"next cube", "sip0.cube0.hbm0", "sip0.cube1.pe0.tcm",
			"cube0.r0c0 cube0.r0c1 cube0.r0c2 cube0.r0c3 cube0.r1c3 cube0.ucie_e " +
				"cube1.ucie_w cube1.r1c0 cube1.r0c0 cube1.pe0.dma cube1.pe0.tcm",
			7*ns + 2*8*ns + 5*20_000 + 3*10_000 + 11_250, 128 * GBps},
		{"cube columns before cube rows", "sip0.cube5.cpu", "sip0.cube0.hbm1",
			"cube5.r0c2 cube5.r0c1 cube5.r0c0 cube5.r1c0 cube5.ucie_w cube4.ucie_e " +
				"cube4.r1c3 cube4.r1c2 cube4.r1c1 cube4.r0c1 cube4.ucie_n cube0.ucie_s " +
				"cube0.r3c1 cube0.r2c1 cube0.r1c1 cube0.r0c1 cube0.hbm1",
			12*ns + 4*8*ns + 9*20_000 + 6*10_000 + 2*5_000, 128 * GBps},
		{"other SIP", "sip0.cube0.pe0.tcm", "sip1.cube0.pe0.tcm",
			"cube0.pe0.dma cube0.r0c0 cube0.r0c1 cube0.ucie_n io.ucie0 io.switch " +
				"sip1.io.switch sip1.io.ucie0 sip1.cube0.ucie_n sip1.cube0.r0c1 sip1.cube0.r0c0 sip1.cube0.pe0.dma sip1.cube0.pe0.tcm",
			150*ns + 4*ns + 4*8*ns + 2*5*ns + 2*(1_250+5_000+20_000+10_000+10_000+155_000), 64 * GBps},
		{"host to memory", "host", "sip0.cube0.hbm0",
			"io.pcie io.switch io.ucie0 cube0.ucie_n cube0.r0c1 cube0.r0c0 cube0.hbm0",
			500*ns + 5*ns + 5*ns + 2*8*ns + 2*ns + 5_000 + 155_000 + 10_000 + 10_000 + 20_000 + 5_000, 60 * GBps},
		{"down the destination's column", "sip0.io.cpu", "sip0.cube6.cpu",
			"io.switch io.ucie2 cube2.ucie_n cube2.r0c1 cube2.r1c1 cube2.r2c1 cube2.r3c1 cube2.ucie_s " +
				"cube6.ucie_n cube6.r0c1 cube6.r0c2 cube6.cpu",
			5*ns + 4*8*ns + 6*ns + 5*ns + 5_000 + 45_000 + 5*10_000 + 4*20_000 + 5_000, 128 * GBps},
		{"up the source's column", "sip0.cube6.cpu", "sip0.io.pcie",
			"cube6.r0c2 cube6.r0c1 cube6.ucie_n cube2.ucie_s cube2.r3c1 cube2.r2c1 cube2.r1c1 cube2.r0c1 cube2.ucie_n " +
				"io.ucie2 io.switch io.pcie",
			5*ns + 4*8*ns + 6*ns + 5*ns + 5_000 + 45_000 + 5*10_000 + 4*20_000 + 5_000, 128 * GBps},
		{"host to endpoint", "host", "sip1.io.pcie", "sip1.io.pcie", 505 * ns, 60 * GBps},
		{"endpoint to host", "sip1.io.pcie", "host", "host", 500 * ns, 60 * GBps},
		{"host to IO CPU", "host", "sip0.io.cpu", "io.pcie io.switch io.cpu", 500*ns + 5*ns + 5*ns + 10*ns + 10_000, 60 * GBps},
	} {
		path := route(t, g, c.from, c.to)
		if diff := cmp.Diff(c.want, nodeNames(g, path)); diff != "" {
			t.Errorf("%s, %s to %s (-want +got):\n%s", c.name, c.from, c.to, diff)
		}
		if got := g.Latency(path); got != c.latency {
			t.Errorf("%s, %s to %s: latency %v, want %v", c.name, c.from, c.to, got, c.latency)
		}
		if got := g.Bottleneck(path); got != c.bottleneck {
			t.Errorf("%s, %s to %s: bottleneck %v, want %v", c.name, c.from, c.to, got, c.bottleneck)
		}
	}
}

func TestBottleneckOfUnlimitedLinks(t *testing.T) {
	s := testSpec()
	s.PE.TCM.ReadBandwidth = Unlimited
	g := mustCompile(t, s)
	if got := g.Bottleneck(route(t, g, "sip0.cube0.pe0.tcm", "sip0.cube0.pe0.dma")); got != Unlimited {
		t.Errorf("bottleneck %v, want unlimited", got)
	}
	if got := g.Bottleneck(route(t, g, "sip0.cube0.pe0.tcm", "sip0.cube0.hbm0")); got != 256*GBps {
		t.Errorf("bottleneck %v, want 256GB/s", got)
	}
}

// sipNames returns the names of the SIPs that a path from one SIP to another enters.
func sipNames(t *testing.T, g *Graph, from, to int) string {
	t.Helper()
	path, err := g.Route(nil, g.IOCPU(from), g.IOCPU(to))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, id := range path[1 : len(path)-1] {
		names = append(names, strings.TrimSuffix(g.Name(g.Link(id).To), ".io.switch"))
	}
	return strings.Join(names, " ")
}

func TestFabricRoutes(t *testing.T) {
	for _, c := range []struct {
		name                  string
		shape                 Shape
		count, w, h, from, to int
		want                  string
	}{
		{"shorter way forwards", Ring1D, 6, 0, 0, 5, 1, "sip0 sip1"},
		{"shorter way backwards", Ring1D, 6, 0, 0, 1, 5, "sip0 sip5"},
		{"tie goes forwards", Ring1D, 6, 0, 0, 4, 1, "sip5 sip0 sip1"},
		{"pair", Ring1D, 2, 0, 0, 1, 0, "sip0"},
		{"line has no way round", Line, 6, 0, 0, 5, 1, "sip4 sip3 sip2 sip1"},
		{"torus, columns first", Torus2D, 12, 4, 3, 0, 10, "sip1 sip2 sip10"},
		{"torus, both ways round", Torus2D, 12, 4, 3, 0, 11, "sip3 sip11"},
		{"torus of two columns", Torus2D, 6, 2, 3, 1, 4, "sip0 sip4"},
		{"mesh, columns first", Mesh2DNoWrap, 6, 3, 2, 0, 5, "sip1 sip2 sip5"},
		{"fully connected", FullyConnected, 6, 0, 0, 5, 1, "sip1"},
		{"switch", Switch, 6, 0, 0, 5, 1, "switch sip1"},
	} {
		g := mustCompile(t, fabricSpec(c.shape, c.count, c.w, c.h))
		if got := sipNames(t, g, c.from, c.to); got != c.want {
			t.Errorf("%s: %d to %d by %s, want %s", c.name, c.from, c.to, got, c.want)
		}
	}
}

// TestParallelLinksShare checks that the routes from each PE of a SIP to the corresponding
// PE of another SIP are divided evenly over the parallel links.
func TestParallelLinksShare(t *testing.T) {
	s := testSpec()
	s.System.SIPs.Link.Links = 4
	g := mustCompile(t, s)
	used := map[string]int{}
	for cube := range 16 {
		for pe := range 8 {
			path, err := g.Route(nil, g.PENode(0, cube, pe, KindTCM), g.HBM(1, cube, pe))
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range path {
				if g.Link(id).From == g.IOSwitch(0) {
					used[g.LinkName(id)]++
				}
			}
		}
	}
	want := map[string]int{
		"sip0.io.switch->sip1.io.switch#0": 32, "sip0.io.switch->sip1.io.switch#1": 32,
		"sip0.io.switch->sip1.io.switch#2": 32, "sip0.io.switch->sip1.io.switch#3": 32,
	}
	if diff := cmp.Diff(want, used); diff != "" {
		t.Errorf("routes per link (-want +got):\n%s", diff)
	}
}

func TestRouteErrors(t *testing.T) {
	s := testSpec()
	s.System.SIPs.Topology = Switch
	g := mustCompile(t, s)
	for _, c := range []struct{ from, to, want string }{
		{"sip0.cube0.pe0.tcm", "sip0.cube0.pe0.tcm", "route from sip0.cube0.pe0.tcm to itself: data that stays in place takes no path"},
		{"host", "host", "route from host to itself: data that stays in place takes no path"},
		{"host", "sip0.cube0.pe0.gemm", "route from host to sip0.cube0.pe0.gemm: sip0.cube0.pe0.gemm is not an endpoint of the network"},
		{"switch", "host", "route from switch to host: switch is not an endpoint of the network"},
	} {
		path, err := g.Route(nil, lookup(t, g, c.from), lookup(t, g, c.to))
		if err == nil || err.Error() != c.want || len(path) != 0 {
			t.Errorf("%s to %s: %v, %v\nwant %s", c.from, c.to, path, err, c.want)
		}
	}
}

// checkRoute checks that the route between two endpoints leads from one to the other, uses
// no link twice and has a latency above 0.
func checkRoute(t *rapid.T, g *Graph, from, to NodeID) {
	prefix := LinkID(-1)
	got, err := g.Route([]LinkID{prefix}, from, to)
	if err != nil {
		t.Fatal(err)
	}
	path := got[1:]
	if got[0] != prefix || len(path) == 0 {
		t.Fatalf("%s to %s: Route gave %v, want links after the %d in the buffer", g.Name(from), g.Name(to), got, prefix)
	}
	at, used := from, map[LinkID]bool{}
	for _, id := range path {
		if l := g.Link(id); l.From != at || used[id] {
			t.Fatalf("%s to %s: %s at %s, used before: %v", g.Name(from), g.Name(to), g.LinkName(id), g.Name(at), used[id])
		}
		at, used[id] = g.Link(id).To, true
	}
	if at != to || g.Latency(path) <= 0 {
		t.Fatalf("%s to %s: the path ends at %s after %v", g.Name(from), g.Name(to), g.Name(at), g.Latency(path))
	}
}

func endpoints(g *Graph) []NodeID {
	var ids []NodeID
	for id := range NodeID(g.NumNodes()) {
		if g.Node(id).isEndpoint() {
			ids = append(ids, id)
		}
	}
	return ids
}

func TestEveryEndpointReachesEveryOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, err := Compile(drawSpec(t))
		if err != nil {
			t.Fatal(err)
		}
		ids := endpoints(g)
		from := rapid.SampledFrom(ids).Draw(t, "from")
		for _, to := range ids {
			if to != from {
				checkRoute(t, g, from, to)
				checkRoute(t, g, to, from)
			}
		}
	})
}

func TestRouteAllocatesNothing(t *testing.T) {
	g := mustCompile(t, testSpec())
	buf := make([]LinkID, 0, 64)
	from, to := g.PENode(0, 15, 7, KindTCM), g.HBM(1, 15, 7)
	allocs := testing.AllocsPerRun(100, func() {
		if _, err := g.Route(buf, from, to); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("Route allocates %v times, want 0", allocs)
	}
}

func BenchmarkRouteAcrossSIPs(b *testing.B) {
	g := mustCompile(b, testSpec())
	buf := make([]LinkID, 0, 64)
	from, to := g.PENode(0, 15, 7, KindTCM), g.HBM(1, 15, 7)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := g.Route(buf, from, to); err != nil {
			b.Fatal(err)
		}
	}
}
