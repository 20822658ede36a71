package numeric

import "math"

// rsqrt is 1/√x.
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
