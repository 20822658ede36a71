package numeric

import (
	"bytes"
	"encoding/binary"
	"math"
)

// The loops of this file write their results to x. They are generic over all number types;
// where floats and integers differ, they test the dtype.

func combine[T number](op Op, d DType, x, y []T) {
	y = y[:len(x)]
	switch op {
	case Add:
		for i := range x {
			x[i] += y[i]
		}
	case Sub:
		for i := range x {
			x[i] -= y[i]
		}
	case Mul:
		for i := range x {
			x[i] *= y[i]
		}
	case Div:
		divide(d, x, y)
	case Maximum:
		for i := range x {
			x[i] = max(x[i], y[i])
		}
	case Minimum:
		for i := range x {
			x[i] = min(x[i], y[i])
		}
	}
}

func divide[T number](d DType, x, y []T) {
	for i := range x {
		if y[i] == 0 && !d.IsFloat() {
			x[i] = 0
			continue
		}
		x[i] /= y[i]
	}
}

func compare[T number](op Op, dst []byte, x, y []T) {
	for i := range dst {
		var holds bool
		switch op {
		case Lt:
			holds = x[i] < y[i]
		case Le:
			holds = x[i] <= y[i]
		case Gt:
			holds = x[i] > y[i]
		case Ge:
			holds = x[i] >= y[i]
		case Eq:
			holds = x[i] == y[i]
		case Ne:
			holds = x[i] != y[i]
		}
		dst[i] = 0
		if holds {
			dst[i] = 1
		}
	}
}

// floatFuncs holds the functions of one operand that are computed in float64.
var floatFuncs = [...]func(float64) float64{Exp: exp, Log: log, Sqrt: math.Sqrt, Rsqrt: rsqrt, Sigmoid: sigmoid, Tanh: tanh}

func unary[T number](op Op, d DType, x []T) {
	switch op {
	case Neg:
		for i := range x {
			x[i] = -x[i]
		}
	case Abs:
		for i, v := range x {
			if v <= 0 {
				x[i] = 0 - v // gives +0 for both zeros
			}
		}
	default:
		transform(d, floatFuncs[op], x)
	}
}

// transform replaces each element of x by the result of f for this element. It rounds the
// result with roundFor, so that storing it as d gives the same bits as rounding it once.
func transform[T number](d DType, f func(float64) float64, x []T) {
	// The conversions are in separate loops, so that they do not delay the next call of f
	// and the processor can overlap several calls.
	var wide [block]float64
	for ; len(x) > 0; x = x[min(block, len(x)):] {
		w := wide[:min(block, len(x))]
		for i := range w {
			w[i] = float64(x[i])
		}
		for i, v := range w {
			w[i] = f(v)
		}
		for i, v := range w {
			x[i] = T(roundFor(d, v))
		}
	}
}

func multiplyAdd[T number](d DType, x, y, z []T) {
	if d.IsFloat() {
		for i := range x {
			x[i] = T(fma(d, float64(x[i]), float64(y[i]), float64(z[i])))
		}
		return
	}
	for i := range x {
		x[i] = T(x[i]*y[i]) + z[i]
	}
}

// applyWhere sets each element of dst to the element of a if the element of cond is not 0,
// else to the element of b. Elements are `size` bytes long and are copied unchanged,
// including NaNs.
func applyWhere(size int, dst, cond, a, b []byte) {
	for i, c := range cond {
		from := b
		if c != 0 {
			from = a
		}
		at := i * size
		switch size { // with a constant size, the compiler emits a move instead of a call
		case 1:
			dst[at] = from[at]
		case 2:
			*(*[2]byte)(dst[at:]) = [2]byte(from[at:])
		case 4:
			*(*[4]byte)(dst[at:]) = [4]byte(from[at:])
		case 8:
			*(*[8]byte)(dst[at:]) = [8]byte(from[at:])
		}
	}
}

// Get returns element i of buf as a float64. Integers beyond 2^53 are rounded; GetInt
// returns them exactly.
func Get(d DType, buf []byte, i int) float64 {
	b := element(d, buf, i)
	switch d {
	case F16:
		return float64(F16ToF32(binary.LittleEndian.Uint16(b)))
	case BF16:
		return float64(BF16ToF32(binary.LittleEndian.Uint16(b)))
	case F32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case F64:
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	case U64:
		return float64(binary.LittleEndian.Uint64(b))
	default:
		return float64(GetInt(d, buf, i))
	}
}

// Set sets element i of buf to v. It converts v to dtype d as [Cast] converts from F64.
func Set(d DType, buf []byte, i int, v float64) {
	b := element(d, buf, i)
	switch d {
	case F16:
		binary.LittleEndian.PutUint16(b, F64ToF16(v))
	case BF16:
		binary.LittleEndian.PutUint16(b, F64ToBF16(v))
	case F32:
		bits := math.Float32bits(float32(v))
		if v != v {
			bits = nanF32
		}
		binary.LittleEndian.PutUint32(b, bits)
	case F64:
		bits := math.Float64bits(v)
		if v != v {
			bits = nanF64
		}
		binary.LittleEndian.PutUint64(b, bits)
	default:
		SetInt(d, buf, i, truncate(d, v))
	}
}

// GetInt returns element i of buf, which has an integer dtype. U64 elements beyond the
// greatest int64 wrap; uint64(GetInt(...)) is then the value.
func GetInt(d DType, buf []byte, i int) int64 {
	b := element(d, buf, i)
	switch d {
	case I8:
		return int64(int8(b[0]))
	case I16:
		return int64(int16(binary.LittleEndian.Uint16(b)))
	case I32:
		return int64(int32(binary.LittleEndian.Uint32(b)))
	case U8:
		return int64(b[0])
	case U16:
		return int64(binary.LittleEndian.Uint16(b))
	case U32:
		return int64(binary.LittleEndian.Uint32(b))
	default:
		return int64(binary.LittleEndian.Uint64(b))
	}
}

// SetInt sets element i of buf to v. buf has an integer dtype; v wraps to the size of its
// elements.
func SetInt(d DType, buf []byte, i int, v int64) {
	b := element(d, buf, i)
	switch len(b) {
	case 1:
		b[0] = uint8(v)
	case 2:
		binary.LittleEndian.PutUint16(b, uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(b, uint32(v))
	case 8:
		binary.LittleEndian.PutUint64(b, uint64(v))
	}
}

// element returns the bytes of element i of buf.
func element(d DType, buf []byte, i int) []byte {
	size := d.Size()
	return buf[i*size : (i+1)*size]
}

// Equal compares a and b element by element. It returns the index of the first element that
// differs, or -1 if none differs. Any NaN equals any NaN; +0 and -0 differ. If a and b have
// different lengths and no common element differs, Equal returns the length of the shorter
// one.
func Equal(d DType, a, b []byte) int {
	if bytes.Equal(a, b) {
		return -1
	}
	n, m := len(a)/d.Size(), len(b)/d.Size()
	for i := range min(n, m) {
		if !bytes.Equal(element(d, a, i), element(d, b, i)) && !(isNaN(d, a, i) && isNaN(d, b, i)) {
			return i
		}
	}
	if n != m {
		return min(n, m)
	}
	return -1
}

func isNaN(d DType, buf []byte, i int) bool {
	return d.IsFloat() && math.IsNaN(Get(d, buf, i))
}
