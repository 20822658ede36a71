package ccl_test

import (
	"testing"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/ccl/cost"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/topology"
)

// network returns the network of the ranks of an experiment, for package cost.
func network(t *testing.T, e *ccl.Experiment) *cost.Network {
	g, pes := e.System(t)
	return cost.NewNetwork(g, pes, g.Spec().PE.IPCQ)
}

// TestAutoIsNearTheOptimum checks that the algorithm that auto picks for a large all-reduce
// takes at most a given multiple of the exact optimum of each fabric. The optimum is in
// units of M/b: message size divided by the bandwidth of a link (see
// TestBoundIsTheOptimumOfFabrics of ccl/bound). The multiple is larger for a mesh, because
// no algorithm whose ranks reduce equal blocks is faster there than a ring through all
// SIPs.
func TestAutoIsNearTheOptimum(t *testing.T) {
	for _, c := range []struct {
		on      ccl.Fabric
		optimum float64
		most    float64 // maximum time, as a multiple of the optimum
	}{
		{ccl.NewFabric("alpha_beta", topology.Ring1D, 6, 1), 0.833, 1.10},
		{ccl.NewFabric("alpha_beta", topology.Torus2D, 2, 3), 0.556, 1.10},
		{ccl.NewFabric("alpha_beta", topology.Torus2D, 4, 4), 0.469, 1.10},
		{ccl.NewFabric("alpha_beta", topology.Mesh2DNoWrap, 2, 3), 0.714, 1.25},
		{ccl.NewFabric("alpha_beta", topology.Mesh2DNoWrap, 4, 4), 0.625, 1.55},
		{ccl.NewFabric("alpha_beta", topology.Line, 4, 1), 1, 1.10},
	} {
		const bytes = 16 << 20
		e := c.on.Experiment(ccl.AllReduce, bytes)
		a, _ := cost.Pick(&e.Plan, network(t, &e))
		got := e.With(a).Time(t).NS() / (bytes / 100)
		if ratio := got / c.optimum; ratio > c.most {
			t.Errorf("%v: auto picks %s, which takes %.3f M/b, %.3f of the optimum, want %v at most", c.on, a.Name, got, ratio, c.most)
		}
	}
}

// fabrics lists the fabrics of TestAutoIsNearTheBest.
var fabrics = []ccl.Fabric{
	ccl.NewFabric("alpha_beta", topology.Ring1D, 6, 1), ccl.NewFabric("alpha_beta", topology.Torus2D, 2, 3), ccl.NewFabric("alpha_beta", topology.Mesh2DNoWrap, 3, 2),
	ccl.NewFabric("alpha_beta", topology.Mesh2DNoWrap, 4, 4), ccl.NewFabric("alpha_beta", topology.Torus2D, 4, 4), ccl.NewFabric("alpha_beta", topology.Line, 5, 1),
	ccl.NewFabric("alpha_beta", topology.FullyConnected, 8, 1), ccl.NewFabric("alpha_beta", topology.Switch, 7, 1),
	ccl.NewFabric("default", topology.Ring1D, 6, 1), ccl.NewFabric("default", topology.Torus2D, 2, 3), ccl.NewFabric("default", topology.Mesh2DNoWrap, 2, 3), ccl.NewFabric("default", topology.Ring1D, 2, 1),
}

// TestAutoIsNearTheBest checks that the algorithm that auto picks takes at most 10 % longer
// than the fastest algorithm.
func TestAutoIsNearTheBest(t *testing.T) {
	for _, on := range fabrics {
		for _, bytes := range []int{64, 4 << 10, 32 << 10, 256 << 10} {
			compare(t, on.Experiment(ccl.AllReduce, bytes))
		}
	}
	for _, bytes := range []int{64, 64 << 10} { // addends on all cubes
		e := ccl.NewFabric("default", topology.Torus2D, 2, 3).Experiment(ccl.AllReduce, bytes)
		compare(t, *e.OnCubes(16))
	}
}

// compare runs an experiment with every algorithm. It fails the test if the algorithm that
// auto picks takes more than 10 % longer than the fastest.
func compare(t *testing.T, e ccl.Experiment) {
	t.Helper()
	var best string
	least := simtime.Never
	times := map[string]simtime.Time{}
	for _, a := range ccl.Algorithms(ccl.AllReduce) {
		times[a.Name] = e.With(a).Time(t)
		if times[a.Name] < least {
			best, least = a.Name, times[a.Name]
		}
	}
	picked, cost := cost.Pick(&e.Plan, network(t, &e))
	if got := times[picked.Name]; got > least+least/10 {
		t.Errorf("%v: auto picks %s for %v, which takes %v, and %s takes %v", e.With(picked), picked.Name, cost, got, best, least)
	}
}
