package npy

import (
	"fmt"
	"math"
	"strings"

	"github.com/kernbench/kernbench/internal/numeric"
)

// header is what the dictionary of a file says.
type header struct {
	descr   string
	fortran bool // the first index changes fastest
	shape   []int
}

// parseHeader reads a dictionary of exactly the three keys, in any order, with
// spaces behind it and a newline at the end.
func parseHeader(text string) (h header, err error) {
	p := parser{text: text}
	if err := p.want('{'); err != nil {
		return h, err
	}
	seen := map[string]bool{}
	for !p.take('}') {
		start := p.at
		key, err := p.quoted()
		if err != nil {
			return h, err
		}
		if seen[key] {
			return h, malformed(start, "key '%s' is there twice", key)
		}
		seen[key] = true
		if err := p.want(':'); err != nil {
			return h, err
		}
		switch key {
		case "descr":
			h.descr, err = p.descr()
		case "fortran_order":
			h.fortran, err = p.boolean()
		case "shape":
			h.shape, err = p.tuple()
		default:
			err = malformed(start, "there is no key %.40q", key)
		}
		if err != nil {
			return h, err
		}
		if p.take(',') {
			continue
		}
		if err := p.want('}'); err != nil {
			return h, err
		}
		break
	}
	for _, key := range []string{"descr", "fortran_order", "shape"} {
		if !seen[key] {
			return h, malformed(p.at, "key '%s' is missing", key)
		}
	}
	if rest := text[p.at:]; strings.TrimLeft(rest, " ") != "\n" {
		return h, malformed(p.at, "%.20q where spaces and a newline should be", rest)
	}
	return h, nil
}

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

// codes is NumPy's kind and size of each dtype. Before it comes the order of bytes:
// '<' little-endian, '>' big-endian, '|' for what has none.
var codes = [...]string{
	numeric.F16: "f2", numeric.BF16: "V2", numeric.F32: "f4", numeric.F64: "f8",
	numeric.I8: "i1", numeric.I16: "i2", numeric.I32: "i4", numeric.I64: "i8",
	numeric.U8: "u1", numeric.U16: "u2", numeric.U32: "u4", numeric.U64: "u8",
}

// descrOf returns the dtype of an array as a header has it.
func descrOf(a *Array) string {
	switch {
	case a.Bool:
		return "|b1"
	case a.DType.Size() == 1:
		return "|" + codes[a.DType]
	}
	return "<" + codes[a.DType]
}

// isBool reports whether a header says that elements are bools, one byte each.
func isBool(descr string) bool {
	return len(descr) == 3 && strings.ContainsRune("<>|", rune(descr[0])) && descr[1:] == "b1"
}

// parseDescr returns the dtype and the order of bytes that a header says.
func parseDescr(descr string) (d numeric.DType, bigEndian bool, err error) {
	switch {
	case descr == "bfloat16": // says no order: that of nearly all machines
		return numeric.BF16, false, nil
	case isBool(descr):
		return numeric.U8, false, nil
	}
	for _, d := range numeric.DTypes {
		switch descr {
		case "<" + codes[d]:
			return d, false, nil
		case ">" + codes[d]:
			return d, true, nil
		case "|" + codes[d]:
			if d.Size() == 1 || d == numeric.BF16 {
				return d, false, nil
			}
		}
	}
	return 0, false, fmt.Errorf("dtype %.40q is not read: convert the array to f2, f4, f8, i1 to i8 or u1 to u8 with < or > before it, |b1, or V2 for bf16", descr)
}
