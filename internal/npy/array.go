package npy

import (
	"fmt"
	"math"

	"github.com/kernbench/kernbench/internal/numeric"
)

// Array is the contents of a file: elements in row-major order, little-endian. A
// shape without extents is that of one element.
type Array struct {
	Shape []int
	DType numeric.DType
	Bytes []byte
	Bool  bool // the elements are bools: the dtype is u8, and each is 0 or 1
}

// byteCount is the bytes of a shape's elements. Extents of 0 do not make up for others
// that are too large: whoever multiplies some of them must not overflow.
func byteCount(shape []int, d numeric.DType) (int, error) {
	product, empty := d.Size(), false
	for axis, n := range shape {
		switch {
		case n < 0:
			return 0, fmt.Errorf("extent %d of axis %d is negative: an empty array has extent 0", n, axis)
		case n == 0:
			empty = true
		case product > math.MaxInt/n:
			return 0, fmt.Errorf("the extents up to that of axis %d, %d, make more %v than there can be bytes: split the array", axis, n, d)
		default:
			product *= n
		}
	}
	if empty {
		return 0, nil
	}
	return product, nil
}
