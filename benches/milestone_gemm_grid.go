package benches

import (
	"github.com/kernbench/kernbench/topology"
)

// gemmGrid is the sizes of a sweep, and which of them figures show.
type gemmGrid struct {
	name    string // "pe" or "device"
	title   string
	m, k, n []int

	slice  int                        // the k of figures over m and n
	curve  func(m int) topology.Dims3 // of times over m
	along  string                     // what m is there
	stages []int                      // the m of products whose stages are shown
}

// gemmGrids is the sweeps by the parameter.
var gemmGrids = map[string][]gemmGrid{
	"all": {
		{
			name: "pe", title: "one PE",
			m: []int{16, 32, 64, 128, 256, 512}, k: []int{64, 256, 1024, 4096}, n: []int{16, 32, 64, 128, 256, 512},
			slice: 1024, along: "M = N, with K = 1024",
			curve:  func(m int) topology.Dims3 { return topology.Dims3{M: m, K: 1024, N: m} },
			stages: []int{16, 64, 256},
		},
		{
			name: "device", title: "a device",
			m: []int{128, 256, 512, 1024, 2048}, k: []int{512, 2048}, n: []int{1024, 2048, 4096},
			slice: 2048, along: "M, with K = N = 2048",
			curve:  func(m int) topology.Dims3 { return topology.Dims3{M: m, K: 2048, N: 2048} },
			stages: []int{128, 512, 2048},
		},
	},
	"few": {
		{
			name: "pe", title: "one PE", m: []int{16, 64}, k: []int{64, 256}, n: []int{16, 64},
			slice: 256, along: "M = N, with K = 256",
			curve:  func(m int) topology.Dims3 { return topology.Dims3{M: m, K: 256, N: m} },
			stages: []int{64},
		},
		{
			name: "device", title: "a device", m: []int{32, 64}, k: []int{64}, n: []int{128},
			slice: 64, along: "M, with K = 64 and N = 128",
			curve:  func(m int) topology.Dims3 { return topology.Dims3{M: m, K: 64, N: 128} },
			stages: []int{64},
		},
	},
}

// points returns those of the grid, by variant.
func (g gemmGrid) points() (points []gemmPoint) {
	for _, o := range operandVariants {
		for _, k := range g.k {
			for _, m := range g.m {
				for _, n := range g.n {
					points = append(points, newGemmPoint(g.name, o, m, k, n))
				}
			}
		}
	}
	return points
}

// pes returns how many PEs multiply.
func (g gemmGrid) pes(s *topology.Spec) int {
	if g.name == "pe" {
		return 1
	}
	return s.CubesPerSIP() * s.PEsPerCube()
}
