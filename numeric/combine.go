package numeric

import "fmt"

// Combine computes op for each pair of elements of x and y and writes the results to one or
// two destinations. op is one of Add, Mul, Maximum and Minimum; all elements have dtype d.
// The results have the same bits as those of [Apply]. x and y may each be one of dst; apart
// from that, slices must not overlap.
//
// Combine allocates nothing if it is called by name. For a call through a variable, the
// compiler allocates the list of destinations on the heap.
func Combine(op Op, d DType, x, y []byte, dst ...[]byte) {
	combineInto(op, d, x, y, dst, false)
}

// CombineStreaming computes the same as Combine, with stores that bypass the caches. Use it
// for results that do not fit into the caches; in place it is not faster. A core that sees
// a later store also sees these stores. If the two destinations do not reach the start of a
// cache line at the same element, it uses plain stores.
func CombineStreaming(op Op, d DType, x, y []byte, dst ...[]byte) {
	combineInto(op, d, x, y, dst, true)
}

// combineInto implements Combine and, if `streaming` is true, CombineStreaming.
func combineInto(op Op, d DType, x, y []byte, dst [][]byte, streaming bool) {
	checkCombine(op, d, x, y, dst)
	var also []byte
	if len(dst) == 2 {
		also = dst[1]
	}
	if !combineVector(op, d, dst[0], also, x, y, streaming) {
		Apply(op, d, dst[0], x, y)
		copy(also, dst[0])
	}
}

func checkCombine(op Op, d DType, x, y []byte, dst [][]byte) {
	switch op {
	case Add, Mul, Maximum, Minimum:
	default:
		panic(fmt.Sprintf("numeric: Combine does not do %v: use Add, Mul, Maximum or Minimum, or Apply for others", op))
	}
	if len(dst) != 1 && len(dst) != 2 {
		panic(fmt.Sprintf("numeric: Combine got %d destinations, wants one or two", len(dst)))
	}
	if len(x)%d.Size() != 0 {
		panic(fmt.Sprintf("numeric: Combine of %v: %d bytes are no whole number of elements", d, len(x)))
	}
	for _, place := range dst {
		if len(y) != len(x) || len(place) != len(x) {
			panic(fmt.Sprintf("numeric: Combine of %d and %d bytes into %d: pass as many of each", len(x), len(y), len(place)))
		}
	}
}
