package collperf

import (
	"testing"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/ccl/bound"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/tl"
)

// TestPartial checks that an all-reduce of partial tensors over 6 SIPs of 16 cubes sums 96
// addends, and that its lower bound equals that of an all-reduce over 96 PEs.
func TestPartial(t *testing.T) {
	for _, name := range []string{"ring6", "torus2x3", "mesh2x3"} {
		o := Options{Topology: system(t, name), RanksPer: PerSIP, World: 6, Partial: true, Min: 2048, Max: 2048}
		rows := measure(t, o)
		checkRows(t, o, rows)
		limit := bound.Compute(o.Topology, o.pes(6), &ccl.Plan{Collective: ccl.AllReduce, DType: tl.U8, Counts: []int{2048}})
		if got := rows[0]; got.BoundUS != microseconds(limit.Time) || got.Bound != limit.Why {
			t.Errorf("%s: bound %v us, %s, want %+v", name, got.BoundUS, got.Bound, limit)
		}
	}
}

// TestPartialOfEveryKind checks the all-reduce of partial tensors by each algorithm, for
// whole and for real numbers, sums and averages. An average must divide by the number of
// ranks, not of addends.
func TestPartialOfEveryKind(t *testing.T) {
	g := system(t, "ring6", "sip.cube_mesh.w=2", "sip.cube_mesh.h=1")
	for _, values := range []Values{Integers, Reals} {
		o := Options{
			Topology: g, Algorithm: AllAlgorithms, RanksPer: PerSIP, World: 5, Partial: true, Min: 0, Max: 4100, StepBytes: 2050, Values: values,
			DTypes: []tl.DType{tl.F32, tl.BF16}, Reductions: []ccl.Reduction{ccl.Sum, ccl.Avg},
		}
		checkRows(t, o, measure(t, o))
	}
}

// TestPartialBusBW checks that the bus bandwidth of partial tensors counts each addend as a
// rank. The system has a single SIP with 16 addends, so there is only one rank.
func TestPartialBusBW(t *testing.T) {
	o := Options{Topology: system(t, "default", "system.sips.count=1"), RanksPer: PerSIP, Partial: true, Min: 64, Max: 64}
	if r := measure(t, o)[0]; *r.AlgBW == 0 || *r.BusBW != *r.AlgBW*2*15/16 {
		t.Errorf("busbw %v of algbw %v, want 30/16 of it", *r.BusBW, *r.AlgBW)
	}
}

// TestPartialPEs checks that the addends are on the first PE of each cube.
func TestPartialPEs(t *testing.T) {
	o := Options{Topology: system(t, "ring6"), RanksPer: PerSIP, Partial: true}
	pes := o.pes(6)
	if len(pes) != 96 || pes[1] != 8 || pes[16] != 128 || pes[95] != 760 {
		t.Errorf("got %v, want 0, 8, ... 760", pes)
	}
}

// TestPartialAddends checks that each addend has its own values, so that a missing addend
// is detected.
func TestPartialAddends(t *testing.T) {
	p := &problem{series: series{dtype: tl.F16}, collective: ccl.AllReduce, ranks: 6, addends: 16, count: 100}
	drawValues(p)
	for i, omitted := range p.inputs {
		sum := make([]byte, len(omitted))
		for j, x := range p.inputs {
			if j != i {
				numeric.Apply(numeric.Add, tl.F16, sum, sum, x)
			}
		}
		if n := p.countWrong([][]byte{sum}); n < 80 {
			t.Errorf("without addend %d %d of 100 values are wrong, want at least 80", i, n)
		}
		numeric.Apply(numeric.Add, tl.F16, sum, sum, omitted)
		if n := p.countWrong([][]byte{sum}); n != 0 {
			t.Errorf("with all addends %d values are wrong, want 0", n)
		}
	}
}
