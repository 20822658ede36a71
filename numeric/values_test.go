package numeric

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// specials returns bit patterns of dtype d for which arithmetic has special rules. For
// floats these are zeros, the least and greatest subnormal and normal numbers, powers of
// two, infinities, and quiet and signalling NaNs, with both signs. For integers they
// include the least and greatest values and their neighbours.
func specials(d DType) []uint64 {
	magnitudes := map[DType][]uint64{
		F16:  {0, 1, 2, 0x3ff, 0x400, 0x401, 0x2e66, 0x3bff, 0x3c00, 0x3c01, 0x6bff, 0x7bff, 0x7c00, 0x7c01, 0x7e2a},
		BF16: {0, 1, 2, 0x7f, 0x80, 0x81, 0x3dcd, 0x3f7f, 0x3f80, 0x3f81, 0x4b7f, 0x7f7f, 0x7f80, 0x7f81, 0x7fca},
		F32: {0, 1, 2, 0x7fffff, 0x800000, 0x800001, 0x3dcccccd, 0x3f7fffff, 0x3f800000, 0x3f800001, 0x4b7fffff,
			0x5f000000, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fcaffee},
		F64: {0, 1, 2, 0xfffffffffffff, 0x10000000000000, 0x10000000000001, 0x3fb999999999999a, 0x3fefffffffffffff,
			0x3ff0000000000000, 0x3ff0000000000001, 0x433fffffffffffff, 0x43e0000000000000, 0x7fefffffffffffff,
			0x7ff0000000000000, 0x7ff0000000000001, 0x7ffcaffee0000000},
	}[d]
	sign := uint64(1) << (8*d.Size() - 1)
	if !d.IsFloat() {
		magnitudes = []uint64{0, 1, 2, 3, 10, sign/2 - 1, sign / 2, sign - 2, sign - 1}
	}
	var all []uint64
	for _, m := range magnitudes {
		m &= sign - 1
		if all = append(all, m, m|sign); !d.IsFloat() {
			all = append(all, sign-1-m|sign)
		}
	}
	return all
}

// drawBits draws a bit pattern of dtype d: a special value, a small number whose sums and
// products stay in range, or any pattern.
func drawBits(r *rand.Rand, d DType) uint64 {
	switch all := specials(d); r.IntN(8) {
	case 0:
		return all[r.IntN(len(all))]
	case 1, 2, 3, 4:
		if d.IsFloat() {
			return nearestF64(d, r.NormFloat64()*4)
		}
		return uint64(r.IntN(9))
	default:
		return r.Uint64() >> (64 - 8*d.Size())
	}
}

// draw returns n elements that drawBits draws, at a random distance from the start of a
// cache line.
func draw(r *rand.Rand, d DType, n int) []byte {
	buf := newMisaligned(r.IntN(16), n*d.Size())
	for i := range n {
		setBits(d, buf, i, drawBits(r, d))
	}
	return buf
}

func drawArgs(r *rand.Rand, op Op, d DType, n int) [][]byte {
	args := make([][]byte, op.Arity())
	for i := range args {
		args[i] = draw(r, argType(op, d, i), n)
	}
	return args
}

// argType returns the dtype of argument i of op on elements of dtype d.
func argType(op Op, d DType, i int) DType {
	if op == Where && i == 0 {
		return U8
	}
	return d
}

// newMisaligned returns `size` bytes that begin `off` bytes after the start of a cache
// line.
func newMisaligned(off, size int) []byte {
	const line = 64
	buf := make([]byte, line+off+size)
	return buf[int(-uintptr(unsafe.Pointer(&buf[0]))%line)+off:][:size]
}

// newGuarded returns a destination of `size` bytes between guard bytes. The function
// `check` fails the test if the guard bytes have changed.
func newGuarded(t *testing.T, off, size int) (dst []byte, check func()) {
	t.Helper()
	const guard, mark = 64, 0xa5
	buf := newMisaligned(off, guard+size+guard)
	for i := range buf {
		buf[i] = mark
	}
	return buf[guard : guard+size], func() {
		t.Helper()
		for i, b := range buf {
			if (i < guard || i >= guard+size) && b != mark {
				t.Fatalf("byte %d outside a destination of %d bytes was overwritten with %#x", i-guard, size, b)
			}
		}
	}
}

// withAndWithoutVector runs f twice: without the assembly, and with it if there is any for
// this machine.
func withAndWithoutVector(t *testing.T, f func(t *testing.T)) {
	was := vector
	defer func() { vector = was }()
	for _, vector = range []bool{false, true}[:1+boolToInt(was)] {
		t.Run(fmt.Sprintf("vector=%v", vector), f)
	}
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// show returns a value as text. The text of a float includes the bit pattern.
func show(d DType, bits uint64) string {
	if d.IsFloat() {
		return fmt.Sprintf("%v (%#x)", decode(d, bits), bits)
	}
	return fmt.Sprint(intOf(d, bits))
}
