package collperf

import (
	"fmt"

	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/tl"
)

// dtypeNames are the names of dtypes in nccl-tests.
var dtypeNames = map[string]tl.DType{
	"half": tl.F16, "float16": tl.F16, "bfloat16": tl.BF16, "float": tl.F32, "float32": tl.F32, "double": tl.F64, "float64": tl.F64,
	"int8": tl.I8, "int16": tl.I16, "int32": tl.I32, "int64": tl.I64,
	"uint8": tl.U8, "uint16": tl.U16, "uint32": tl.U32, "uint64": tl.U64,
}

// DTypes is the value of a flag that is a dtype, or all of them.
type DTypes []tl.DType

// String returns the dtype, or "all".
func (d *DTypes) String() string {
	if len(*d) == 1 {
		return (*d)[0].String()
	}
	return "all"
}

// Type returns what the help calls the value.
func (d *DTypes) Type() string { return "dtype" }

// Set takes the name of a dtype, also as nccl-tests has it, or all.
func (d *DTypes) Set(word string) error {
	one, err := numeric.ParseDType(word)
	alias, known := dtypeNames[word]
	switch {
	case word == "all":
		*d = numeric.DTypes
	case known:
		*d = DTypes{alias}
	case err != nil:
		return fmt.Errorf("%w, or all", err)
	default:
		*d = DTypes{one}
	}
	return nil
}
