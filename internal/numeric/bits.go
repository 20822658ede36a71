package numeric

import "encoding/binary"

// applyBits combines bits. Those of one place never meet those of another, so that it
// takes eight bytes at a time, whatever the elements and the order of their bytes.
func applyBits(op Op, dst, x, y []byte) {
	const word = 8
	x, y = x[:len(dst)], y[:len(dst)] // so that the compiler knows
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
