package numeric

import "fmt"

// Cast converts the elements of src to those of dst, as many:
//
//   - float to float and integer to float round to nearest even, once;
//   - float to integer truncates toward zero, saturates, and makes NaN 0;
//   - integer to integer wraps.
//
// dst and src must not overlap, unless they are the same slice and the dtypes are
// of the same size.
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
		case from.IsFloat():
			Set(to, dst, i, Get(from, src, i))
		case to == F64:
			Set(to, dst, i, Get(from, src, i)) // Get has rounded
		case to.IsFloat():
			Set(to, dst, i, oddInt(from, GetInt(from, src, i)))
		default:
			SetInt(to, dst, i, GetInt(from, src, i))
		}
	}
}

// oddInt is v, read from an integer dtype, rounded to odd for a narrower float.
func oddInt(d DType, v int64) float64 {
	if d.IsSigned() && v < 0 {
		return -oddUint(uint64(-v))
	}
	return oddUint(uint64(v))
}

// truncate is x as an integer of dtype d.
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
		return -1 // all bits set: the greatest, once wrapped
	case d == U64:
		return int64(uint64(x))
	default:
		return int64(x)
	}
}
