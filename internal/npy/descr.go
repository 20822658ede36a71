package npy

import (
	"fmt"
	"strings"

	"github.com/kernbench/kernbench/internal/numeric"
)

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
