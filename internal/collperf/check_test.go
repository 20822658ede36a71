package collperf

import (
	"bytes"
	"context"
	"testing"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/tl"
)

// expectedOutputs returns the outputs of all ranks after a correct collective.
func (p *problem) expectedOutputs() [][]byte {
	outputs := make([][]byte, p.ranks)
	_, blocks := blocks(p.collective, p.ranks)
	for rank := range outputs {
		for j := range blocks {
			block := make([]byte, p.count*p.dtype.Size())
			if want := p.want(rank, j); want != nil {
				from, to := want.span(p.dtype, 0, p.count)
				if want.bits != nil {
					copy(block, want.bits[from*p.dtype.Size():to*p.dtype.Size()])
				} else {
					for i, x := range want.values[from:to] {
						numeric.Set(p.dtype, block, i, x)
					}
				}
			}
			outputs[rank] = append(outputs[rank], block...)
		}
	}
	return outputs
}

// TestWrong checks that countWrong counts each wrong element in the outputs of ranks.
func TestWrong(t *testing.T) {
	for _, c := range ccl.Collectives() {
		for _, values := range []Values{Integers, Reals} {
			p := &problem{series: series{dtype: tl.F32, root: 2}, collective: c, ranks: 4, addends: 1, count: 10, values: values}
			if c == ccl.Barrier {
				continue
			}
			drawValues(p)
			outputs := p.expectedOutputs()
			if n := p.countWrong(outputs); n != 0 {
				t.Errorf("%v of %s: %d wrong, want 0 of correct outputs", c, values, n)
			}
			for i, at := range []int{0, 7, 9} {
				numeric.Set(p.dtype, outputs[2], at, 1e9)
				if n := p.countWrong(outputs); n != i+1 {
					t.Errorf("%v of %s: %d wrong, want the %d that were planted", c, values, n, i+1)
				}
			}
		}
	}
}

// TestRanksDiffer checks that an element of an all-reduce counts as wrong if its bits
// differ between ranks, even if all are within the rounding tolerance. In a reduce-scatter,
// ranks have no elements in common, so the same change does not count as wrong.
func TestRanksDiffer(t *testing.T) {
	for c, want := range map[ccl.Collective]int{ccl.AllReduce: 1, ccl.ReduceScatter: 0} {
		p := &problem{series: series{dtype: tl.F32}, collective: c, ranks: 4, addends: 1, count: 10, values: Reals}
		drawValues(p)
		outputs := p.expectedOutputs()
		before := bytes.Clone(outputs[1])
		outputs[1][3*4] ^= 1 // the last bit of element 3
		if bytes.Equal(before, outputs[1]) {
			t.Fatal("nothing was planted")
		}
		if n := p.countWrong(outputs); n != want {
			t.Errorf("%v with a bit that differs: %d wrong, want %d", c, n, want)
		}
	}
}

// drawValues generates the inputs and the expected results of a problem.
func drawValues(p *problem) {
	if err := p.draw(context.Background()); err != nil {
		panic(err)
	}
}
