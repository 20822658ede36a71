package numeric

import (
	"fmt"
	"math"
)

// Rounding to odd truncates a result that does not fit and sets its last bit. The last bit
// shows a later rounding to nearest, to at least two bits fewer, that bits were dropped.
// So a value can pass through formats of decreasing width with the same result as a single
// rounding.

// roundToOdd converts x to float32 and rounds to odd: it truncates x and, if bits were
// dropped, sets the last bit.
func roundToOdd(x float64) float32 {
	f := float32(x)
	if float64(f) == x || x != x {
		return f
	}
	b := math.Float32bits(f)
	if math.Abs(float64(f)) > math.Abs(x) {
		b--
	}
	return math.Float32frombits(b | 1)
}

// addToOdd returns x+y as a float64, rounded to odd: it truncates the exact sum and, if
// bits were dropped, sets the last bit. The sum must not overflow.
func addToOdd(x, y float64) float64 {
	sum := x + y
	// dropped is the exact rounding error of sum (Knuth's two-sum).
	dy := sum - x
	dropped := (x - (sum - dy)) + (y - dy)
	b := math.Float64bits(sum)
	if b&1 == 1 || dropped == 0 || dropped != dropped { // dropped is NaN if sum is not finite
		return sum
	}
	if (dropped > 0) == (sum > 0) {
		return math.Float64frombits(b + 1)
	}
	return math.Float64frombits(b - 1)
}

// uintToOdd converts u to float64 and rounds to odd, so that a later conversion to a
// narrower float rounds only once. If u has more than 53 bits and one of its low 11 bits is
// set, it clears these 11 bits and sets the bit above them.
func uintToOdd(u uint64) float64 {
	const low = 1<<11 - 1
	if u >= 1<<53 && u&low != 0 {
		u = u&^low | (low + 1)
	}
	return float64(u)
}

// fma returns a·b+c for exact values a, b and c of dtype d. The result is rounded such that
// storing it as d gives the same bits as rounding a·b+c once.
func fma(d DType, a, b, c float64) float64 {
	if d == F64 {
		return math.FMA(a, b, c)
	}
	return roundFor(d, addToOdd(float64(a*b), c)) // the product is exact
}

// roundFor rounds x such that storing the result as the float dtype d gives the same bits
// as rounding x once.
func roundFor(d DType, x float64) float64 {
	switch d {
	case F64:
		return x
	case F32:
		return float64(float32(x))
	default: // stored through float32
		return float64(roundToOdd(x))
	}
}

// Cast converts the elements of src to the dtype of dst. Both must have the same number of
// elements. The rules are:
//
//   - float to float and integer to float round to nearest even, once;
//   - float to integer truncates toward zero, saturates, and makes NaN 0;
//   - integer to integer wraps.
//
// dst and src must not overlap, unless they are the same slice and the dtypes have the
// same size.
func Cast(to DType, dst []byte, from DType, src []byte) {
	n := len(src) / from.Size()
	if len(src) != n*from.Size() || len(dst) != n*to.Size() {
		panic(fmt.Sprintf("numeric: Cast of %d bytes of %v to %d bytes of %v: pass whole elements, as many of both", len(src), from, len(dst), to))
	}
	if to == from {
		copy(dst, src)
		return
	}
	for i := castVector(to, dst, from, src); i < n; i++ {
		switch {
		case from.IsFloat() || to == F64: // Get rounds integers to float64
			Set(to, dst, i, Get(from, src, i))
		case to.IsFloat():
			Set(to, dst, i, intToOdd(from, GetInt(from, src, i)))
		default:
			SetInt(to, dst, i, GetInt(from, src, i))
		}
	}
}

// intToOdd converts v, an element of the integer dtype d, to float64. It rounds to odd, as
// in roundToOdd, so that a later conversion to a narrower float rounds only once.
func intToOdd(d DType, v int64) float64 {
	if d.IsSigned() && v < 0 {
		return -uintToOdd(uint64(-v))
	}
	return uintToOdd(uint64(v))
}

// truncate converts x to an integer of dtype d. It truncates toward zero, saturates values
// out of range, and converts NaN to 0.
func truncate(d DType, x float64) int64 {
	bits := 8 * d.Size()
	least, end := 0.0, pow2(bits)
	if d.IsSigned() {
		least, end = -pow2(bits-1), pow2(bits-1)
	}
	switch {
	case x != x:
		return 0
	case x <= least:
		return int64(least)
	case x >= end && d.IsSigned():
		return 1<<(bits-1) - 1
	case x >= end:
		return -1 // all bits set: the greatest unsigned integer
	case d == U64:
		return int64(uint64(x))
	default:
		return int64(x)
	}
}
