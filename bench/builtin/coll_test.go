package builtin

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/collperf"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// collParams returns the bench coll and the values of all its parameters: those in changes,
// and the defaults of the others.
func collParams(t *testing.T, changes map[string]string) (bench.Bench, map[string]string) {
	t.Helper()
	b, ok := bench.Find("coll")
	if !ok {
		t.Fatal("no bench coll")
	}
	params := map[string]string{}
	for _, p := range b.Params {
		params[p.Name] = p.Default
	}
	for name, value := range changes {
		params[name] = value
	}
	return b, params
}

// TestCollOptions checks that the parameters set the options of kernbench coll.
func TestCollOptions(t *testing.T) {
	g := compilePreset(t, "ring6")
	_, params := collParams(t, map[string]string{
		"collective": "reduce", "algo": "tree", "size": "4K", "dtype": "f32", "op": "max", "root": "2", "ranks-per": "pe", "world": "5",
		"buffer": "hbm", "values": "reals", "iters": "3",
	})
	got, err := collOptions(func(name string) string { return params[name] }, g, ccl.Default())
	want := collperf.Options{
		Topology: g, CCL: ccl.Default(), Collective: ccl.Reduce, Algorithm: "tree", Min: 4096, Max: 4096, DTypes: []tl.DType{numeric.F32},
		Reductions: []ccl.Reduction{ccl.Max}, Root: 2, RanksPer: collperf.PerPE, World: 5, Buffer: topology.BufferHBM, Values: collperf.Reals, Iters: 3,
	}
	got.Topology, want.Topology, got.CCL, want.CCL = nil, nil, nil, nil
	if diff := cmp.Diff(want, got, cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "Experiment" }, cmp.Ignore())); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

// TestCollCost checks that a larger size, more ranks and more iterations cost more, and
// that the cost is 0 on a system without enough ranks.
func TestCollCost(t *testing.T) {
	g := compilePreset(t, "ring6")
	cost := func(changes map[string]string) float64 {
		b, params := collParams(t, changes)
		return b.Cost(params, g)
	}
	if got, want := cost(nil), 6*8+2*5*16.0; got != want {
		t.Errorf("64 KiB over 6 ranks: got %v, want %v", got, want)
	}
	for name, changes := range map[string]map[string]string{
		"size": {"size": "1M"}, "ranks": {"ranks-per": "pe", "world": "100"}, "iterations": {"iters": "2"}, "algorithm": {"algo": "direct_one_phase"},
	} {
		if got := cost(changes); got <= cost(nil) {
			t.Errorf("another %s: got %v, want more than %v", name, got, cost(nil))
		}
	}
	if got := cost(map[string]string{"world": "7"}); got != 0 {
		t.Errorf("7 ranks: got %v, want 0", got)
	}
}
