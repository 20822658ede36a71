package numeric

import (
	"bytes"
	"encoding/binary"
	"math"
)

// Get is element i of buf. Integers beyond 2^53 are rounded: see GetInt.
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

// Set makes element i of buf v, converted as [Cast] does from F64.
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

// GetInt is element i of buf, of an integer dtype. U64 elements beyond the
// greatest int64 wrap: uint64(GetInt(...)) is their value.
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

// SetInt makes element i of buf, of an integer dtype, v, wrapped to its size.
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

func element(d DType, buf []byte, i int) []byte {
	size := d.Size()
	return buf[i*size : (i+1)*size]
}

// Equal is the index of the first element that differs between a and b, or -1. Any
// NaN equals any NaN; +0 and -0 differ; an element that only one of them has
// differs.
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
