package collperf

import (
	"cmp"
	"math"
	"math/rand/v2"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/tl"
)

// integers returns a function that returns element i of a rank's input. The elements are
// whole numbers. The dtype represents every partial result of the reduction over ranks
// exactly, so that the order of the reduction does not matter.
func integers(r ccl.Reduction, d tl.DType, ranks, rank int) func(i int) float64 {
	few := func(i int) bool { // true for at most six of the ranks, different ones for each element
		noise := mix(-1, i)
		return (uint64(rank)+noise>>8)%uint64(ranks) < noise%7
	}
	small := func(i int) float64 { return float64(1 + mix(rank, i)%50) }
	width := min(8*d.Size()-1, 48) // bits that a float64 represents exactly, too
	mask := uint64(1)<<width - 1
	bit := func(i int) uint64 { return 1 << (mix(rank, i) % uint64(width)) }
	switch r {
	case ccl.Product:
		return choose(few, constant(2), constant(1))
	case ccl.Min:
		return choose(few, small, func(i int) float64 { return 50 + small(i) })
	case ccl.Max:
		if !d.IsSigned() {
			return choose(few, func(i int) float64 { return 50 + small(i) }, small)
		}
		// All elements are negative, so that a reduction that starts from 0 is detected.
		return choose(few, func(i int) float64 { return -small(i) }, func(i int) float64 { return -50 - small(i) })
	case ccl.BAnd:
		return choose(few, func(i int) float64 { return float64(mask &^ bit(i)) }, constant(float64(mask)))
	case ccl.BOr:
		return choose(few, func(i int) float64 { return float64(bit(i)) }, constant(0))
	case ccl.BXor:
		return func(i int) float64 { return float64(mix(rank, i) & mask) }
	}
	most := uint64(min(maxExact(d)/ranks, 255))
	if most == 0 { // too many ranks for each to have an element other than 0
		return choose(few, constant(1), constant(0))
	}
	from := 0.0
	if r == ccl.Avg && !d.IsFloat() { // negative averages distinguish rounding towards zero from rounding down
		from = -float64(most / 2)
	}
	return func(i int) float64 { return from + float64(mix(rank, i)%(most+1)) }
}

func constant(x float64) func(int) float64 { return func(int) float64 { return x } }

// choose returns a function that returns x(i) if which(i) is true, and y(i) otherwise.
func choose(which func(int) bool, x, y func(int) float64) func(int) float64 {
	return func(i int) float64 {
		if which(i) {
			return x(i)
		}
		return y(i)
	}
}

// narrow is, for small dtypes, a number up to which they represent every whole number.
var narrow = map[tl.DType]int{tl.F16: 1 << 11, tl.BF16: 1 << 8, tl.I8: 1<<7 - 1, tl.U8: 1<<7 - 1, tl.I16: 1<<15 - 1, tl.U16: 1<<15 - 1}

// maxExact returns a number up to which a dtype represents every whole number.
func maxExact(d tl.DType) int { return cmp.Or(narrow[d], 1<<24) }

// mix returns a pseudo-random number that depends only on a rank and an element.
func mix(rank, i int) uint64 {
	z := uint64(rank)*0x9e3779b97f4a7c15 + uint64(i)*0xd1b54a32d192ed03 + 1
	for range 2 {
		z ^= z >> 32
		z *= 0xd6e8feb86659fd93
	}
	return z ^ z>>32
}

// combine maps each reduction to the function that combines two numbers. Avg and PremulSum
// only add: the caller divides, or multiplies by the factor.
var combine = map[ccl.Reduction]func(x, y float64) float64{
	ccl.Sum:       func(x, y float64) float64 { return x + y },
	ccl.Avg:       func(x, y float64) float64 { return x + y },
	ccl.PremulSum: func(x, y float64) float64 { return x + y },
	ccl.Product:   func(x, y float64) float64 { return x * y },
	ccl.Min:       func(x, y float64) float64 { return min(x, y) },
	ccl.Max:       func(x, y float64) float64 { return max(x, y) },
	ccl.BAnd:      func(x, y float64) float64 { return float64(int64(x) & int64(y)) },
	ccl.BOr:       func(x, y float64) float64 { return float64(int64(x) | int64(y)) },
	ccl.BXor:      func(x, y float64) float64 { return float64(int64(x) ^ int64(y)) },
}

// reals returns a function that returns the elements of a rank's input, one per call. The
// elements are random numbers between -1 and 1. For a product they are near 1, so that the
// product of all ranks' elements neither grows nor vanishes.
func reals(r ccl.Reduction, ranks, rank int) func(i int) float64 {
	rng := rand.New(rand.NewPCG(1, uint64(rank)))
	return func(int) float64 { // called for elements in order
		x := 2*rng.Float64() - 1
		if r == ccl.Product {
			return 1 + x/float64(ranks)
		}
		return x
	}
}

// roundoff returns the maximum relative error of rounding to a dtype. For f64 it is
// doubled, because the reference is rounded, too.
func roundoff(d tl.DType) float64 {
	if d == tl.F64 {
		return 1.0 / (1 << 52)
	}
	return 1 / float64(maxExact(d))
}

// tolerance returns how much a correct reduction of real numbers may differ from `result`,
// the same reduction in float64. `reals` is the number of elements that are reduced, and
// `absolute` is the sum of their absolute values. An average is the sum divided by `ranks`.
func tolerance(r ccl.Reduction, d tl.DType, reals, ranks int, result, absolute float64) float64 {
	u, n := roundoff(d), float64(reals)
	switch r {
	case ccl.Product:
		return (math.Pow(1+u, n-1) - 1) * math.Abs(result)
	case ccl.Avg: // the errors of the sum and of the division, both divided by ranks
		return n * u * absolute / float64(ranks)
	}
	return (n - 1) * u * absolute
}
