package describe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/topology"
)

// compile returns the default system with the given settings KEY=VALUE changed.
func compile(t *testing.T, sets ...string) *topology.Graph {
	t.Helper()
	spec, err := topology.Parse("test", []byte("extends: default\n"), sets...)
	if err != nil {
		t.Fatal(err)
	}
	g, err := topology.Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func number(n json.Number) *json.Number { return &n }

// TestNumbers checks the totals of a system, and the exact rates and bandwidths of PEs and
// HBM.
func TestNumbers(t *testing.T) {
	m := Describe(compile(t))
	want := Totals{
		Cubes: 32, PEs: 256, GEMM: number("2097.152"), HBM: "1649267441664", HBMBandwidth: number("65536"),
		SRAM: "1073741824", Nodes: m.Totals.Nodes, Links: m.Totals.Links,
	}
	if diff := cmp.Diff(want, m.Totals); diff != "" {
		t.Errorf("totals (-want +got):\n%s", diff)
	}
	tests := []struct {
		name      string
		got, want json.Number
	}{
		{"GEMM of a PE, 2·16·16·16·10⁹", *m.PerPE.GEMM, "8.192"},
		{"MATH of a PE, 64·10⁹", *m.PerPE.Math, "64"},
		{"rings, 8·4·4 KiB", m.PerPE.Rings, "131072"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, tt.got, tt.want)
		}
	}
	// The narrower of the slice's link and its channels determines the bandwidth. Sums may
	// exceed an int64.
	tests2 := []struct {
		sets []string
		want *json.Number
	}{
		{[]string{"cube.hbm.channels=4"}, number("32768")},
		{[]string{"cube.hbm.channels=16"}, number("65536")},
		{[]string{"cube.hbm.bandwidth=unlimited"}, number("65536")},
		{[]string{"cube.hbm.channel_bandwidth=unlimited"}, number("65536")},
		{[]string{"cube.hbm.channel_bandwidth=unlimited", "cube.hbm.bandwidth=unlimited"}, nil},
		{[]string{"cube.hbm.channel_bandwidth=unlimited", "cube.hbm.bandwidth=100000TB/s"}, number("25600000000")},
	}
	for _, tt := range tests2 {
		got := Describe(compile(t, tt.sets...)).Totals.HBMBandwidth
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%v: HBM bandwidth (-want +got):\n%s", tt.sets, diff)
		}
	}
}

// TestCorners checks which PEs and routers belong to each corner.
func TestCorners(t *testing.T) {
	m := Describe(compile(t, "cube.pe_layout.corners=2", "cube.pe_layout.pe_per_corner=3"))
	want := []Corner{
		{"W", []int{0, 1, 2}, []string{"r0c0", "r0c1", "r1c0"}},
		{"E", []int{3, 4, 5}, []string{"r0c3", "r0c2", "r1c3"}},
	}
	if diff := cmp.Diff(want, m.Corners); diff != "" {
		t.Errorf("corners (-want +got):\n%s", diff)
	}
}

// TestNoTime checks that engines that take no time, and so have infinite rates, have no
// number for the rate.
func TestNoTime(t *testing.T) {
	m := Describe(compile(t, "pe.gemm.clock=100GHz", "pe.gemm.array={m: 1048576, k: 1048576, n: 1048576}", "pe.math.cycles.simple=0"))
	if m.PerPE.GEMM != nil || m.PerPE.Math != nil || m.Totals.GEMM != nil {
		t.Errorf("peaks: got %v, %v and %v, want none", m.PerPE.GEMM, m.PerPE.Math, m.Totals.GEMM)
	}
	tree := m.Tree(DepthPE)
	for _, want := range []string{"gemm: in no time, array", "math: in no time, 64 lanes", ", GEMM in no time, HBM"} {
		if !strings.Contains(tree, want) {
			t.Errorf("tree lacks %q:\n%s", want, tree)
		}
	}
}

