package topology

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/config"
)

// withoutLinks makes links of s absent and returns s.
func withoutLinks(s *Spec, links ...string) *Spec {
	for _, l := range links {
		s.Overrides = append(s.Overrides, Override{Link: l, Absent: true})
	}
	return s
}

// TestOverrideNumbers checks that overrides change the bandwidth and latency of the named
// links, and of no other link.
func TestOverrideNumbers(t *testing.T) {
	s := testSpec()
	s.System.SIPs.Link.Links = 2
	slow, far := 7*GBps, 900*ns
	s.Overrides = []Override{
		{Link: "sip0.io.switch<->sip1.io.switch", Bandwidth: &slow},
		{Link: "sip0.io.switch->sip1.io.switch#1", Latency: &far},
		{Link: "sip1.cube3.r0c0->sip1.cube3.r0c1", Latency: &far},
	}
	g, before := mustCompile(t, s), mustCompile(t, testSpec2Links())
	changed := map[string]Link{}
	for id, l := range g.Links() {
		if l != before.Link(LinkID(id)) {
			changed[g.LinkName(LinkID(id))] = Link{Bandwidth: l.Bandwidth, Latency: l.Latency}
		}
	}
	want := map[string]Link{
		"sip0.io.switch->sip1.io.switch#0": {Bandwidth: 7 * GBps, Latency: 150 * ns},
		"sip0.io.switch->sip1.io.switch#1": {Bandwidth: 7 * GBps, Latency: 900 * ns},
		"sip1.io.switch->sip0.io.switch#0": {Bandwidth: 7 * GBps, Latency: 150 * ns},
		"sip1.io.switch->sip0.io.switch#1": {Bandwidth: 7 * GBps, Latency: 150 * ns},
		"sip1.cube3.r0c0->sip1.cube3.r0c1": {Bandwidth: 384 * GBps, Latency: 900 * ns},
	}
	if diff := cmp.Diff(want, changed); diff != "" {
		t.Errorf("changed links (-want +got):\n%s", diff)
	}
}

// testSpec2Links returns testSpec with two parallel links between neighbouring SIPs.
func testSpec2Links() *Spec {
	s := testSpec()
	s.System.SIPs.Link.Links = 2
	return s
}

