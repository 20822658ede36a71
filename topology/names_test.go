package topology

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestNames(t *testing.T) {
	s := testSpec()
	s.System.SIPs.Topology = Switch
	g := mustCompile(t, s)
	for _, c := range []struct {
		id   NodeID
		want string
	}{
		{g.Host(), "host"},
		{g.centralSwitch(), "switch"},
		{g.PCIe(1), "sip1.io.pcie"},
		{g.IOCPU(1), "sip1.io.cpu"},
		{g.IOSwitch(0), "sip0.io.switch"},
		{g.ioUCIe(0, 3), "sip0.io.ucie3"},
		{g.Router(1, 0, 2, 1), "sip1.cube0.r2c1"},
		{g.CubeCPU(0, 5), "sip0.cube5.cpu"},
		{g.SRAM(0, 5), "sip0.cube5.sram"},
		{g.HBM(0, 5, 3), "sip0.cube5.hbm3"},
		{g.port(0, 5, North), "sip0.cube5.ucie_n"},
		{g.port(0, 5, East), "sip0.cube5.ucie_e"},
		{g.port(0, 5, South), "sip0.cube5.ucie_s"},
		{g.port(0, 5, West), "sip0.cube5.ucie_w"},
		{g.PENode(0, 5, 3, KindPECPU), "sip0.cube5.pe3.cpu"},
		{g.PENode(0, 5, 3, KindScheduler), "sip0.cube5.pe3.scheduler"},
		{g.PENode(0, 5, 3, KindDMA), "sip0.cube5.pe3.dma"},
		{g.PENode(0, 5, 3, KindFetchStore), "sip0.cube5.pe3.fetch_store"},
		{g.PENode(0, 5, 3, KindGEMM), "sip0.cube5.pe3.gemm"},
		{g.PENode(0, 5, 3, KindMath), "sip0.cube5.pe3.math"},
		{g.PENode(0, 5, 3, KindTCM), "sip0.cube5.pe3.tcm"},
		{g.PENode(0, 5, 3, KindIPCQ), "sip0.cube5.pe3.ipcq"},
	} {
		if got := g.Name(c.id); got != c.want {
			t.Errorf("Name(%d) = %s, want %s", c.id, got, c.want)
		}
	}
}

// TestLookupRefuses checks that Lookup finds no component for names that do not exist.
func TestLookupRefuses(t *testing.T) {
	g := mustCompile(t, testSpec())
	for _, name := range []string{
		"", ".", "switch", "host.", "Host", "sip0", "sip2.io.cpu", "sip00.io.cpu", "sip+0.io.cpu", "sip-1.io.cpu",
		"sip0.io", "sip0.io.", "sip0.io.ucie4", "sip0.io.ucie", "sip0.io.dma", "sip0.io.pcie.x",
		"sip0.cube16.cpu", "sip0.cube0", "sip0.cube0.r4c0", "sip0.cube0.r0c4", "sip0.cube0.r0", "sip0.cube0.r0c", "sip0.cube0.r0c00",
		"sip0.cube0.hbm8", "sip0.cube0.hbm", "sip0.cube0.ucie_w", "sip0.cube15.ucie_s", "sip0.cube0.ucie", "sip0.cube0.pe0",
		"sip0.cube0.pe0.", "sip0.cube0.pe8.cpu", "sip0.cube0.pe0.hbm", "sip0.cube0.pe0.cpu.x", "sip0.cube0.pcie",
	} {
		if id, ok := g.Lookup(name); ok {
			t.Errorf("Lookup(%q) = %s, want none", name, g.Name(id))
		}
	}
}

func TestNamesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, err := Compile(drawSpec(t))
		if err != nil {
			t.Fatalf("Compile: %v", err)
		}
		id := NodeID(rapid.IntRange(0, g.NumNodes()-1).Draw(t, "node"))
		if got, ok := g.Lookup(g.Name(id)); !ok || got != id {
			t.Fatalf("Lookup(%q) = %d, %v, want %d", g.Name(id), got, ok, id)
		}
		link := LinkID(rapid.IntRange(0, g.NumLinks()-1).Draw(t, "link"))
		name := g.LinkName(link)
		got, ok := g.LookupLink(name)
		if !ok || len(got) != 1 || got[0] != link {
			t.Fatalf("LookupLink(%q) = %v, %v, want [%d]", name, got, ok, link)
		}
	})
}

func TestLookupLink(t *testing.T) {
	s := testSpec()
	s.System.SIPs.Link.Links = 3
	g := mustCompile(t, s)
	for _, c := range []struct {
		name string
		want []string
	}{
		{"host->sip0.io.pcie", []string{"host->sip0.io.pcie"}},
		{"host<->sip0.io.pcie", []string{"host->sip0.io.pcie", "sip0.io.pcie->host"}},
		{"sip0.io.switch->sip1.io.switch", []string{
			"sip0.io.switch->sip1.io.switch#0", "sip0.io.switch->sip1.io.switch#1", "sip0.io.switch->sip1.io.switch#2"}},
		{"sip0.io.switch->sip1.io.switch#0", []string{"sip0.io.switch->sip1.io.switch#0"}},
		{"sip0.io.switch->sip1.io.switch#2", []string{"sip0.io.switch->sip1.io.switch#2"}},
		{"sip0.io.switch<->sip1.io.switch#1", []string{"sip0.io.switch->sip1.io.switch#1", "sip1.io.switch->sip0.io.switch#1"}},
		{" host <->  sip0.io.pcie ", []string{"host->sip0.io.pcie", "sip0.io.pcie->host"}},
		{"host -> sip0.io.pcie", []string{"host->sip0.io.pcie"}},
		{"sip0.cube0.pe0.cpu<->sip0.cube0.pe0.scheduler", []string{"sip0.cube0.pe0.cpu->sip0.cube0.pe0.scheduler"}},
		{"sip0.io.switch->sip1.io.switch#3", nil},
		{"sip0.io.switch->sip1.io.switch#01", nil},
		{"sip0.io.switch->sip1.io.switch#-1", nil},
		{"sip0.io.switch->sip1.io.switch#", nil},
		{"host->sip0.io.cpu", nil},
		{"host-sip0.io.pcie", nil},
		{"host->", nil},
		{"", nil},
	} {
		ids, ok := g.LookupLink(c.name)
		var got []string
		for _, id := range ids {
			got = append(got, g.LinkName(id))
		}
		if diff := cmp.Diff(c.want, got); diff != "" || ok != (len(c.want) > 0) {
			t.Errorf("LookupLink(%q) ok=%v (-want +got):\n%s", c.name, ok, diff)
		}
	}
}

func FuzzLookup(f *testing.F) {
	s := testSpec()
	s.System.SIPs.Topology = Switch
	g := mustCompile(f, s)
	for _, name := range []string{"host", "sip0.io.ucie1", "sip1.cube15.r3c3", "sip0.cube5.pe7.fetch_store", "sip0.cube0.ucie_w", "sip0.cube0.rc"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if id, ok := g.Lookup(name); ok && g.Name(id) != name {
			t.Errorf("Lookup(%q) is %s", name, g.Name(id))
		}
	})
}
