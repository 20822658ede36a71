package numeric

import (
	"math"
	"testing"
)

var reduceShapes = [][3]int{
	{0, 3, 2}, {3, 2, 0}, {2, 0, 3}, {1, 1, 1}, {1, 7, 1}, {3, 1, 5}, {2, 5, 3}, {5, 130, 1}, {1, 200, 1}, {2, 3, 128}, {2, 3, 129}, {1, 6, 270},
}

// TestReduce checks that Reduce gives the same bits as the reference.
func TestReduce(t *testing.T) {
	pairwise := map[Op]Op{Sum: Add, Max: Maximum, Min: Minimum}
	withAndWithoutVector(t, func(t *testing.T) {
		for op, step := range pairwise {
			for _, d := range DTypes {
				if vector && d > F32 {
					continue
				}
				r := newRand(uint64(op)<<8 | uint64(d))
				for _, s := range reduceShapes {
					outer, n, inner := s[0], s[1], s[2]
					src := draw(r, d, outer*n*inner)
					dst, check := newGuarded(t, r.IntN(8), outer*inner*d.Size())
					Reduce(op, d, dst, src, outer, n, inner)
					check()
					for i := range outer * inner {
						o, j := i/inner, i%inner
						var column []uint64
						for k := range n {
							column = append(column, bitsAt(d, src, (o*n+k)*inner+j))
						}
						if got, want := bitsAt(d, dst, i), refReduce(op, step, d, column); got != want {
							t.Fatalf("%v of %v %v at (%d, %d): %s, want %s", op, d, s, o, j, show(d, got), show(d, want))
						}
					}
				}
			}
		}
	})
}

// refReduce reduces a column with op in the type in which elements are accumulated, and
// rounds the result to d. `step` is the elementwise operation that combines two elements.
func refReduce(op, step Op, d DType, column []uint64) uint64 {
	if len(column) == 0 {
		return emptyResult[op][d]
	}
	in := d
	if d == F16 || d == BF16 {
		in = F32
		for i, bits := range column {
			column[i] = nearestF64(F32, decode(d, bits))
		}
	}
	v := column[0]
	for _, bits := range column[1:] {
		v = refApply(step, in, []uint64{v, bits})
	}
	if d.IsFloat() { // even a single NaN becomes the quiet NaN
		return nearestF64(d, decode(in, v))
	}
	return v
}

// emptyResult holds the bit patterns of the results of reductions over no elements. A
// missing entry means 0.
var emptyResult = map[Op]map[DType]uint64{
	Sum: {},
	Max: {F16: 0xfc00, BF16: 0xff80, F32: 0xff800000, F64: 0xfff0000000000000, I8: 0x80, I16: 0x8000, I32: 0x80000000, I64: 1 << 63},
	Min: {F16: 0x7c00, BF16: 0x7f80, F32: 0x7f800000, F64: 0x7ff0000000000000, I8: 0x7f, I16: 0x7fff, I32: 0x7fffffff, I64: 1<<63 - 1,
		U8: 0xff, U16: 0xffff, U32: 0xffffffff, U64: 1<<64 - 1},
}

// TestSumRoundsOnce checks that a sum of f16 is accumulated in f32. It adds 1024 ones to
// 2048: in f16 each addition would be lost, but only the total is rounded to f16.
func TestSumRoundsOnce(t *testing.T) {
	src := make([]byte, 2*1025)
	Set(F16, src, 0, 2048)
	for i := 1; i <= 1024; i++ {
		Set(F16, src, i, 1)
	}
	dst := make([]byte, 2)
	Reduce(Sum, F16, dst, src, 1, 1025, 1)
	if got := Get(F16, dst, 0); got != 3072 {
		t.Errorf("2048 and 1024 ones are %v, want 3072", got)
	}
}

// TestSoftmax checks that Softmax gives the same bits as the reference.
func TestSoftmax(t *testing.T) {
	withAndWithoutVector(t, func(t *testing.T) {
		for _, d := range []DType{F16, BF16, F32, F64} {
			r := newRand(uint64(d))
			for _, s := range [][2]int{{0, 3}, {3, 0}, {1, 1}, {2, 7}, {3, 8}, {2, 129}, {1, 1500}} {
				src := random(r.Uint64(), d, s[0]*s[1])
				if s[1] == 7 {
					src = draw(r, d, s[0]*s[1])
				}
				dst, check := newGuarded(t, 3, len(src))
				Softmax(d, dst, src, s[0], s[1])
				check()
				for row := range s[0] {
					want := refSoftmax(d, src[row*s[1]*d.Size():][:s[1]*d.Size()])
					for i, want := range want {
						if got := bitsAt(d, dst, row*s[1]+i); got != want {
							t.Fatalf("softmax of %v %v, element (%d, %d): %s, want %s", d, s, row, i, show(d, got), show(d, want))
						}
					}
				}
			}
		}
	})
}

// refSoftmax computes the softmax of the row src as documented and returns bit patterns. It
// uses the function exp of this package, which has its own test.
func refSoftmax(d DType, src []byte) []uint64 {
	round := func(x float64) float64 {
		if d == F64 {
			return x
		}
		return float64(float32(x))
	}
	n := len(src) / d.Size()
	greatest := math.Inf(-1)
	e, result := make([]float64, n), make([]uint64, n)
	for i := range e {
		e[i] = decode(d, bitsAt(d, src, i))
		greatest = math.Max(greatest, e[i])
		if e[i] != e[i] {
			greatest = e[i]
			break
		}
	}
	sum := 0.0
	for i := range e {
		e[i] = round(exp(round(e[i] - greatest)))
		sum = round(sum + e[i])
	}
	for i := range e {
		result[i] = nearestF64(d, round(e[i]/sum))
	}
	return result
}

// TestSoftmaxRules checks Softmax for rows with known results, including rows with
// infinities and NaN.
func TestSoftmaxRules(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct{ x, want []float64 }{
		{[]float64{0, 0, 0, 0}, []float64{0.25, 0.25, 0.25, 0.25}},
		{[]float64{7}, []float64{1}},
		{[]float64{-inf, 3}, []float64{0, 1}},
		{[]float64{60000, -60000}, []float64{1, 0}},
		{[]float64{1, math.NaN()}, []float64{math.NaN(), math.NaN()}},
		{[]float64{1, inf}, []float64{math.NaN(), math.NaN()}},
		{[]float64{-inf, -inf}, []float64{math.NaN(), math.NaN()}},
	} {
		for _, d := range []DType{F16, BF16, F32, F64} {
			x, want := make([]byte, len(c.x)*d.Size()), make([]byte, len(c.x)*d.Size())
			for i := range c.x {
				Set(d, x, i, c.x[i])
				Set(d, want, i, c.want[i])
			}
			Softmax(d, x, x, 1, len(c.x))
			if i := Equal(d, x, want); i >= 0 {
				t.Errorf("softmax of %v %v: element %d is %v, want %v", d, c.x, i, Get(d, x, i), c.want[i])
			}
		}
	}
}
