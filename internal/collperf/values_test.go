package collperf

import (
	"bytes"
	"math"
	"os"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/comm/launch"
	"github.com/kernbench/kernbench/internal/rapidtest"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/tl"
)

// TestMain draws the same random cases in every run, so that only a change of the code
// makes a test fail. The flags -rapid.seed and -rapid.checks select other cases. If ranks
// are processes, TestMain is also their main function.
func TestMain(m *testing.M) {
	launch.Child()
	rapidtest.Seed()
	os.Exit(m.Run())
}

// operations maps each reduction to the operation by which the simulated machine combines
// two elements.
var operations = map[ccl.Reduction]numeric.Op{
	ccl.Sum: numeric.Add, ccl.Avg: numeric.Add, ccl.Product: numeric.Mul, ccl.Min: numeric.Minimum, ccl.Max: numeric.Maximum,
	ccl.BAnd: numeric.BitAnd, ccl.BOr: numeric.BitOr, ccl.BXor: numeric.BitXor,
}

// combineInAnyOrder reduces the inputs of all ranks. It replaces two random inputs by their
// combination until one input is left. For an average, it then divides by the number of
// ranks. Each result is rounded to the dtype.
func combineInAnyOrder(t *rapid.T, p *problem) []byte {
	var rows [][]byte
	for _, row := range p.inputs {
		rows = append(rows, bytes.Clone(row))
	}
	for n := len(rows); n > 1; n-- {
		i := rapid.IntRange(0, n-1).Draw(t, "one")
		rows[i], rows[n-1] = rows[n-1], rows[i]
		j := rapid.IntRange(0, n-2).Draw(t, "other")
		numeric.Apply(operations[p.reduction], p.dtype, rows[j], rows[j], rows[n-1])
	}
	if p.reduction == ccl.Avg {
		divisor := make([]byte, len(rows[0]))
		for i := range p.count {
			numeric.Set(p.dtype, divisor, i, float64(p.ranks))
		}
		numeric.Apply(numeric.Div, p.dtype, rows[0], rows[0], divisor)
	}
	return rows[0]
}

// drawProblem generates a random all-reduce whose reduction the dtype supports.
func drawProblem(t *rapid.T, v Values, dtypes []tl.DType, maxRanks int) *problem {
	s := series{dtype: rapid.SampledFrom(dtypes).Draw(t, "dtype")}
	var served []ccl.Reduction
	for _, r := range ccl.Reductions() {
		if r != ccl.PremulSum && r.Serves(s.dtype) {
			served = append(served, r)
		}
	}
	s.reduction = rapid.SampledFrom(served).Draw(t, "reduction")
	ranks := rapid.IntRange(1, maxRanks).Draw(t, "ranks")
	p := &problem{series: s, collective: ccl.AllReduce, ranks: ranks, addends: 1, count: 32, values: v}
	drawValues(p)
	return p
}

// TestIntegersAreExact checks that the reduction of the generated whole numbers gives the
// same bits in any order.
func TestIntegersAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, Integers, numeric.DTypes, 3000)
		got := combineInAnyOrder(t, p)
		if !bytes.Equal(got, p.result.bits) {
			i := numeric.Equal(p.dtype, got, p.result.bits)
			t.Fatalf("%v of %v, %d ranks: element %d is %v, want %v",
				p.reduction, p.dtype, p.ranks, i, numeric.Get(p.dtype, got, max(i, 0)), numeric.Get(p.dtype, p.result.bits, max(i, 0)))
		}
	})
}

// TestIntegersTellBlocksApart checks that the expected result differs from itself shifted
// by several numbers of elements. Otherwise a misplaced block could have the expected
// values.
func TestIntegersTellBlocksApart(t *testing.T) {
	for _, d := range numeric.DTypes {
		for _, r := range ccl.Reductions() {
			if r == ccl.PremulSum || !r.Serves(d) {
				continue
			}
			for _, ranks := range []int{1, 2, 8, 1000} {
				p := &problem{series: series{dtype: d, reduction: r}, collective: ccl.AllReduce, ranks: ranks, addends: 1, count: 512}
				drawValues(p)
				size := d.Size()
				for _, offset := range []int{1, 4, 8, 16, 64, 128, 256} {
					if bytes.Equal(p.result.bits[offset*size:], p.result.bits[:len(p.result.bits)-offset*size]) {
						t.Errorf("%v of %v, %d ranks: the result repeats itself after %d elements", r, d, ranks, offset)
					}
				}
			}
		}
	}
}

// TestRealsAreWithin checks that the reduction of random real numbers, in any order, is
// within the tolerance of the reference.
func TestRealsAreWithin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, Reals, []tl.DType{tl.F16, tl.BF16, tl.F32, tl.F64}, 100)
		got := combineInAnyOrder(t, p)
		if p.result.bits != nil { // min and max are exact
			if !bytes.Equal(got, p.result.bits) {
				t.Fatalf("%v of %v, %d ranks: got % x, want % x", p.reduction, p.dtype, p.ranks, got, p.result.bits)
			}
			return
		}
		for i, want := range p.result.values {
			if x := numeric.Get(p.dtype, got, i); math.Abs(x-want) > p.result.within[i] {
				t.Fatalf("%v of %v, %d ranks: element %d is %v, want %v within %v", p.reduction, p.dtype, p.ranks, i, x, want, p.result.within[i])
			}
		}
	})
}
