package numeric

import "math"

// Rounding to odd truncates a result that does not fit and sets its last digit. That
// is all a later rounding to nearest, at least two digits shorter, needs to know of
// the digits that were dropped: a value can pass through formats of decreasing width
// and be rounded in effect once.

// oddF32 rounds to odd.
func oddF32(x float64) float32 {
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

// oddSum is x+y rounded to odd. The sum must not overflow.
func oddSum(x, y float64) float64 {
	sum := x + y
	// What the rounding of sum dropped, exactly (Knuth's two-sum).
	dy := sum - x
	dropped := (x - (sum - dy)) + (y - dy)
	b := math.Float64bits(sum)
	if b&1 == 1 || dropped == 0 || dropped != dropped { // NaN: sum is not finite
		return sum
	}
	if (dropped > 0) == (sum > 0) {
		return math.Float64frombits(b + 1)
	}
	return math.Float64frombits(b - 1)
}

// oddUint is u rounded to odd at no fewer than 42 digits.
func oddUint(u uint64) float64 {
	const low = 1<<11 - 1
	if u >= 1<<53 && u&low != 0 {
		u = u&^low | (low + 1)
	}
	return float64(u)
}

// fma is a·b+c, rounded in effect once when it is stored as d. All are exact
// values of d.
func fma(d DType, a, b, c float64) float64 {
	if d == F64 {
		return math.FMA(a, b, c)
	}
	return roundFor(d, oddSum(float64(a*b), c)) // the product is exact
}

// roundFor rounds x so that storing it as the float dtype d has rounded it once.
func roundFor(d DType, x float64) float64 {
	switch d {
	case F64:
		return x
	case F32:
		return float64(float32(x))
	default: // through float32
		return float64(oddF32(x))
	}
}
