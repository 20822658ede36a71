package numeric

import "math"

// log is the natural logarithm.
func log(x float64) float64 {
	switch {
	case x != x || x > math.MaxFloat64:
		return x
	case x < 0:
		return nan
	case x == 0:
		return math.Inf(-1)
	}
	m, exponent := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m *= 2
		exponent--
	}
	k := float64(exponent)
	// log(1+f) = 2·atanh(s) with s = f/(2+f). Because 2s = f - s·f and s·f = h - s·h
	// with h = f²/2, it is f - (h - s·(h + r)), where f is exact and h small.
	f := m - 1
	h := float64(f * (f / 2))
	s := f / (2 + f)
	correction := h - madd(s, h+logTail(float64(s*s)), float64(k*ln2Lo))
	whole := float64(k * ln2Hi) // exact
	sum := whole + f
	return sum + ((f - (sum - whole)) - correction)
}

// logTail is (2·atanh(s) - 2s)/s, of z = s².
func logTail(z float64) float64 {
	z2 := float64(z * z)
	z4 := float64(z2 * z2)
	low := madd(z2, madd(2./9, z, 2./7), madd(2./5, z, 2./3))
	mid := madd(z2, madd(2./17, z, 2./15), madd(2./13, z, 2./11))
	high := madd(2./21, z, 2./19)
	return float64(z * madd(z4, madd(z4, high, mid), low))
}