// TestSection checks that the JSON has the keys of the YAML, with their units.
func TestSection(t *testing.T) {
	g := compile(t, "sip.ucie.latency=1.5ns", "sip.io.bandwidth=unlimited",
		"overrides=[{link: host->sip0.io.pcie, bandwidth: unlimited}, {link: host->sip1.io.pcie, latency: 1 fs}]")
	text, err := json.Marshal(Describe(g))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, want string }{
		{"nested as in the file", `"gemm":{"clock_ghz":1,"array":{"m":16,"k":16,"n":16}`},
		{"words", `"sips":{"count":2,"topology":"ring_1d","link":{"bandwidth_gbs":100,"latency_ns":150,"links":1}`},
		{"wires", `"system":{"flit_bytes":256,"wire_delay_ns_per_mm":0.01,`},
		{"distance", `"cube_mesh":{"w":4,"h":4,"gap_mm":1}`},
		{"optional", `"ucie":{"bandwidth_gbs":128,"overhead_ns":8,"latency_ns":1.5}`},
		{"unlimited", `"switch":{"overhead_ns":5},"bandwidth_gbs":null}`},
		{"place", `"sram":{"at":"r3c0","size_bytes":33554432,`},
		{"the file names the unit", `"launch_bytes":64}`},
		{"overrides", `"overrides":[{"link":"host-\u003esip0.io.pcie","bandwidth_gbs":null},{"link":"host-\u003esip1.io.pcie","latency_ns":0.000001}]`},
	}
	for _, tt := range tests {
		if !strings.Contains(string(text), tt.want) {
			t.Errorf("%s: no %s in\n%s", tt.name, tt.want, text)
		}
	}
}

// TestDecimal checks decimal for numbers with and without a fraction.
func TestDecimal(t *testing.T) {
	tests := []struct {
		digits string
		places int
		want   json.Number
	}{
		{"0", 0, "0"}, {"120", 0, "120"}, {"0", 9, "0"}, {"1", 3, "0.001"}, {"1500", 3, "1.5"}, {"1500", 4, "0.15"}, {"12000", 3, "12"},
	}
	for _, tt := range tests {
		if got := decimal(tt.digits, tt.places); got != tt.want {
			t.Errorf("decimal(%s, %d): got %s, want %s", tt.digits, tt.places, got, tt.want)
		}
	}
}

// TestTreeOfOverrides checks that the tree of a machine lists the overrides, and marks a
// group of siblings if an override changes one of the siblings.
func TestTreeOfOverrides(t *testing.T) {
	got := Describe(compile(t, "overrides=[{link: sip0.io.switch<->sip1.io.switch, bandwidth: unlimited, latency: 0 ns}, "+
		"{link: sip0.cube0.r0c0->sip0.cube0.r0c1, absent: true}]")).Tree(DepthSIP)
	for _, want := range []string{
		"└─ sip0 … sip1: 2 alike but for overrides\n",
		"overrides\n├─ sip0.io.switch<->sip1.io.switch: unlimited, 0 ns\n└─ sip0.cube0.r0c0->sip0.cube0.r0c1: absent\ntotal:",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("tree lacks %q:\n%s", want, got)
		}
	}
	// Only components that overrides name differ from their siblings.
	got = Describe(compile(t, "overrides=[{link: sip0.cube0.hbm1->sip0.cube0.r0c1, latency: 9 ns}]")).Tree(DepthPE)
	for _, want := range []string{"cube15: 16 alike but for overrides", "hbm7: 8 alike but for overrides", "pe7: 8 alike\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("tree lacks %q:\n%s", want, got)
		}
	}
}

// TestLinksCanceled checks that writing links stops when the context is canceled.
func TestLinksCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	g := compile(t)
	if err := WriteMachine(ctx, &bytes.Buffer{}, Describe(g), g); !errors.Is(err, context.Canceled) {
		t.Errorf("WriteMachine: got %v, want %v", err, context.Canceled)
	}
	if err := WriteLinks(ctx, &bytes.Buffer{}, g); !errors.Is(err, context.Canceled) {
		t.Errorf("WriteLinks: got %v, want %v", err, context.Canceled)
	}
}
