package numeric

import "math"

// The functions of this file round every product before they add it, by an explicit
// conversion or in madd. Otherwise compilers for some machines would fuse the two.
// Polynomials are Taylor series, so long that their truncation error is below 1/30 of a
// unit in the last place.

const (
	ln2Hi = 0x1.62e42fefap-1 // 37 bits, so that its product with an exponent is exact
	ln2Lo = math.Ln2 - ln2Hi
)

// madd returns x·y + z. It rounds both the product and the sum.
func madd(x, y, z float64) float64 { return float64(x*y) + z }

// exp returns e^x.
func exp(x float64) float64 {
	switch {
	case x != x:
		return x
	case x > 710:
		return math.Inf(1)
	case x < -746:
		return 0
	}
	r, t, k := expParts(x)
	hi, _ := expPair(r, t)
	return scale(hi, k)
}

// sigmoid returns 1/(1+e^-x).
func sigmoid(x float64) float64 {
	switch {
	case x != x:
		return x
	case x > 38: // e^-x is less than half a unit in the last place of 1
		return 1
	case x < -746:
		return 0
	}
	r, t, k := expParts(-math.Abs(x))
	hi, lo := expPair(r, t)
	e := scale(hi, k)
	sum := 1 + e
	rest := (e - (sum - 1)) + scale(lo, k)
	if x >= 0 {
		return quotient(1, 0, sum, rest)
	}
	return scale(quotient(hi, lo, sum, rest), k)
}

// tanh returns the hyperbolic tangent of x. It is computed from m = e^(-2|x|) - 1 as
// -m/(2+m), with the sign of x.
func tanh(x float64) float64 {
	switch {
	case x != x:
		return x
	case math.Abs(x) > 20: // differs from 1 by less than half a unit in the last place
		return math.Copysign(1, x)
	}
	r, t, k := expParts(-2 * math.Abs(x))
	hi, lo := r, t
	if k != 0 {
		hi, lo = expPair(r, t)
		e := scale(hi, k)
		hi = e - 1
		lo = (e - (hi + 1)) + scale(lo, k)
	}
	m := hi + lo
	rest := lo - (m - hi)
	sum := 2 + m
	return math.Copysign(quotient(m, rest, sum, (m-(sum-2))+rest), x)
}

// expParts returns r, t and k such that e^x = 2^k·(1 + r + t), where |r| ≤ ln(2)/2 and t is
// about r²/2. x must be in the range in which e^x is neither 0 nor infinite.
func expParts(x float64) (r, t float64, k int) {
	n := math.RoundToEven(float64(x * math.Log2E))
	whole := x - float64(n*ln2Hi) // exact
	lo := float64(n * ln2Lo)
	r = whole - lo
	rest := (whole - r) - lo
	t = madd(float64(r*r), expTail(r), madd(rest, r, rest))
	return r, t, int(n)
}

// expTail returns (e^r - 1 - r)/r², computed as a Taylor series with the coefficients 1/2!,
// 1/3! and so on up to 1/13!.
func expTail(r float64) float64 {
	// Computed in pairs, so that the processor can overlap operations.
	r2 := float64(r * r)
	r4 := float64(r2 * r2)
	low := madd(r2, madd(1./120, r, 1./24), madd(1./6, r, 1./2))
	mid := madd(r2, madd(1./362880, r, 1./40320), madd(1./5040, r, 1./720))
	high := madd(r2, madd(1./6227020800, r, 1./479001600), madd(1./39916800, r, 1./3628800))
	return madd(r4, madd(r4, high, mid), low)
}

// expPair returns 1 + r + t as a sum of two numbers: hi is the nearest float64, and lo the
// remainder.
func expPair(r, t float64) (hi, lo float64) {
	sum := 1 + r
	rest := (r - (sum - 1)) + t
	hi = sum + rest
	return hi, rest - (hi - sum)
}

// quotient returns (a + da)/(b + db). da and db must be much smaller than a and b.
func quotient(a, da, b, db float64) float64 {
	q := a / b
	remainder := math.FMA(-q, b, a) // exact
	return q + ((remainder+da)-float64(q*db))/b
}

// scale returns x·2^k, rounded once. x is about 1, and k is at least -1080.
func scale(x float64, k int) float64 {
	half := k >> 1
	return float64(x * pow2(half) * pow2(k-half))
}

// pow2 returns 2^k. k must be the exponent of a normal number.
func pow2(k int) float64 { return math.Float64frombits(uint64(k+1023) << 52) }

// rsqrt returns 1/√x.
func rsqrt(x float64) float64 {
	if x > 0 && x < 0x1p-900 { // the remainder below would underflow
		return rsqrt(x*0x1p200) * 0x1p100
	}
	root := math.Sqrt(x)
	if !(root > 0 && root <= math.MaxFloat64) {
		return 1 / root
	}
	remainder := math.FMA(-root, root, x) // exact
	return quotient(1, 0, root, remainder/(2*root))
}

// log returns the natural logarithm of x.
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
	// log(1+f) = 2·atanh(s) with s = f/(2+f). Let 2·atanh(s) = 2s + s·r (see logTail).
	// Because 2s = f - s·f and s·f = h - s·h with h = f²/2, the logarithm is
	// f - (h - s·(h + r)), where f is exact and h is small.
	f := m - 1
	h := float64(f * (f / 2))
	s := f / (2 + f)
	correction := h - madd(s, h+logTail(float64(s*s)), float64(k*ln2Lo))
	whole := float64(k * ln2Hi) // exact
	sum := whole + f
	return sum + ((f - (sum - whole)) - correction)
}

// logTail returns (2·atanh(s) - 2s)/s for z = s².
func logTail(z float64) float64 {
	z2 := float64(z * z)
	z4 := float64(z2 * z2)
	low := madd(z2, madd(2./9, z, 2./7), madd(2./5, z, 2./3))
	mid := madd(z2, madd(2./17, z, 2./15), madd(2./13, z, 2./11))
	high := madd(2./21, z, 2./19)
	return float64(z * madd(z4, madd(z4, high, mid), low))
}
