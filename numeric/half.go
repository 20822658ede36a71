package numeric

import (
	"encoding/binary"
	"math"
)

// The bit patterns of NaN that operations write.
const (
	nanF16  = 0x7e00
	nanBF16 = 0x7fc0
	nanF32  = 0x7fc0_0000
	nanF64  = 0x7ff8_0000_0000_0000
)

const (
	f32Sign = 1 << 31
	f32Inf  = 0x7f80_0000
)

// F16ToF32 converts an f16 to float32 exactly. Every NaN becomes the same NaN.
func F16ToF32(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	magnitude := uint32(h & 0x7fff)
	switch {
	case magnitude > 0x7c00:
		return math.Float32frombits(nanF32)
	case magnitude == 0x7c00:
		return math.Float32frombits(sign | f32Inf)
	}
	// After the shift the fraction is in place, and only the bias of the exponent is wrong,
	// by 112. This holds for subnormals, too.
	f := math.Float32frombits(magnitude<<13) * 0x1p112
	return math.Float32frombits(sign | math.Float32bits(f))
}

// F32ToF16 converts a float32 to f16, rounded to nearest even.
func F32ToF16(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b >> 16 & 0x8000)
	magnitude := b &^ f32Sign
	switch {
	case magnitude > f32Inf:
		return nanF16
	case magnitude >= 0x4780_0000: // 2^16
		return sign | 0x7c00
	case magnitude < 0x3880_0000: // 2^-14: subnormal
		// The spacing of float32 in [0.5, 1) is the spacing of f16 subnormals. Adding 0.5
		// therefore rounds, and the fraction is then the number of steps.
		steps := math.Float32bits(math.Float32frombits(magnitude)+0.5) - math.Float32bits(0.5)
		return sign | uint16(steps)
	}
	magnitude -= 112 << 23
	return sign | uint16(roundOff(magnitude, 13))
}

// BF16ToF32 converts a bf16 to float32 exactly. Every NaN becomes the same NaN.
func BF16ToF32(h uint16) float32 {
	if h&0x7fff > 0x7f80 {
		return math.Float32frombits(nanF32)
	}
	return math.Float32frombits(uint32(h) << 16)
}

// F32ToBF16 converts a float32 to bf16, rounded to nearest even.
func F32ToBF16(f float32) uint16 {
	b := math.Float32bits(f)
	if b&^f32Sign > f32Inf {
		return nanBF16
	}
	return uint16(roundOff(b, 16))
}

// F64ToF16 converts a float64 to f16 with a single rounding.
func F64ToF16(x float64) uint16 { return F32ToF16(roundToOdd(x)) }

// F64ToBF16 converts a float64 to bf16 with a single rounding.
func F64ToBF16(x float64) uint16 { return F32ToBF16(roundToOdd(x)) }

// roundOff removes the lowest `low` bits of the bit pattern b and rounds to nearest, ties
// to even. A carry out of the fraction increments the exponent. If the exponent was the
// largest of a finite number, the result is infinity.
func roundOff(b uint32, low int) uint32 {
	return (b + 1<<(low-1) - 1 + b>>low&1) >> low
}

// applyBits computes the bitwise operation op of x and y into dst. Bits do not affect each
// other, so it processes eight bytes at a time, regardless of the size of elements and the
// order of bytes.
func applyBits(op Op, dst, x, y []byte) {
	const word = 8
	x, y = x[:len(dst)], y[:len(dst)] // lets the compiler omit bounds checks
	i := 0
	for ; i+word <= len(dst); i += word {
		z := combineBits(op, binary.NativeEndian.Uint64(x[i:i+word]), binary.NativeEndian.Uint64(y[i:i+word]))
		binary.NativeEndian.PutUint64(dst[i:i+word], z)
	}
	for ; i < len(dst); i++ {
		dst[i] = byte(combineBits(op, uint64(x[i]), uint64(y[i])))
	}
}

func combineBits(op Op, x, y uint64) uint64 {
	switch op {
	case BitAnd:
		return x & y
	case BitOr:
		return x | y
	default: // BitXor
		return x ^ y
	}
}
