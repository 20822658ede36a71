package ccl

import (
	"bytes"
	"cmp"
	"math"
	"math/rand/v2"

	"github.com/kernbench/kernbench/numeric"
)

// values holds the elements of one rank's input or output, block by block.
type values [][]float64

// inputs draws the random input of all ranks. If `whole` is set, the elements are whole
// numbers such that every reduction is exact in every dtype and in any order. Otherwise
// they are real numbers.
func (e *experiment) inputs(seed uint64, whole bool) []values {
	rng := rand.New(rand.NewPCG(seed, 1))
	all := make([]values, e.Ranks)
	for rank := range all {
		counts, _ := e.counts(rank)
		for _, n := range counts {
			block := make([]float64, n)
			for i := range block {
				block[i] = e.draw(rng, rank == i%e.Ranks, whole)
			}
			all[rank] = append(all[rank], block)
		}
	}
	return all
}

// draw returns one random element of a rank. For a product of whole numbers, the element is
// 2 or -2 if `chosen` is set, and otherwise 1 or -1. Other whole numbers are so small that
// sums over 200 ranks have at most 8 bits, which bf16 represents exactly. PremulSum with a
// factor of 1/2 is exact, too, because twice the result is such a sum.
func (e *experiment) draw(rng *rand.Rand, chosen, whole bool) float64 {
	switch {
	case !whole:
		return rng.NormFloat64()
	case e.Collective.Reduces() && e.Reduction == Product && chosen:
		return float64(4*rng.IntN(2) - 2)
	case e.Collective.Reduces() && e.Reduction == Product:
		return float64(2*rng.IntN(2) - 1)
	case e.Ranks <= 16:
		return float64(rng.IntN(16) - 8)
	}
	return float64(rng.IntN(3) - 1)
}

// reduce returns the reduction of the numbers x in float64, and the sum of the magnitudes
// of x.
func (e *experiment) reduce(x []float64) (y, magnitude float64) {
	for i, v := range x {
		if e.Reduction == PremulSum {
			v *= e.Factor
		}
		magnitude += math.Abs(v)
		if i == 0 {
			y = v
			continue
		}
		switch e.Reduction {
		case Sum, Avg, PremulSum:
			y += v
		case Product:
			y *= v
		case Min:
			y = min(y, v)
		case Max:
			y = max(y, v)
		case BAnd:
			y = float64(int64(y) & int64(v))
		case BOr:
			y = float64(int64(y) | int64(v))
		case BXor:
			y = float64(int64(y) ^ int64(v))
		}
	}
	if e.Reduction == Avg {
		divisor := float64(cmp.Or(e.Divisor, len(x)))
		y, magnitude = y/divisor, magnitude/divisor
	}
	return y, magnitude
}

// want returns the expected output of a rank. For sums of real numbers, `off` holds the
// magnitude of each element; the tolerance is proportional to it.
func (e *experiment) want(in []values, rank int) (want, off values) {
	reduced := func(block int) ([]float64, []float64) {
		y, magnitude := make([]float64, len(in[0][block])), make([]float64, len(in[0][block]))
		for i := range y {
			x := make([]float64, e.Ranks)
			for from := range in {
				x[from] = in[from][block][i]
			}
			y[i], magnitude[i] = e.reduce(x)
		}
		return y, magnitude
	}
	_, counts := e.counts(rank)
	want, off = make(values, len(counts)), make(values, len(counts))
	for b := range counts {
		switch e.Collective {
		case AllReduce, Reduce:
			want[b], off[b] = reduced(0)
		case ReduceScatter:
			want[b], off[b] = reduced(rank)
		case Broadcast:
			want[b] = in[e.Root][0]
		case AllGather, Gather:
			want[b] = in[b][0]
		case AllToAll:
			want[b] = in[b][rank]
		case Scatter:
			want[b] = in[e.Root][rank]
		case SendRecv:
			if (b+1)%e.Ranks == rank {
				want[b] = in[b][b]
			}
		}
	}
	return want, off
}

// unit is the relative rounding error of each dtype.
var unit = map[numeric.DType]float64{numeric.F16: 0x1p-11, numeric.BF16: 0x1p-8, numeric.F32: 0x1p-24, numeric.F64: 0x1p-53}

// verify runs an experiment on whole or real numbers, and compares the output of every rank
// with a reference in float64. Whole numbers and numbers that were only moved must be equal
// bit for bit. Sums of real numbers must be within (N-1)·u·Σ|x|, where u is the rounding
// error of the dtype. Avg and PremulSum may have one more rounding.
func (e *experiment) verify(t tester, seed uint64, whole bool) outcome {
	t.Helper()
	in := e.inputs(seed, whole)
	o := e.run(t, func(rank int, s *side) {
		for b, x := range in[rank] {
			for i, v := range x {
				numeric.Set(e.DType, s.bytes, s.offset[b]+i, v)
				in[rank][b][i] = numeric.Get(e.DType, s.bytes, s.offset[b]+i) // the rounded value
			}
		}
	})
	exact := whole || !e.Collective.Reduces() || e.Reduction == Min || e.Reduction == Max
	for rank, got := range o.out {
		_, counts := e.counts(rank)
		want, off := e.want(in, rank)
		s := newSide(e.DType, counts)
		for b, x := range want {
			for i, v := range x {
				numeric.Set(e.DType, s.bytes, s.offset[b]+i, v)
				at := s.offset[b] + i
				g := numeric.Get(e.DType, got, at)
				if exact {
					continue
				}
				roundings := float64(e.Ranks - 1)
				if e.Reduction != Sum {
					roundings++
				}
				if math.Abs(g-v) > roundings*unit[e.DType]*off[b][i] {
					t.Fatalf("%v: rank %d, block %d, element %d is %v, want %v within %v", e, rank, b, i, g, v, roundings*unit[e.DType]*off[b][i])
				}
				copy(s.bytes[at*e.DType.Size():(at+1)*e.DType.Size()], got[at*e.DType.Size():])
			}
		}
		if i := numeric.Equal(e.DType, got, s.bytes); i >= 0 {
			t.Fatalf("%v: rank %d, element %d of its output with %d in front and between blocks is %v, want %v",
				e, rank, i, gap, numeric.Get(e.DType, got, i), numeric.Get(e.DType, s.bytes, i))
		}
		if e.Collective == AllReduce && !bytes.Equal(got, o.out[0]) {
			t.Fatalf("%v: ranks 0 and %d differ in their bits", e, rank)
		}
	}
	return o
}
