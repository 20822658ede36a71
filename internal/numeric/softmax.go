package numeric

import "fmt"

// Softmax computes the softmax of each of outer rows of n elements of the float
// dtype d. A row with a NaN or with +Inf becomes NaN, and so does one that is all
// -Inf. dst may be src. It allocates only for rows of more than 1024 elements.
func Softmax(d DType, dst, src []byte, outer, n int) {
	if !Supports(SoftmaxOp, d) {
		panic(fmt.Sprintf("numeric: Softmax does not do %v: use a float dtype", d))
	}
	checkShape("Softmax to", d, dst, outer, n, 1)
	checkShape("Softmax of", d, src, outer, n, 1)
	if d == F64 {
		softmax[float64](d, F64, dst, src, outer, n)
		return
	}
	softmax[float32](d, F32, dst, src, outer, n)
}

// softmax computes in the dtype in, which is T.
func softmax[T float32 | float64](d, in DType, dst, src []byte, outer, n int) {
	if n == 0 {
		return
	}
	var short [1024]T
	row := short[:]
	if n > len(short) {
		row = make([]T, n)
	}
	row = row[:n]
	bytes := n * d.Size()
	for o := range outer {
		load(d, row, src[o*bytes:])
		softmaxRow(in, row)
		store(d, dst[o*bytes:], row)
	}
}

func softmaxRow[T float32 | float64](d DType, x []T) {
	greatest := fold(Max, x[0], x[1:])
	for i := range x {
		x[i] -= greatest
	}
	transform(d, exp, x)
	sum := fold(Sum, x[0], x[1:])
	for i := range x {
		x[i] /= sum
	}
}
