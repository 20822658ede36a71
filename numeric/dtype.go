package numeric

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/printable"
)

// DType is the type of an element. Logs contain its numbers, which therefore never change.
type DType uint8

// The dtypes: IEEE 754 floats, bfloat16, and integers in two's complement.
const (
	F16 DType = iota + 1
	BF16
	F32
	F64
	I8
	I16
	I32
	I64
	U8
	U16
	U32
	U64
)

// DTypes lists every dtype.
var DTypes = []DType{F16, BF16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64}

var dtypeNames = [...]string{
	F16: "f16", BF16: "bf16", F32: "f32", F64: "f64",
	I8: "i8", I16: "i16", I32: "i32", I64: "i64",
	U8: "u8", U16: "u16", U32: "u32", U64: "u64",
}

var dtypeSizes = [...]uint8{
	F16: 2, BF16: 2, F32: 4, F64: 8,
	I8: 1, I16: 2, I32: 4, I64: 8,
	U8: 1, U16: 2, U32: 4, U64: 8,
}

// Valid reports whether d is one of DTypes.
func (d DType) Valid() bool { return F16 <= d && d <= U64 }

// Size returns the size of an element in bytes. It panics if d is not valid.
func (d DType) Size() int {
	if !d.Valid() {
		d.panicNoSize() // a function of its own, so that Size can be inlined
	}
	return int(dtypeSizes[d])
}

func (d DType) panicNoSize() {
	panic(fmt.Sprintf("numeric: %v has no size: use one of %s", d, dtypeList()))
}

// IsFloat reports whether elements are floating-point numbers.
func (d DType) IsFloat() bool { return F16 <= d && d <= F64 }

// IsSigned reports whether elements can be negative.
func (d DType) IsSigned() bool { return F16 <= d && d <= I64 }

// String returns the name, such as "f16".
func (d DType) String() string { return printable.Name("DType", d, dtypeNames[:]) }

// ParseDType returns the dtype with the given name, such as "f16". An unknown name is an
// error.
func ParseDType(name string) (DType, error) {
	if i := slices.Index(dtypeNames[:], name); i > 0 {
		return DType(i), nil
	}
	return 0, fmt.Errorf("unknown dtype %q: use one of %s", name, dtypeList())
}

func dtypeList() string { return strings.Join(dtypeNames[F16:], ", ") }
