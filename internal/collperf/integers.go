package collperf

import (
	"cmp"
	"math"
	"math/rand/v2"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/tl"
)

// integers is the elements of a rank, of so many whose elements are reduced together:
// whole numbers such that whatever is combined of them, in any order, is a number that
// the dtype holds exactly.
func integers(r ccl.Reduction, d tl.DType, ranks, rank int) func(i int) float64 {
	few := func(i int) bool { // at most six of the ranks, others for each element
		noise := mix(-1, i)
		return (uint64(rank)+noise>>8)%uint64(ranks) < noise%7
	}
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

// narrow holds numbers up to which small dtypes hold every whole number.
var narrow = map[tl.DType]int{tl.F16: 1 << 11, tl.BF16: 1 << 8, tl.I8: 1<<7 - 1, tl.U8: 1<<7 - 1, tl.I16: 1<<15 - 1, tl.U16: 1<<15 - 1}

// exact returns a number up to which the dtype holds every whole number.
func exact(d tl.DType) int { return cmp.Or(narrow[d], 1<<24) }

// mix is a number that looks random and is always the same for a rank and an element.
func mix(rank, i int) uint64 {
	z := uint64(rank)*0x9e3779b97f4a7c15 + uint64(i)*0xd1b54a32d192ed03 + 1
	for range 2 {
		z ^= z >> 32
		z *= 0xd6e8feb86659fd93
	}
	return z ^ z>>32
}

// combine holds the reductions of two numbers, but for the division of Avg and the factor of
// PremulSum.
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
