package numeric

import "github.com/kernbench/kernbench/internal/printable"

// Op is an operation on values. Logs contain its numbers, which therefore never change.
type Op uint8

// Operations of [Apply], element by element.
const (
	Add Op = iota + 1
	Sub
	Mul
	Div
	Maximum
	Minimum
	Lt // comparisons write U8, 0 or 1
	Le
	Gt
	Ge
	Eq
	Ne
	Neg
	Abs
	Exp
	Log
	Sqrt
	Rsqrt // 1/√x
	Sigmoid
	Tanh
	FMA   // a·b + c, rounded once
	Clamp // x, lo, hi
	Where // cond (U8, true unless 0), a, b
)

// Operations over an axis: Sum, Max and Min for [Reduce], SoftmaxOp for [Softmax].
const (
	Sum Op = iota + Where + 1
	Max
	Min
	SoftmaxOp
)

// Operations of [Apply] on the bits of integers.
const (
	BitAnd Op = iota + SoftmaxOp + 1
	BitOr
	BitXor
)

var opNames = [...]string{
	Add: "add", Sub: "sub", Mul: "mul", Div: "div", Maximum: "maximum", Minimum: "minimum",
	Lt: "lt", Le: "le", Gt: "gt", Ge: "ge", Eq: "eq", Ne: "ne",
	Neg: "neg", Abs: "abs", Exp: "exp", Log: "log", Sqrt: "sqrt", Rsqrt: "rsqrt", Sigmoid: "sigmoid", Tanh: "tanh",
	FMA: "fma", Clamp: "clamp", Where: "where",
	Sum: "sum", Max: "max", Min: "min", SoftmaxOp: "softmax",
	BitAnd: "bit_and", BitOr: "bit_or", BitXor: "bit_xor",
}

// Valid reports whether op is one of the defined operations.
func (op Op) Valid() bool { return Add <= op && op <= BitXor }

// String returns the name, such as "add".
func (op Op) String() string { return printable.Name("Op", op, opNames[:]) }

// IsElementwise reports whether op is an operation of [Apply].
func (op Op) IsElementwise() bool { return Add <= op && op <= Where || op.isBitwise() }

func (op Op) isBitwise() bool { return BitAnd <= op && op <= BitXor }

// IsComparison reports whether op is a comparison. Its result has dtype U8, with elements 0
// or 1, for operands of any dtype.
func (op Op) IsComparison() bool { return Lt <= op && op <= Ne }

// IsReduction reports whether op is an operation of [Reduce].
func (op Op) IsReduction() bool { return Sum <= op && op <= Min }

// Arity returns the number of operands of op.
func (op Op) Arity() int {
	switch {
	case op <= Ne, op.isBitwise():
		return 2
	case FMA <= op && op <= Where:
		return 3
	default:
		return 1
	}
}

// Result returns the dtype of the result of op for operands of dtype d.
func (op Op) Result(d DType) DType {
	if op.IsComparison() {
		return U8
	}
	return d
}

// Operand returns the dtype of operand i of an operation on dtype d: U8 for the condition
// of [Where], and d otherwise.
func (op Op) Operand(i int, d DType) DType {
	if op == Where && i == 0 {
		return U8
	}
	return d
}

// Supports reports whether op is defined for operands of dtype d. Roots, transcendental
// functions and softmax are only for floats, operations on bits only for integers, and all
// others for every dtype.
func Supports(op Op, d DType) bool {
	switch op {
	case Exp, Log, Sqrt, Rsqrt, Sigmoid, Tanh, SoftmaxOp:
		return d.IsFloat()
	case BitAnd, BitOr, BitXor:
		return d.Valid() && !d.IsFloat()
	default:
		return op.Valid() && d.Valid()
	}
}
