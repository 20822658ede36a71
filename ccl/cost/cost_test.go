package cost

import (
	"testing"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
)

// plan returns a plan for collective c with 20,000 elements of f16, and the network of its
// ranks. Each rank runs on one PE of a different cube of the default system.
func plan(t *testing.T, c ccl.Collective, ranks int) (*ccl.Plan, *Network) {
	g := graph(t)
	pes := make([]int, ranks)
	for rank := range pes {
		pes[rank] = rank * 8 // one on each cube
	}
	p := &ccl.Plan{
		Collective: c, Ranks: ranks, Root: ranks / 3, DType: tl.F16, Counts: []int{20_000}, Layout: ccl.NewLayout(g, pes),
		Messages: []ccl.Message{{From: 0, To: ranks - 1, Count: 5000}}, Chunk: 2048, Slots: 4, Tiles: 200,
	}
	return p, NewNetwork(g, pes, g.Spec().PE.IPCQ)
}

// TestCosts checks that the cost of each kind of schedule equals a recorded value.
func TestCosts(t *testing.T) {
	for _, tt := range []struct {
		algorithm  *ccl.Algorithm
		collective ccl.Collective
		ranks      int
		want       simtime.Time
	}{
		{ccl.Ring, ccl.AllReduce, 7, 1616743982},
		{ccl.Ring, ccl.AllToAll, 7, 22194015810},
		{ccl.HalvingDoubling, ccl.AllReduce, 7, 1818263950},
		{ccl.Tree, ccl.AllReduce, 7, 1943118085},
		{ccl.Tree, ccl.Barrier, 7, 228489513},
		{ccl.DoubleTree, ccl.AllReduce, 7, 1776099315},
		{ccl.Chain, ccl.Gather, 7, 3517670960},
		{ccl.Direct, ccl.AllReduce, 7, 1424367480},
		{ccl.Direct, ccl.AllGather, 16, 5829719811}, // through inboxes
		{ccl.Direct, ccl.SendRecv, 7, 195031240},
		{ccl.CenterRoot, ccl.AllReduce, 32, 7383878576}, // over trees and between roots
		{ccl.Ring, ccl.AllReduce, 1, 0},
	} {
		p, n := plan(t, tt.collective, tt.ranks)
		if got, ok := Cost(tt.algorithm, p, n); got != tt.want || !ok {
			t.Errorf("%s %v of %d ranks: %d fs, %v, want %d", tt.algorithm.Name, tt.collective, tt.ranks, got, ok, tt.want)
		}
	}
}

// TestScheduleOfAnAuthor checks that a schedule without messages costs nothing, and that a
// tree without a root panics.
func TestScheduleOfAnAuthor(t *testing.T) {
	p, n := plan(t, ccl.AllReduce, 7)
	for _, s := range []ccl.Schedule{{}, {Pipeline: &ccl.Pipeline{Ranks: 7, Phases: func(int) []ccl.Phase { return nil }}}} {
		if got := n.schedule(p, s); got != 0 {
			t.Errorf("%+v costs %v, want 0", s, got)
		}
	}
	defer func() {
		const want = "cost: a tree of the schedule has no root: set Root of one TreeNode"
		if got := recover(); got != want {
			t.Errorf("a tree without a root: %v, want %s", got, want)
		}
	}()
	n.schedule(p, ccl.Schedule{Trees: []func(int) ccl.TreeNode{func(int) ccl.TreeNode { return ccl.TreeNode{} }}})
}

// TestRegister checks that a formula takes precedence over the schedule, and that an
// algorithm with neither has no cost and is never picked.
func TestRegister(t *testing.T) {
	p, n := plan(t, ccl.AllReduce, 7)
	best, least := Pick(p, n)
	a := *ccl.Ring
	a.Name, a.Schedule = "own", nil
	if got, ok := Cost(&a, p, n); ok || got != 0 {
		t.Errorf("without a formula: %v, %v, want none", got, ok)
	}
	Register(&a, func(*ccl.Plan, *Network) simtime.Time { return least - 1 })
	defer delete(formulas, &a)
	if got, ok := Cost(&a, p, n); !ok || got != least-1 {
		t.Errorf("with a formula: %v, %v, want %v", got, ok, least-1)
	}
	Register(best, func(*ccl.Plan, *Network) simtime.Time { return simtime.Never })
	defer delete(formulas, best)
	if got, _ := Pick(p, n); got == best || got == nil {
		t.Errorf("%s costs more than all others and is picked", best.Name)
	}
}
