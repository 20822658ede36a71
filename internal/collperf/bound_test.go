package collperf

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/topology"
)

// shapes is fabrics of SIPs with as many as a test likes, as far as their grids allow.
var shapes = []struct {
	name string
	sips []int
	sets func(n int) []string
}{
	{"ring_1d", []int{2, 3, 5, 8}, nil},
	{"line", []int{2, 3, 5, 8}, nil},
	{"fully_connected", []int{2, 3, 5, 8}, nil},
	{"switch", []int{2, 3, 5, 8}, nil},
	{"torus_2d", []int{4, 6, 9}, grid},
	{"mesh_2d_no_wrap", []int{4, 6, 9}, grid},
}

func grid(n int) []string {
	w := 2 + n%2
	return []string{fmt.Sprintf("system.sips.w=%d", w), fmt.Sprintf("system.sips.h=%d", n/w)}
}

// TestNothingBeatsTheBound draws fabrics, algorithms and sizes. With links between SIPs
// that are all that takes time, or a whole machine; ranks are SIPs, their addends or PEs.
func TestNothingBeatsTheBound(t *testing.T) {
	graphs := map[string]*topology.Graph{}
	rapid.Check(t, func(r *rapid.T) {
		shape := rapid.SampledFrom(shapes).Draw(r, "shape")
		n := rapid.SampledFrom(shape.sips).Draw(r, "SIPs")
		preset := rapid.SampledFrom([]string{"alpha_beta", "default"}).Draw(r, "preset")
		key := fmt.Sprint(preset, shape.name, n)
		if graphs[key] == nil {
			sets := []string{"system.sips.topology=" + shape.name, fmt.Sprintf("system.sips.count=%d", n)}
			if shape.sets != nil {
				sets = append(sets, shape.sets(n)...)
			}
			if preset == "default" {
				sets = append(sets, "sip.cube_mesh.w=2", "sip.cube_mesh.h=1")
			}
			graphs[key] = system(t, preset, sets...)
		}
		c := rapid.SampledFrom(ccl.Collectives()).Draw(r, "collective")
		o := Options{
			Topology: graphs[key], Collective: c, NoCheck: true, Threads: 1,
			Algorithm: rapid.SampledFrom(ccl.Algorithms(c)).Draw(r, "algorithm").Name,
			RanksPer:  rapid.SampledFrom([]RanksPer{PerSIP, PerPE}).Draw(r, "ranks per"),
			World:     rapid.IntRange(2, n).Draw(r, "world"),
		}
		o.Root = rapid.IntRange(0, o.World-1).Draw(r, "root")
		o.Partial = c == ccl.AllReduce && o.RanksPer == PerSIP && preset == "default" && rapid.Bool().Draw(r, "partial")
		o.Min = topology.Bytes(rapid.SampledFrom([]int{1, 100, 4096, 100_000}).Draw(r, "block") * 2 * o.World)
		o.Max = o.Min
		right(t, o, measure(t, o))
	})
}
