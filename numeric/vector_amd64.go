package numeric

// castGroup is the number of elements that the assembly converts at a time. The assembly
// converts whole groups, and Go code the remaining elements.
const castGroup = 8

// vector reports whether the assembly is used. Tests switch it off to compare results.
var vector = hasVector()

// hasVector reports whether the processor and the operating system support AVX2 and F16C.
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

// castVector uses assembly to convert elements from f16 or bf16 to f32, or from f32 to f16
// or bf16. It begins with the first element and returns how many elements it has converted.
// The caller converts the rest. The result is 0 for other dtypes and without assembly.
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

// dotVector does the work of dotPanel if there is assembly for it, and reports whether
// there is. sums holds elements of F32 in rows that are stride bytes apart.
func dotVector(sums []byte, stride int, a, b []float32, rows, depth int) bool {
	if vector {
		dotF32(&sums[0], stride, &a[0], &b[0], rows, depth)
	}
	return vector
}

func cpuid(leaf uint32) (eax, ebx, ecx, edx uint32)

func xgetbv() (xcr0 uint32)

// The functions below convert groups of eight elements, at least one.

//go:noescape
func widenF16(dst, src *byte, groups int)

//go:noescape
func widenBF16(dst, src *byte, groups int)

//go:noescape
func narrowF16(dst, src *byte, groups int)

//go:noescape
func narrowBF16(dst, src *byte, groups int)

// dotF32 adds the product of a and b to sums. a has rows × depth elements, b depth × 16 and
// sums rows × 16. The rows of b start dotPitch elements apart, and the rows of sums start
// stride bytes apart. rows and depth are at least 1.
//
//go:noescape
func dotF32(sums *byte, stride int, a, b *float32, rows, depth int)
