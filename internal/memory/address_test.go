package memory

import (
	"testing"

	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/topology"
)

func TestNames(t *testing.T) {
	tests := []struct{ got, want string }{
		{tcm.String(), "sip1.cube5.pe3.tcm"},
		{hbm.String(), "sip0.cube5.hbm3"},
		{ID{Kind: oplog.SRAM, SIP: 2, Cube: 9}.String(), "sip2.cube9.sram"},
		{ID{}.String(), "sip0.cube0.pe0: memory kind 0, of which there is none"},
		{Segment{hbm, 0x100, 0x80}.String(), "sip0.cube5.hbm3[0x100:0x180]"},
		{None.String(), "none"},
		{VA(0x10000).String(), "0x10000"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

// TestNamesAreThoseOfTheTopology checks that each memory has the same name in this package
// and in package topology.
func TestNamesAreThoseOfTheTopology(t *testing.T) {
	spec, err := topology.Preset("default")
	if err != nil {
		t.Fatal(err)
	}
	g, err := topology.Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	memories := 0
	for id := range topology.NodeID(g.NumNodes()) {
		n := g.Node(id)
		switch n.Kind {
		case topology.KindHBM, topology.KindSRAM, topology.KindTCM:
			memories++
			if got, want := (ID{Kind: Kinds[n.Kind], SIP: n.SIP, Cube: n.Cube, PE: n.Index}).String(), g.Name(id); got != want {
				t.Errorf("memory %d is called %s, in the topology %s", id, got, want)
			}
		}
	}
	if want := 2 * 16 * (8 + 1 + 8); memories != want {
		t.Errorf("the default system has %d memories, want %d", memories, want)
	}
}
