package dense

import (
	"fmt"
	"math"

	"github.com/kernbench/kernbench/internal/numeric"
)

// rounding is the error of rounding to a dtype.
type rounding struct {
	unit  float64 // of a number, relative: half the spacing at 1
	least float64 // of any number, absolute: half the spacing of subnormals
}

func roundingTo(d numeric.DType) rounding {
	switch d {
	case numeric.F16:
		return rounding{0x1p-11, 0x1p-25}
	case numeric.BF16:
		return rounding{0x1p-8, 0x1p-134}
	case numeric.F32:
		return rounding{0x1p-24, 0x1p-150}
	}
	panic(fmt.Sprintf("dense: no reference for %v: use f16, bf16 or f32", d))
}

// variance is that of the error of rounding z.
func (r rounding) variance(z float64) float64 {
	half := max(r.unit*math.Abs(z), r.least)
	return half * half / 3
}

// perSquare is variance(z)/z² of normal numbers.
func (r rounding) perSquare() float64 { return r.unit * r.unit / 3 }

// accumulator is the rounding of sums, which machines accumulate in f32 for all dtypes
// that have a reference.
var accumulator = roundingTo(numeric.F32)

// narrows says whether an accumulated sum is rounded when it becomes a d.
func narrows(d numeric.DType) bool { return d != numeric.F32 }

// sum is the sum of values, and the variance of its error if each addition rounds as
// the accumulator does, in ascending order.
func sum(values []float64) (total, variance float64) {
	squares := 0.0
	for _, v := range values {
		total += v
		squares += total * total
	}
	return total, squares * accumulator.perSquare()
}

// rounded is v as the machine has it in d.
func rounded(v float64, d numeric.DType) float64 {
	var element [8]byte
	numeric.Set(d, element[:d.Size()], 0, v)
	return numeric.Get(d, element[:d.Size()], 0)
}