// TestDetours checks the routes around absent links.
func TestDetours(t *testing.T) {
	ring := func() *Spec { return fabricSpec(Ring1D, 4, 0, 0) }
	for _, c := range []struct {
		name           string
		spec           *Spec
		from, to, want string
	}{
		{"NoC", withoutLinks(testSpec(), "sip0.cube0.r0c0->sip0.cube0.r0c1"),
			"sip0.cube0.pe0.dma", "sip0.cube0.hbm1", "cube0.r0c0 cube0.r1c0 cube0.r1c1 cube0.r0c1 cube0.hbm1"},
		{"NoC, other direction untouched", withoutLinks(testSpec(), "sip0.cube0.r0c0->sip0.cube0.r0c1"),
			"sip0.cube0.hbm1", "sip0.cube0.pe0.dma", "cube0.r0c1 cube0.r0c0 cube0.pe0.dma"},
		{"NoC, other SIP untouched", withoutLinks(testSpec(), "sip1.cube0.r0c0->sip1.cube0.r0c1"),
			"sip0.cube0.pe0.dma", "sip0.cube0.hbm1", "cube0.r0c0 cube0.r0c1 cube0.hbm1"},
		{"NoC of a cube on the way", withoutLinks(testSpec(), "sip0.cube1.r1c1<->sip0.cube1.r1c2"),
			"sip0.cube0.pe2.dma", "sip0.cube2.hbm0",
			"cube0.r0c3 cube0.r1c3 cube0.ucie_e cube1.ucie_w " +
				"cube1.r1c0 cube1.r0c0 cube1.r0c1 cube1.r0c2 cube1.r0c3 cube1.r1c3 " +
				"cube1.ucie_e cube2.ucie_w cube2.r1c0 cube2.r0c0 cube2.hbm0"},
		{"cube mesh", withoutLinks(testSpec(), "sip0.cube0.ucie_e->sip0.cube1.ucie_w"),
			"sip0.cube0.pe7.dma", "sip0.cube1.hbm0",
			"cube0.r3c2 cube0.r3c1 cube0.ucie_s cube4.ucie_n " +
				"cube4.r0c1 cube4.r0c2 cube4.r0c3 cube4.r1c3 cube4.ucie_e cube5.ucie_w " +
				"cube5.r1c0 cube5.r0c0 cube5.r0c1 cube5.ucie_n cube1.ucie_s " +
				"cube1.r3c1 cube1.r2c1 cube1.r1c1 cube1.r0c1 cube1.r0c0 cube1.hbm0"},
		{"to the IO chiplet", withoutLinks(testSpec(), "sip0.cube0.r0c1->sip0.cube0.ucie_n"),
			"sip0.cube0.pe2.dma", "sip0.io.cpu",
			"cube0.r0c3 cube0.r1c3 cube0.ucie_e cube1.ucie_w cube1.r1c0 cube1.r0c0 cube1.r0c1 cube1.ucie_n io.ucie1 io.switch io.cpu"},
		{"from the IO chiplet", withoutLinks(testSpec(), "sip0.io.switch->sip0.io.ucie0"),
			"sip0.io.cpu", "sip0.cube0.hbm2",
			"io.switch io.ucie1 cube1.ucie_n cube1.r0c1 cube1.r0c0 cube1.r1c0 cube1.ucie_w cube0.ucie_e cube0.r1c3 cube0.r0c3 cube0.hbm2"},
		{"ring", withoutLinks(ring(), "sip0.io.switch->sip1.io.switch"),
			"sip0.io.cpu", "sip1.io.cpu", "io.switch sip3.io.switch sip2.io.switch sip1.io.switch sip1.io.cpu"},
		{"ring, other direction untouched", withoutLinks(ring(), "sip0.io.switch->sip1.io.switch"),
			"sip1.io.cpu", "sip0.io.cpu", "sip1.io.switch io.switch io.cpu"},
		{"fully connected, lowest first", withoutLinks(fabricSpec(FullyConnected, 4, 0, 0), "sip0.io.switch->sip3.io.switch"),
			"sip0.io.cpu", "sip3.io.cpu", "io.switch sip1.io.switch sip3.io.switch sip3.io.cpu"},
	} {
		g := mustCompile(t, c.spec)
		if diff := cmp.Diff(c.want, nodeNames(g, route(t, g, c.from, c.to))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestAbsentParallelLink removes two of four parallel links. It checks that the other two
// links keep their names and share the routes.
func TestAbsentParallelLink(t *testing.T) {
	s := fabricSpec(Ring1D, 2, 0, 0)
	s.System.SIPs.Link.Links = 4
	g := mustCompile(t, withoutLinks(s, "sip0.io.switch->sip1.io.switch#1", "sip0.io.switch->sip1.io.switch#0"))
	ids, _ := g.LookupLink("sip0.io.switch->sip1.io.switch")
	var names []string
	for _, id := range ids {
		names = append(names, g.LinkName(id))
		if again, ok := g.LookupLink(g.LinkName(id)); !ok || len(again) != 1 || again[0] != id {
			t.Errorf("LookupLink(%s) = %v, want [%d]", g.LinkName(id), again, id)
		}
	}
	want := []string{"sip0.io.switch->sip1.io.switch#2", "sip0.io.switch->sip1.io.switch#3"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Fatalf("links that remain (-want +got):\n%s", diff)
	}
	for pe := range 8 {
		path, err := g.Route(nil, g.HBM(0, 0, pe), g.HBM(1, 0, pe))
		if err != nil {
			t.Fatal(err)
		}
		// The lane is the PE plus 1, the destination's SIP.
		if want := ids[(pe+1)%2]; !strings.Contains(strings.Join(linkNames(g, path), " "), g.LinkName(want)) {
			t.Errorf("PE %d goes by %v, want by %s", pe, linkNames(g, path), g.LinkName(want))
		}
	}
}

func linkNames(g *Graph, path []LinkID) []string {
	var names []string
	for _, id := range path {
		names = append(names, g.LinkName(id))
	}
	return names
}

func TestOverrideErrors(t *testing.T) {
	small := func() *Spec { // two cubes of 2×2 routers
		s := testSpec()
		s.SIP.CubeMesh.W, s.SIP.CubeMesh.H = 2, 1
		s.Cube.NoC.W, s.Cube.NoC.H = 2, 2
		s.Cube.CPU.At, s.Cube.SRAM.At = Site{0, 0}, Site{1, 1}
		return s
	}
	for _, c := range []struct {
		name string
		spec *Spec
		want []string
	}{
		{"no arrow", withoutLinks(small(), "sip0"), []string{`overrides[0].link: no link "sip0": ` + nameRule}},
		{"no component", withoutLinks(small(), "host->sip7.io.pcie"), []string{
			`overrides[0].link: no link "host->sip7.io.pcie": there is no component "sip7.io.pcie"; did you mean sip0.io.pcie?`}},
		{"misspelt component", withoutLinks(small(), "sip1.cube1.roc1->sip1.cube1.r0c0"), []string{
			`overrides[0].link: no link "sip1.cube1.roc1->sip1.cube1.r0c0": there is no component "sip1.cube1.roc1"; did you mean sip1.cube1.r0c1?`}},
		{"unheard-of component", withoutLinks(small(), "host->moon"), []string{
			`overrides[0].link: no link "host->moon": there is no component "moon"; ` + nameRule}},
		{"no such parallel link", withoutLinks(testSpec2Links(), "host->sip0.io.pcie#1", "sip0.io.pcie->sip1.io.pcie", "sip1.io.switch->sip0.io.switch#2"), []string{
			`overrides[0].link: no link "host->sip0.io.pcie#1": from there lead host->sip0.io.pcie, host->sip1.io.pcie`,
			`overrides[1].link: no link "sip0.io.pcie->sip1.io.pcie": from there lead sip0.io.pcie->host, sip0.io.pcie->sip0.io.switch`,
			`overrides[2].link: no link "sip1.io.switch->sip0.io.switch#2": from there lead sip1.io.switch->sip0.io.switch#0, ` +
				"sip1.io.switch->sip0.io.switch#1, sip1.io.switch->sip1.io.pcie, sip1.io.switch->sip1.io.cpu, " +
				"sip1.io.switch->sip1.io.ucie0, sip1.io.switch->sip1.io.ucie1, sip1.io.switch->sip1.io.ucie2, sip1.io.switch->sip1.io.ucie3"}},
		{"not joined", withoutLinks(small(), "host->sip0.io.cpu"), []string{
			`overrides[0].link: no link "host->sip0.io.cpu": from there lead host->sip0.io.pcie, host->sip1.io.pcie`}},
		{"only way", withoutLinks(small(), "sip0.cube0.hbm0->sip0.cube0.r0c0"), []string{
			"overrides[0].link: sip0.cube0.hbm0->sip0.cube0.r0c0 is the only way from sip0.cube0.hbm0 to sip0.cube0.r0c0: it cannot be absent"}},
		{"all at once", withoutLinks(small(), "x", "host->sip0.io.pcie", "sip0.cube0.r0c0->sip0.cube0.r0c1"), []string{
			`overrides[0].link: no link "x": ` + nameRule,
			"overrides[1].link: host->sip0.io.pcie is the only way from host to sip0.io.pcie: it cannot be absent"}},
		{"fabric", withoutLinks(small(), "sip0.io.switch->sip1.io.switch"), []string{
			"overrides[0].link: the absent links leave no way from sip0.io.switch to sip1.io.switch in the SIP fabric: keep one"}},
		{"NoC, by the last of several", withoutLinks(small(), "sip1.cube1.r0c0->sip1.cube1.r0c1", "sip1.cube1.r0c0->sip1.cube1.r1c0"), []string{
			"overrides[1].link: the absent links leave no way from sip1.cube1.r0c0 to sip1.cube1.r1c1 in the NoC of sip1.cube1: keep one"}},
		{"cube mesh, though the IO chiplet joins both", withoutLinks(small(), "sip0.cube0.ucie_e->sip0.cube1.ucie_w"), []string{
			"overrides[0].link: the absent links leave no way from sip0.cube0.r0c0 to sip0.cube1.r0c0 in the cube mesh of sip0: keep one"}},
		{"IO chiplet", withoutLinks(small(), "sip0.cube0.ucie_n->sip0.io.ucie0", "sip0.io.ucie1->sip0.io.switch"), []string{
			"overrides[1].link: the absent links leave no way from sip0.cube1.r0c0 to sip0.io.switch in the cube mesh of sip0: keep one"}},
	} {
		_, err := Compile(c.spec)
		if err == nil {
			t.Errorf("%s: compiled, want an error", c.name)
			continue
		}
		if diff := cmp.Diff(strings.Join(c.want, "\n"), err.Error()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		var at *config.Error
		if !errors.As(err, &at) {
			t.Errorf("%s: %T holds no *config.Error", c.name, err)
		}
	}
}

// TestUnusedRouterMayBeCutOff checks that a router without endpoints may be unreachable.
func TestUnusedRouterMayBeCutOff(t *testing.T) {
	s := withoutLinks(testSpec(), "sip0.cube0.r2c2<->sip0.cube0.r1c2", "sip0.cube0.r2c2<->sip0.cube0.r3c2",
		"sip0.cube0.r2c2<->sip0.cube0.r2c1", "sip0.cube0.r2c2<->sip0.cube0.r2c3")
	g := mustCompile(t, s)
	if want := 7390 - 8; g.NumLinks() != want {
		t.Errorf("%d links, want %d", g.NumLinks(), want)
	}
}

// TestAbsentLinksLeaveEndpointsReachable removes random links and checks that either
// Compile returns an error or every endpoint still reaches every other. Routers without
// endpoints are left out.
func TestAbsentLinksLeaveEndpointsReachable(t *testing.T) {
	compiled := 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpec(t)
		whole, err := Compile(s)
		if err != nil {
			t.Fatal(err)
		}
		var candidates []string
		for id, l := range whole.Links() {
			if _, ok := levelOf(whole.Node(l.From), whole.Node(l.To)); ok {
				candidates = append(candidates, whole.LinkName(LinkID(id)))
			}
		}
		withoutLinks(s, rapid.SliceOfN(rapid.SampledFrom(candidates), 0, 3).Draw(t, "absent")...)
		g, err := Compile(s)
		if err != nil {
			if !strings.Contains(err.Error(), "overrides[") {
				t.Fatalf("the error names no override: %v", err)
			}
			return
		}
		compiled++
		ids := endpoints(g)
		from := rapid.SampledFrom(ids).Draw(t, "from")
		for _, to := range ids {
			unused := func(id NodeID) bool { return g.Node(id).Kind == KindRouter && !g.hasEndpoint(id) }
			if to != from && !unused(from) && !unused(to) {
				checkRoute(t, g, from, to)
				checkRoute(t, g, to, from)
			}
		}
	})
	if compiled == 0 {
		t.Error("every random system was refused: the property was never tried")
	}
}
