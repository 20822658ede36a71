package collperf

import (
	"math"
	"math/rand/v2"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/tl"
)

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
