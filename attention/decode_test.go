package attention

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// TestDecode compares the results of Decode with the reference on meshes of several shapes.
func TestDecode(t *testing.T) {
	for _, size := range meshes {
		for _, dtype := range []tl.DType{tl.F16, tl.F32} {
			for _, tokens := range []int{1, 5} {
				runDecode(t, newContext(t, torch.Options{Race: true}), Decode{
					Mesh: onPEs(size[0], size[1]), Heads: Heads{4, 2, 16}, Context: 37, Tokens: tokens,
				}, dtype)
			}
		}
	}
}

// TestDecodeRandom compares the results of Decode with the reference for random meshes,
// contexts and heads, with short queues.
func TestDecodeRandom(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		slots := rapid.SampledFrom([]string{"1", "4"}).Draw(r, "slots")
		self := newContext(t, torch.Options{Race: true}, "pe.ipcq.n_slots="+slots, "pe.ipcq.slot_size=256 B")
		kv := rapid.IntRange(1, 8).Draw(r, "kv")
		tokens := rapid.IntRange(1, 4).Draw(r, "tokens")
		runDecode(t, self, Decode{
			Mesh:    onPEs(rapid.IntRange(1, 5).Draw(r, "w"), rapid.IntRange(1, 4).Draw(r, "h")),
			Heads:   Heads{kv * rapid.IntRange(1, 3).Draw(r, "group"), kv, 8},
			Context: rapid.IntRange(tokens, 60).Draw(r, "context"),
			Tokens:  tokens,
		}, rapid.SampledFrom([]tl.DType{tl.F16, tl.F32}).Draw(r, "dtype"))
	})
}

// TestDecodeOverCubes compares the results of Decode with the reference if the heads are
// divided over the PEs of cubes.
func TestDecodeOverCubes(t *testing.T) {
	for _, h := range []Heads{{8, 1, 16}, {16, 2, 16}, {8, 8, 16}, {6, 3, 16}} {
		r := newContext(t, torch.Options{Race: true})
		runDecode(t, r, Decode{Mesh: OfSIP(r, 0, h.Lanes(8)), Heads: h, Context: 50, Tokens: 2}, tl.F16)
	}
}

// TestDecodeSmallTCM checks a decode whose shard of keys is larger than TCM and is read
// block by block. The decode also has so many new tokens that their softmax states do not
// fit into TCM at once.
func TestDecodeSmallTCM(t *testing.T) {
	r := newContext(t, torch.Options{Race: true}, "pe.tcm.size=64 KiB", "pe.ipcq.slot_size=512 B") // a shard has 75 KiB
	runDecode(t, r, Decode{Mesh: onPEs(2, 2), Heads: Heads{4, 2, 64}, Context: 600, Tokens: 10}, tl.F16)
}

// TestMergePorts checks through which port each place of a 4×3 mesh sends its softmax
// state, and that the middle place, 6, receives through all ports:
//
//	0 1  2  3     east  east  south west
//	4 5  6  7     east  east  -     west
//	8 9 10 11     east  east  north west
func TestMergePorts(t *testing.T) {
	g := grid{4, 3}
	if g.middle() != 6 {
		t.Errorf("the middle is %d, want 6", g.middle())
	}
	want := []tl.Port{
		tl.East, tl.East, tl.South, tl.West,
		tl.East, tl.East, tl.AnyPort, tl.West,
		tl.East, tl.East, tl.North, tl.West,
	}
	for place := range want {
		if _, to := g.mergePorts(place); to != want[place] {
			t.Errorf("from %d to %v, want %v", place, to, want[place])
		}
	}
	if from, _ := g.mergePorts(6); !slices.Equal(from, ports[:]) {
		t.Errorf("to the middle from %v, want %v", from, ports)
	}
}

// TestMeshShapes checks the sizes and the PEs of the meshes that OfCube and OfSIP return,
// and the connections of a 2×2 mesh.
func TestMeshShapes(t *testing.T) {
	r := newContext(t, torch.Options{NoData: true})
	// Corners NW, NE, SW and SE have two PEs each; the first is at the outer side.
	cube := OfCube(r, 0, 1)
	if want := []int{8, 9, 11, 10, 12, 13, 15, 14}; cube.W != 4 || cube.H != 2 || !slices.Equal(cube.Lanes[0], want) {
		t.Errorf("a cube is %v of %v, want 4×2 of %v", cube, cube.Lanes, want)
	}
	sip := OfSIP(r, 0, 8)
	if sip.W != 4 || sip.H != 4 || len(sip.Lanes) != 8 || sip.Lanes[3][5] != r.PE(0, 5, 3) {
		t.Errorf("a SIP is %v, with PE %d as lane 3 of cube 5; want 4×4, 8 lanes and PE %d", sip, sip.Lanes[3][5], r.PE(0, 5, 3))
	}
	table := onPEs(2, 2).Connections()
	want := []torch.Connection{
		{A: 0, APort: tl.East, B: 1, BPort: tl.West}, {A: 0, APort: tl.South, B: 2, BPort: tl.North},
		{A: 1, APort: tl.South, B: 3, BPort: tl.North}, {A: 2, APort: tl.East, B: 3, BPort: tl.West},
	}
	if !slices.Equal(table, want) {
		t.Errorf("connections of 2×2: got %v, want %v", table, want)
	}
}
