package collperf

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// fabric is the shape and size of a fabric of SIPs.
type fabric struct {
	shape topology.Shape
	w, h  int
}

// sets returns the settings KEY=VALUE that give a system this fabric.
func (f fabric) sets() []string {
	sets := []string{"system.sips.topology=" + string(f.shape), fmt.Sprintf("system.sips.count=%d", f.w*f.h)}
	if f.shape.Grid() {
		sets = append(sets, fmt.Sprintf("system.sips.w=%d", f.w), fmt.Sprintf("system.sips.h=%d", f.h))
	}
	return sets
}

// fabrics returns fabrics of all shapes with up to a few SIPs. The grids include grids of
// one row, of one column, and of several rows and columns.
func fabrics() (all []fabric) {
	for _, shape := range topology.Shapes {
		if !shape.Grid() {
			for _, n := range []int{1, 2, 3, 6, 7, 8} {
				all = append(all, fabric{shape, n, 1})
			}
			continue
		}
		for _, g := range [][2]int{{2, 3}, {3, 2}, {1, 5}, {5, 1}, {2, 2}, {3, 3}, {4, 4}} {
			all = append(all, fabric{shape, g[0], g[1]})
		}
	}
	return all
}

// systems has the compiled systems of a property test, by preset and fabric.
type systems map[string]*topology.Graph

// draw draws a fabric and a preset. It returns them and the system that they describe, with
// the given settings. A SIP of the preset default has 2×2 cubes.
func (s systems) draw(t *testing.T, r *rapid.T, sets ...string) (f fabric, preset string, g *topology.Graph) {
	f = rapid.SampledFrom(fabrics()).Draw(r, "fabric")
	preset = rapid.SampledFrom([]string{"alpha_beta", "default"}).Draw(r, "preset")
	key := fmt.Sprint(preset, f)
	if s[key] == nil {
		sets = append(sets, f.sets()...)
		if preset == "default" {
			sets = append(sets, "sip.cube_mesh.w=2", "sip.cube_mesh.h=2")
		}
		s[key] = system(t, preset, sets...)
	}
	return f, preset, s[key]
}

// TestAnyFabric measures random combinations of fabric, collective, algorithm, size, dtype
// and kind of ranks. It checks that every value is right, that all ranks have the same
// bits, and that no time is below its bound. The system is either a preset on which only
// links between SIPs take time, or a complete machine.
func TestAnyFabric(t *testing.T) {
	systems := systems{}
	rapid.Check(t, func(r *rapid.T) {
		f, preset, graph := systems.draw(t, r)
		c := rapid.SampledFrom(ccl.Collectives()).Draw(r, "collective")
		o := Options{
			Topology: graph, Collective: c, Threads: 1,
			RanksPer: rapid.SampledFrom([]RanksPer{PerSIP, PerSIP, PerPE}).Draw(r, "ranks per"),
			World:    f.w * f.h,
			DTypes:   []tl.DType{rapid.SampledFrom(dtypes).Draw(r, "dtype")},
			Buffer:   rapid.SampledFrom(topology.BufferKinds).Draw(r, "buffer"),
			NoCheck:  rapid.SampledFrom([]bool{false, false, true}).Draw(r, "no check"),
		}
		o.Algorithm = Auto
		if rapid.IntRange(0, 9).Draw(r, "auto") > 0 {
			o.Algorithm = rapid.SampledFrom(ccl.Algorithms(c)).Draw(r, "algorithm").Name
		}
		if o.World > 1 && rapid.Bool().Draw(r, "some") {
			o.World = rapid.IntRange(1, o.World).Draw(r, "world")
		}
		if c == ccl.SendRecv && o.World == 1 {
			return
		}
		o.Root = rapid.IntRange(0, o.World-1).Draw(r, "root")
		o.Partial = c == ccl.AllReduce && o.RanksPer == PerSIP && preset == "default" && rapid.Bool().Draw(r, "partial")
		size := 1
		if in, out := blocks(c, o.World); max(in, out) > 0 {
			size = max(in, out)
		}
		o.Min = topology.Bytes(rapid.SampledFrom([]int{1, 5, 100, 4099, 50_000}).Draw(r, "count") * o.DTypes[0].Size() * size)
		o.Max = o.Min
		checkRows(t, o, measure(t, o))
	})
}
