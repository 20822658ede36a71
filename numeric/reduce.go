package numeric

import (
	"fmt"
	"math"
)

// Reduce reduces the middle axis of src with Sum, Max or Min. src has [outer][n][inner]
// elements of dtype d, and dst [outer][inner]. If n is 0, the sum is 0, the maximum is the
// least value of the dtype and the minimum is the greatest. dst and src must not overlap.
func Reduce(op Op, d DType, dst, src []byte, outer, n, inner int) {
	if !op.IsReduction() || !d.Valid() {
		panic(fmt.Sprintf("numeric: Reduce does not do %v on %v: use Sum, Max or Min", op, d))
	}
	checkShape("Reduce to", d, dst, outer, 1, inner)
	checkShape("Reduce of", d, src, outer, n, inner)
	if n == 0 {
		for i := range len(dst) / d.Size() {
			Set(d, dst, i, [...]float64{Sum: 0, Max: math.Inf(-1), Min: math.Inf(1)}[op])
		}
		return
	}
	kernels[d].reduce(op, d, dst, src, outer, n, inner)
}

// checkShape panics unless buf holds outer × n × inner elements of dtype d. `what` is the
// name of buf in the message.
func checkShape(what string, d DType, buf []byte, outer, n, inner int) {
	if min(outer, n, inner) < 0 || outer*n*inner*d.Size() != len(buf) {
		panic(fmt.Sprintf("numeric: %s %d bytes, want %d×%d×%d elements of %v", what, len(buf), outer, n, inner, d))
	}
}

// reduce computes the same as Reduce, for a dtype whose elements are computed in type T.
func reduce[T number](op Op, d DType, dst, src []byte, outer, n, inner int) {
	size := d.Size()
	for o := range outer {
		dst, src := dst[o*inner*size:], src[o*n*inner*size:]
		if inner == 1 {
			reduceRow[T](op, d, dst, src[:n*size])
			continue
		}
		for j := 0; j < inner; j += block {
			w := min(block, inner-j)
			reduceColumns[T](op, d, dst[j*size:], src[j*size:], n, w, inner*size)
		}
	}
}

// reduceRow reduces all elements of src to one element, dst.
func reduceRow[T number](op Op, d DType, dst, src []byte) {
	var x [block]T
	var result [1]T
	size := d.Size()
	load(d, result[:], src)
	for i, n := 1, len(src)/size; i < n; i += block {
		w := min(block, n-i)
		load(d, x[:w], src[i*size:])
		result[0] = fold(op, result[0], x[:w])
	}
	store(d, dst, result[:])
}

// fold combines v with the elements of x by op, one after another in ascending order, and
// returns the result.
func fold[T number](op Op, v T, x []T) T {
	switch op {
	case Sum:
		for _, e := range x {
			v += e
		}
	case Max:
		for _, e := range x {
			v = max(v, e)
		}
	case Min:
		for _, e := range x {
			v = min(v, e)
		}
	}
	return v
}

// reduceColumns reduces n rows of src to one row, dst, column by column. A row has w
// elements, and rows start `stride` bytes apart.
func reduceColumns[T number](op Op, d DType, dst, src []byte, n, w, stride int) {
	var results, row [block]T
	pairwise := [...]Op{Sum: Add, Max: Maximum, Min: Minimum}[op]
	load(d, results[:w], src)
	for i := 1; i < n; i++ {
		load(d, row[:w], src[i*stride:])
		combine(pairwise, d, results[:w], row[:w])
	}
	store(d, dst, results[:w])
}

// Softmax computes the softmax of each row of src into dst. src has `outer` rows of n
// elements of the float dtype d. A row that contains NaN or +Inf, or consists of -Inf only,
// becomes NaN. dst may be src. Softmax allocates only for rows of more than 1024 elements.
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

// softmax computes the same as Softmax. It computes in the dtype `in`, whose Go type is T.
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
