package collperf

import (
	"math"
	"math/rand/v2"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/tl"
)

// integers is the elements of a rank, of so many whose elements are reduced together:
// whole numbers such that whatever is combined of them, in any order, is a number that
// the dtype holds exactly.
func integers(r ccl.Reduction, d tl.DType, ranks, rank int) func(i int) float64 {
	few := func(i int) bool { return isFew(ranks, rank, i) }
	small := func(i int) float64 { return float64(1 + mix(rank, i)%50) }
	width := min(8*d.Size()-1, 48) // bits that a float64 has room for, too
	mask := uint64(1)<<width - 1
	bit := func(i int) uint64 { return 1 << (mix(rank, i) % uint64(width)) }
	switch r {
	case ccl.Product:
		return either(few, constant(2), constant(1))
	case ccl.Min:
		return either(few, small, func(i int) float64 { return 50 + small(i) })
	case ccl.Max:
		if !d.IsSigned() {
			return either(few, func(i int) float64 { return 50 + small(i) }, small)
		}
		// What starts from 0 is found out.
		return either(few, func(i int) float64 { return -small(i) }, func(i int) float64 { return -50 - small(i) })
	case ccl.BAnd:
		return either(few, func(i int) float64 { return float64(mask &^ bit(i)) }, constant(float64(mask)))
	case ccl.BOr:
		return either(few, func(i int) float64 { return float64(bit(i)) }, constant(0))
	case ccl.BXor:
		return func(i int) float64 { return float64(mix(rank, i) & mask) }
	}
	most := uint64(min(exact(d)/ranks, 255))
	if most == 0 { // more ranks than can have anything
		return either(few, constant(1), constant(0))
	}
	from := 0.0
	if r == ccl.Avg && !d.IsFloat() { // rounded towards zero, which negative ones tell from rounding down
		from = -float64(most / 2)
	}
	return func(i int) float64 { return from + float64(mix(rank, i)%(most+1)) }
}

func constant(x float64) func(int) float64 { return func(int) float64 { return x } }

func either(which func(int) bool, x, y func(int) float64) func(int) float64 {
	return func(i int) float64 {
		if which(i) {
			return x(i)
		}
		return y(i)
	}
}

// exact is a number up to which the dtype holds every whole number.
func exact(d tl.DType) int {
	switch d {
	case tl.F16:
		return 1 << 11
	case tl.BF16:
		return 1 << 8
	case tl.I8, tl.U8:
		return 1<<7 - 1
	case tl.I16, tl.U16:
		return 1<<15 - 1
	}
	return 1 << 24
}

// isFew picks at most six of the ranks, others for each element.
func isFew(ranks, rank, i int) bool {
	noise := mix(-1, i)
	return (uint64(rank)+noise>>8)%uint64(ranks) < noise%7
}

// mix is a number that looks random and is always the same for a rank and an element.
func mix(rank, i int) uint64 {
	z := uint64(rank)*0x9e3779b97f4a7c15 + uint64(i)*0xd1b54a32d192ed03 + 1
	for range 2 {
		z ^= z >> 32
		z *= 0xd6e8feb86659fd93
	}
	return z ^ z>>32
}

// combine is the reduction of two numbers, but for the division of Avg.
func combine(r ccl.Reduction, x, y float64) float64 {
	switch r {
	case ccl.Product:
		return x * y
	case ccl.Min:
		return min(x, y)
	case ccl.Max:
		return max(x, y)
	case ccl.BAnd:
		return float64(int64(x) & int64(y))
	case ccl.BOr:
		return float64(int64(x) | int64(y))
	case ccl.BXor:
		return float64(int64(x) ^ int64(y))
	}
	return x + y
}

// reals is the elements of a rank, of so many whose elements are reduced together:
// random numbers between -1 and 1, and of a product near 1, so that it neither grows
// nor vanishes.
func reals(r ccl.Reduction, ranks, rank int) func(i int) float64 {
	rng := rand.New(rand.NewPCG(1, uint64(rank)))
	return func(int) float64 { // asked for in order
		x := 2*rng.Float64() - 1
		if r == ccl.Product {
			return 1 + x/float64(ranks)
		}
		return x
	}
}

// roundoff returns the largest relative error of rounding to the dtype. That of f64 counts
// twice, for the reference is rounded as well.
func roundoff(d tl.DType) float64 {
	if d == tl.F64 {
		return 1.0 / (1 << 52)
	}
	return 1 / float64(exact(d))
}

// tolerance returns how far the reduction of so many reals may be from what it is in float64,
// given that and the sum of their absolute values. An average divides by ranks.
func tolerance(r ccl.Reduction, d tl.DType, reals, ranks int, result, absolute float64) float64 {
	u, n := roundoff(d), float64(reals)
	switch r {
	case ccl.Product:
		return (math.Pow(1+u, n-1) - 1) * math.Abs(result)
	case ccl.Avg: // the sum's error and that of the division, divided
		return n * u * absolute / float64(ranks)
	}
	return (n - 1) * u * absolute
}
