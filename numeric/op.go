package numeric

import "github.com/kernbench/kernbench/internal/printable"

// Op is an operation on values. Its numbers go into logs: they never change.
type Op uint8

// Operations that [Apply] does element by element.
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

// Operations over an axis: those of [Reduce], and that of [Softmax].
const (
	Sum Op = iota + Where + 1
	Max
	Min
	SoftmaxOp
)

// Operations that [Apply] does on the bits of integers.
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

// Valid says whether op is an operation.
func (op Op) Valid() bool { return Add <= op && op <= BitXor }

// String returns the name: "add", "sub", ...
func (op Op) String() string { return printable.Name("Op", op, opNames[:]) }

// IsElementwise says whether op is one of [Apply].
func (op Op) IsElementwise() bool { return Add <= op && op <= Where || op.isBitwise() }

func (op Op) isBitwise() bool { return BitAnd <= op && op <= BitXor }

// IsComparison says whether op writes U8, 0 or 1, whatever its operands are.
func (op Op) IsComparison() bool { return Lt <= op && op <= Ne }

// IsReduction says whether op is one of [Reduce].
func (op Op) IsReduction() bool { return Sum <= op && op <= Min }

// Arity is the number of operands.
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

// Result is the dtype that op writes when its operands are of dtype d.
func (op Op) Result(d DType) DType {
	if op.IsComparison() {
		return U8
	}
	return d
}

// Operand returns the dtype of operand i of an operation on dtype d: d, but U8 for the
// condition of [Where].
func (op Op) Operand(i int, d DType) DType {
	if op == Where && i == 0 {
		return U8
	}
	return d
}

// Supports says whether op is defined for operands of dtype d: roots,
// transcendentals and softmax are for floats, operations on bits for integers, all
// else for every dtype.
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
