package ccl

import (
	"testing"

	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// Experiment is an exported name of the type experiment. The tests of package ccl_test use
// it to compare measured times with those of ccl/bound and ccl/cost.
type Experiment = experiment

// With returns a copy of the experiment that uses algorithm a.
func (e experiment) With(a *Algorithm) *Experiment {
	e.algorithm = a
	return &e
}

// Time runs the experiment and returns the length of the critical path of its launch.
func (e *experiment) Time(t testing.TB) simtime.Time {
	t.Helper()
	return e.run(t, nil).time
}

// System returns the graph that the experiment runs on, and the PE of each rank.
func (e *experiment) System(t testing.TB) (g *topology.Graph, pes []int) {
	t.Helper()
	for rank := range e.Ranks {
		pes = append(pes, int(e.pe(rank)))
	}
	return graph(t, e.preset, e.sets...), pes
}

// Fabric is a fabric of devices for experiments.
type Fabric = sipFabric

// NewFabric returns a fabric of w × h devices with the settings of a preset.
func NewFabric(preset string, shape topology.Shape, w, h int) Fabric {
	return Fabric{preset, shape, w, h}
}

// Experiment returns an experiment that runs collective c over all devices of the fabric.
// The caller sets the algorithm.
func (f sipFabric) Experiment(c Collective, bytes int) Experiment {
	return f.experiment(nil, c, bytes)
}

// OnCubes changes the experiment so that the first PE of each cube is a rank. Each device
// becomes a square of the given number of cubes.
func (e *experiment) OnCubes(cubes int) *Experiment {
	g := squareGrid(cubes)
	e.Ranks, e.stride, e.Layout.CubeW, e.Layout.CubeH = e.Ranks*cubes, 8, g.w, g.h
	return e
}

// NewPutGet returns an experiment with an all-reduce in which each rank reads addends from
// the memory of all other ranks and writes sums to that memory. Only the ports of DMA and
// HBM take time.
func NewPutGet(ranks, elems int) *Experiment {
	const pieces = 32
	e := classic(&Algorithm{
		Name:      "exchange",
		Neighbors: func(*Plan, int) []Neighbor { return make([]Neighbor, 1) },
		Inbox:     func(*Plan) int { return 2 * elems }, // addends and sums
		Kernel: func(t *tl.PE, a *Args) {
			n := elems / ranks / pieces
			for piece := range pieces {
				at := (a.Rank*pieces + piece) * n
				sum := t.Get(a.Rank, a.Work.Add(at), tl.Shape{n}, tl.F16)
				for i := 1; i < ranks; i++ {
					sum = sum.Add(t.Get((a.Rank+i)%ranks, a.Work.Add(at), tl.Shape{n}, tl.F16))
				}
				for i := range ranks {
					t.Put((a.Rank+i)%ranks, a.Work.Add(elems+at), sum)
				}
			}
		},
	}, AllReduce, ranks, elems)
	e.timing, e.inboxes = true, true
	e.sets = []string{
		"cube.noc.bandwidth=unlimited", "cube.hbm.channel_bandwidth=unlimited", "pe.math.cycles.simple=0",
		"pe.tcm.read_bandwidth=unlimited", "pe.tcm.write_bandwidth=unlimited", "pe.fetch_store.bandwidth=unlimited",
	}
	return &e
}
