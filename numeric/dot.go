package numeric

import (
	"encoding/binary"
	"sync"
)

// A product is computed in panels: dotRows × dotDepth of a and dotDepth × dotWidth of b.
// They are copied to contiguous memory in the type in which they are computed. Panels stay
// in the processor caches while each is used many times.
const (
	dotRows  = 64
	dotDepth = 128
	dotWidth = 128
	dotCols  = 16 // columns at a time: two vectors of float32; the assembly depends on it

	// dotPitch is the distance between rows of the panel of b, in elements. It is not a
	// power of two, so that the elements of a column are in different cache sets.
	dotPitch = dotWidth + dotCols
)

// panels holds copies of panels of both operands.
type panels[T number] struct {
	a    [dotRows * dotDepth]T
	b    [dotDepth * dotPitch]T
	sums [dotRows * dotCols]T // for columns at the right edge, or without assembly
}

// multipliers holds the functions that compute products, by the dtype of the product.
var multipliers = [...]func(p product){
	F32: multiplier[float32](), F64: multiplier[float64](), I32: multiplier[int32](), I64: multiplier[int64](),
}

// DotType returns the dtype of a matrix product of operands of dtype d. It is F32 for f16,
// bf16 and f32, and F64 for f64. For signed and unsigned integers it is I64 if they have 64
// bits, else I32.
func DotType(d DType) DType {
	switch {
	case d.IsFloat():
		return max(d, F32) // F64 is greater than F32
	case d.Size() == 8:
		return I64
	}
	return I32
}

// Dot adds the matrix product of a and b to acc. a has m×k elements and b has k×n elements,
// both of dtype d. acc has m×n elements of dtype DotType(d). The products are added to each
// element of acc in ascending k, one at a time, and each is rounded before it is added.
// Integers wrap. acc must not overlap a or b.
func Dot(d DType, acc, a, b []byte, m, k, n int) {
	checkShape("Dot to", DotType(d), acc, m, n, 1)
	checkShape("Dot of a left operand of", d, a, m, k, 1)
	checkShape("Dot of a right operand of", d, b, k, n, 1)
	multipliers[DotType(d)](product{d, acc, a, b, m, k, n})
}

// product holds the arguments of Dot.
type product struct {
	d         DType
	acc, a, b []byte
	m, k, n   int
}

// multiplier returns a function that computes matrix products with elements of type T. The
// function reuses the memory of its panels.
func multiplier[T number]() func(p product) {
	pool := sync.Pool{New: func() any { return new(panels[T]) }}
	return func(p product) {
		buf := pool.Get().(*panels[T])
		defer pool.Put(buf)
		buf.multiply(&p)
	}
}

// multiply computes the matrix product p, panel by panel. A panel is a part of an operand
// that fits into the processor caches.
func (buf *panels[T]) multiply(p *product) {
	for k := 0; k < p.k; k += dotDepth { // the outermost loop, so that k ascends for every element
		depth := min(dotDepth, p.k-k)
		for j := 0; j < p.n; j += dotWidth {
			width := min(dotWidth, p.n-j)
			for r := range depth {
				convert(p.d, buf.b[r*dotPitch:][:width], p.b[((k+r)*p.n+j)*p.d.Size():])
			}
			for i := 0; i < p.m; i += dotRows {
				rows := min(dotRows, p.m-i)
				for r := range rows {
					convert(p.d, buf.a[r*depth:][:depth], p.a[((i+r)*p.k+k)*p.d.Size():])
				}
				for c := 0; c < width; c += dotCols {
					buf.addProducts(p, i, j, c, rows, depth, min(dotCols, width-c))
				}
			}
		}
	}
}

// addProducts adds a part of the product to rows × cols elements of acc that start at (i,
// j+c). The part is the product of the panel of a with the columns of the panel of b from c
// on. `depth` is the number of products per element.
func (buf *panels[T]) addProducts(p *product, i, j, c, rows, depth, cols int) {
	to := DotType(p.d)
	acc, stride := p.acc[(i*p.n+j+c)*to.Size():], p.n*to.Size()
	a, b := buf.a[:], buf.b[c:]
	if to == F32 && cols == dotCols && dotVector(acc, stride, float32s(a), float32s(b), rows, depth) {
		return
	}
	sums := buf.sums[:]
	for r := range rows {
		load(to, sums[r*dotCols:][:cols], acc[r*stride:])
	}
	if to != F32 || !dotVector(bytesOf(sums), dotCols*to.Size(), float32s(a), float32s(b), rows, depth) {
		dotPanel(sums, a, b, rows, depth, cols)
	}
	for r := range rows {
		store(to, acc[r*stride:], sums[r*dotCols:][:cols])
	}
}

// convert converts the elements of src, of dtype d, to the type T in which products are
// added.
func convert[T number](d DType, dst []T, src []byte) {
	switch d {
	case I8:
		for i := range dst {
			dst[i] = T(int8(src[i]))
		}
	case U8:
		for i := range dst {
			dst[i] = T(src[i])
		}
	case I16:
		for i := range dst {
			dst[i] = T(int16(binary.LittleEndian.Uint16(src[2*i:])))
		}
	case U16:
		for i := range dst {
			dst[i] = T(binary.LittleEndian.Uint16(src[2*i:]))
		}
	default: // floats, and integers that have the size of T
		load(d, dst, src)
	}
}

// dotPanel adds the product of the matrices `a` and `b` to the matrix `sums`. `a` consists
// of rows × depth elements. `b` consists of `depth` rows, which start dotPitch elements
// apart. `sums` consists of rows × dotCols elements. dotPanel computes four columns at a
// time, and at least the first `cols` columns.
func dotPanel[T number](sums, a, b []T, rows, depth, cols int) {
	for r := range rows {
		a := a[r*depth:][:depth]
		for c := 0; c < cols; c += 4 {
			s := sums[r*dotCols+c:][:4]
			s0, s1, s2, s3 := s[0], s[1], s[2], s[3]
			for i, x := range a {
				y := b[i*dotPitch+c:][:4]
				s0 += T(x * y[0])
				s1 += T(x * y[1])
				s2 += T(x * y[2])
				s3 += T(x * y[3])
			}
			s[0], s[1], s[2], s[3] = s0, s1, s2, s3
		}
	}
}
