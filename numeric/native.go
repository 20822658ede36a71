package numeric

import (
	"encoding/binary"
	"math"
	"slices"
	"unsafe"
)

// number is a type in which elements are computed: float32 for F16, BF16 and F32, and the
// Go type of the same name for every other dtype.
type number interface {
	float32 | float64 | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// block is the number of elements that are loaded, computed and stored at a time, in
// arrays on the stack. It is large enough that the loops outweigh the calls, and small
// enough that clearing the arrays takes little time compared with a short tile.
const block = 128

var (
	littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1
	nan          = math.Float64frombits(nanF64)
)

// load converts the first len(dst) elements of src to the type in which they are computed.
func load[T number](d DType, dst []T, src []byte) {
	if d == F16 || d == BF16 {
		widen(d, float32s(dst), src)
		return
	}
	copy(bytesOf(dst), src)
	if !littleEndian {
		swapBytes(bytesOf(dst), d.Size())
	}
}

// store rounds the results in x to d and writes them to dst. It may change x.
func store[T number](d DType, dst []byte, x []T) {
	if d == F16 || d == BF16 {
		narrow(d, dst, float32s(x))
		return
	}
	if d.IsFloat() {
		for i, v := range x {
			if v != v {
				x[i] = T(nan)
			}
		}
	}
	if !littleEndian {
		swapBytes(bytesOf(x), d.Size())
	}
	copy(dst, bytesOf(x))
}

// widen converts elements of F16 or BF16 to float32.
func widen(d DType, dst []float32, src []byte) {
	for i := castVector(F32, bytesOf(dst), d, src[:2*len(dst)]); i < len(dst); i++ {
		h := binary.LittleEndian.Uint16(src[2*i:])
		if d == F16 {
			dst[i] = F16ToF32(h)
		} else {
			dst[i] = BF16ToF32(h)
		}
	}
}

// narrow rounds float32 to elements of F16 or BF16.
func narrow(d DType, dst []byte, src []float32) {
	for i := castVector(d, dst, F32, bytesOf(src)); i < len(src); i++ {
		h := F32ToF16(src[i])
		if d == BF16 {
			h = F32ToBF16(src[i])
		}
		binary.LittleEndian.PutUint16(dst[2*i:], h)
	}
}

// bytesOf returns the memory of x as bytes, without a copy.
func bytesOf[T number](x []T) []byte {
	var element T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(element)))
}

// float32s returns x as a []float32, without a copy. T must be float32.
func float32s[T number](x []T) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

// swapBytes reverses the bytes of each element of b. Each element is `size` bytes long.
func swapBytes(b []byte, size int) {
	for ; len(b) >= size; b = b[size:] {
		slices.Reverse(b[:size])
	}
}

// CopyStreaming copies like copy(dst, src), with stores that bypass the caches. Use it for
// data that does not fit into the caches or that another core reads. A core that sees a
// later store also sees these stores. dst and src must not overlap.
func CopyStreaming(dst, src []byte) {
	n := min(len(dst), len(src))
	stream(dst[:n], src[:n])
}
