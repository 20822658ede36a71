package numeric

// castGroup is the elements that the assembly converts at a time. It does whole
// groups, and Go the elements that are left.
const castGroup = 8

// vector says whether the assembly is used. Tests compare with it off.
var vector = hasVector()

// hasVector says whether the processor and the operating system have AVX2 and F16C.
func hasVector() bool {
	const (
		osxsave, avx, f16c = 1 << 27, 1 << 28, 1 << 29 // leaf 1, ECX
		avx2               = 1 << 5                    // leaf 7, EBX
		ymmState           = 3 << 1                    // XCR0
	)
	if last, _, _, _ := cpuid(0); last < 7 {
		return false
	}
	_, _, features, _ := cpuid(1)
	if want := uint32(osxsave | avx | f16c); features&want != want || xgetbv()&ymmState != ymmState {
		return false
	}
	_, extended, _, _ := cpuid(7)
	return extended&avx2 != 0
}

// castVector converts the first elements between f32 and the half floats, and says
// how many.
func castVector(to DType, dst []byte, from DType, src []byte) int {
	groups := len(src) / from.Size() / castGroup
	if !vector || groups == 0 {
		return 0
	}
	switch {
	case from == F16 && to == F32:
		widenF16(&dst[0], &src[0], groups)
	case from == BF16 && to == F32:
		widenBF16(&dst[0], &src[0], groups)
	case from == F32 && to == F16:
		narrowF16(&dst[0], &src[0], groups)
	case from == F32 && to == BF16:
		narrowBF16(&dst[0], &src[0], groups)
	default:
		return 0
	}
	return groups * castGroup
}

// dotVector is dotPanel on sums in elements of F32, their rows stride bytes apart.
// It says whether it did it.
func dotVector(sums []byte, stride int, a, b []float32, rows, depth int) bool {
	if vector {
		dotF32(&sums[0], stride, &a[0], &b[0], rows, depth)
	}
	return vector
}

func cpuid(leaf uint32) (eax, ebx, ecx, edx uint32)

func xgetbv() (xcr0 uint32)

// The functions below do groups of eight elements, at least one.

//go:noescape
func widenF16(dst, src *byte, groups int)

//go:noescape
func widenBF16(dst, src *byte, groups int)

//go:noescape
func narrowF16(dst, src *byte, groups int)

//go:noescape
func narrowBF16(dst, src *byte, groups int)

// dotF32 adds a, rows × depth, times b, depth × 16 with rows dotPitch apart, to
// rows × 16 elements of sums, the rows stride bytes apart. There is at least one row
// and one of depth.
//
//go:noescape
func dotF32(sums *byte, stride int, a, b *float32, rows, depth int)
