package tl

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
)

// Full creates a tile whose elements are all v.
func (t *PE) Full(s Shape, dtype DType, v float64) Tile {
	e := t.beginNew(oplog.Full, s, dtype)
	if t.c.Fill = v; !fits(dtype, v) {
		panic(t.fail("Full", Value{Shape: e, DType: dtype}.String(), fmt.Errorf("%v is not a value of %v", v, dtype)))
	}
	return t.compute(e, dtype)
}

// Zeros creates a tile of zeros.
func (t *PE) Zeros(s Shape, dtype DType) Tile { return t.Full(s, dtype, 0) }

// Arange creates a tile of n elements: 0, 1, 2 ...
func (t *PE) Arange(n int, dtype DType) Tile {
	return t.compute(t.beginNew(oplog.Arange, Shape{n}, dtype), dtype)
}

// beginNew begins a command without operands and returns the shape of the tile that it
// creates.
func (t *PE) beginNew(kind oplog.Kind, s Shape, d DType) oplog.Shape {
	t.begin(kind, 0)
	return t.extents(opName(kind, 0), s, d)
}

// Dot returns the matrix product of x, of shape [m, k], and y, of shape [k, n], plus acc if
// it is given. The dtype of the result and of acc depends on the dtype of x and y. It is
// f32 for f16, bf16 and f32; f64 for f64; i32 for integers of up to 32 bits; and i64 for
// longer integers. Products are added in ascending k.
func (x Tile) Dot(y Tile, acc ...Tile) Tile {
	t := x.pe
	if len(acc) == 0 {
		t.begin(oplog.Dot, 0, x, y)
	} else {
		t.begin(oplog.Dot, 0, x, y, acc[0])
	}
	if len(acc) > 1 {
		panic(t.failCompute(fmt.Errorf("%d accumulators: there is at most one", len(acc))))
	}
	s, err := productShape(&t.c.Args[0].Value, &t.c.Args[1].Value)
	t.must(err)
	d := numeric.DotType(x.v.DType)
	if len(acc) == 1 && (acc[0].v.Shape != s || acc[0].v.DType != d) {
		panic(t.failCompute(fmt.Errorf("the accumulator is %v: a product of these is %v", acc[0].v, Value{Shape: s, DType: d})))
	}
	return t.compute(s, d)
}

// Softmax divides e^x by the sum of e^x along the last axis.
func (x Tile) Softmax() Tile {
	t := x.pe
	t.begin(oplog.Softmax, numeric.SoftmaxOp, x)
	if x.v.Shape.Rank == 0 {
		panic(t.failCompute(errors.New("there is no axis to sum over")))
	}
	t.must(checkDefined(numeric.SoftmaxOp, x.v.DType, nil))
	return t.compute(x.v.Shape, x.v.DType)
}

// Sum adds the elements along an axis and removes the axis. A negative axis counts from the
// end. Elements are added in order. Elements of f16 and bf16 are added in f32.
func (x Tile) Sum(axis int) Tile { return x.reduce(numeric.Sum, axis) }

// Max computes the largest element along an axis, and removes the axis as Sum does.
func (x Tile) Max(axis int) Tile { return x.reduce(numeric.Max, axis) }

// Min computes the smallest element along an axis, and removes the axis as Sum does.
func (x Tile) Min(axis int) Tile { return x.reduce(numeric.Min, axis) }

func (x Tile) reduce(op Op, along int) Tile {
	t := x.pe
	t.begin(oplog.Reduce, op, x)
	s := x.v.Shape
	along, err := axis(s, along)
	t.must(err)
	if op != numeric.Sum && s.Dim[along] == 0 {
		panic(t.failCompute(fmt.Errorf("axis %d is empty: only a sum of nothing is defined", along)))
	}
	t.c.Axis = along
	copy(s.Dim[along:], s.Dim[along+1:])
	s.Rank--
	s.Dim[s.Rank] = 0
	return t.compute(s, x.v.DType)
}

// To converts the tile to another dtype. Conversions to floats round to nearest, ties to
// even. Floats become integers by truncation and saturation. Integers that do not fit into
// an integer dtype wrap around.
func (x Tile) To(dtype DType) Tile {
	t := x.pe
	t.begin(oplog.Cast, 0, x)
	if !dtype.Valid() {
		panic(t.failCompute(errDType))
	}
	return t.compute(x.v.Shape, dtype)
}

// Trans exchanges the last two axes.
func (x Tile) Trans() Tile {
	t := x.pe
	t.begin(oplog.Trans, 0, x)
	s := x.v.Shape
	if s.Rank < 2 {
		panic(t.failCompute(fmt.Errorf("%d axes: there must be two to exchange", s.Rank)))
	}
	i := s.Rank - 1
	s.Dim[i], s.Dim[i-1] = s.Dim[i-1], s.Dim[i]
	return t.compute(s, x.v.DType)
}

// Reshape gives the elements another shape and keeps their order. No data moves: the new
// tile shares the memory of x, and freeing either tile frees both.
func (x Tile) Reshape(dims ...int) Tile {
	t := x.pe
	t.begin(oplog.Reshape, 0, x)
	s, err := extents(dims)
	t.must(err)
	if n := x.v.Shape.Elems(); s.Elems() != n {
		panic(t.failCompute(fmt.Errorf("%s has %d elements, the tile has %d", Shape(dims).String(), s.Elems(), n)))
	}
	return t.compute(s, x.v.DType)
}

// Broadcast repeats the tile along new leading axes and along axes of extent 1 until it
// has shape s. Elementwise operations broadcast without it.
func (x Tile) Broadcast(s Shape) Tile {
	t := x.pe
	t.begin(oplog.Broadcast, 0, x)
	e, err := extents(s)
	t.must(err)
	if both, ok := broadcast(x.v.Shape, e); !ok || both != e {
		panic(t.failCompute(fmt.Errorf("the tile does not broadcast to %s: seen from the last axis, its extents must be the same or 1", s.String())))
	}
	return t.compute(e, x.v.DType)
}

// binary applies an operation that every dtype supports to two operands. In the usual case,
// two tiles of equal shape and dtype, it skips the checks of the method `math`.
func (t *PE) binary(op Op, x *Tile, y any) Tile {
	if t != nil && !x.v.InMem && t.setSecond(y) && t.c.Args[1].Value.isLike(&x.v) {
		t.c.Kind, t.c.Math, t.c.Axis, t.c.Fill, t.c.N = oplog.Math, op, 0, 0, 2
		t.c.Args[0].Value, t.c.Args[0].IsScalar = x.v, false
		t.v = x.v
		t.v.ID, t.v.DType = 0, op.Result(x.v.DType)
		t.must(t.m.Compute(&t.v, &t.c))
		return Tile{v: t.v, pe: t}
	}
	return t.mathAny(op, x, y)
}

// mathAny applies an operation to two operands, with all checks. It is a function of its
// own, so that the stack frame of binary stays small.
//
//go:noinline
func (t *PE) mathAny(op Op, x *Tile, y any) Tile { return t.math(op, *x, y) }

// setSecond stores y as the second operand in t.c, if y is a tile of this PE, and reports
// whether it is.
func (t *PE) setSecond(y any) bool {
	switch y := y.(type) {
	case Tile:
		t.c.Args[1].Value, t.c.Args[1].IsScalar = y.v, false
		return y.pe == t
	}
	return false
}

// isLike reports whether v is a tile with the shape and dtype of w.
func (v *Value) isLike(w *Value) bool { return !v.InMem && v.Shape == w.Shape && v.DType == w.DType }

// math applies an elementwise operation.
func (t *PE) math(op Op, args ...any) Tile {
	t.begin(oplog.Math, op, args...)
	s, d, err := checkElementwise(op, t.c.Args[:t.c.N])
	t.must(err)
	return t.compute(s, op.Result(d))
}

// begin checks the operands of an engine's command and stores the command in t.c. The
// method `compute` then passes the command to the machine. If the first operand is a zero
// Tile, t is nil and begin panics.
func (t *PE) begin(kind oplog.Kind, op Op, args ...any) {
	if t == nil {
		panic(misuse(opName(kind, op), operandsText(args), errZeroTile))
	}
	for i, x := range args {
		if err := t.argument(&t.c.Args[i], x, false); err != nil {
			panic(t.fail(opName(kind, op), operandsText(args), err))
		}
	}
	t.c.Kind, t.c.Math, t.c.Axis, t.c.Fill, t.c.N = kind, op, 0, 0, len(args)
}

// compute passes the command in t.c to the machine. The result has shape s and dtype d.
func (t *PE) compute(s oplog.Shape, d DType) Tile {
	t.v = Value{Shape: s, DType: d}
	t.must(t.m.Compute(&t.v, &t.c))
	return Tile{v: t.v, pe: t}
}

// must stops the kernel if err, an error of the command in t.c, is not nil.
func (t *PE) must(err error) {
	if err != nil {
		panic(t.failCompute(err))
	}
}

// failCompute returns an Error with the reason err for the command in t.c.
func (t *PE) failCompute(err error) *Error {
	operands := argsText(t.c.Args[:t.c.N])
	if t.c.N == 0 {
		operands = t.v.String()
	}
	return t.fail(opName(t.c.Kind, t.c.Math), operands, err)
}

// opName returns the name that an operation has in kernels. op is 0 for kinds that
// determine the name by themselves.
func opName(kind oplog.Kind, op Op) string {
	switch {
	case kind == oplog.Cast:
		return "To"
	case op == 0:
		return kind.String()
	case op == numeric.FMA:
		return "FMA"
	}
	name := strings.TrimPrefix(op.String(), "bit_")
	return strings.ToUpper(name[:1]) + name[1:]
}

// Add adds y to x. Here and below, an operand of type any is a Tile or a Go number. Shapes
// broadcast, and dtypes must be equal. A number is converted to the dtype of the tiles.
func (x Tile) Add(y any) Tile { return x.pe.binary(numeric.Add, &x, y) }

// Sub subtracts y from x. [PE.Sub] subtracts a tile from a number.
func (x Tile) Sub(y any) Tile { return x.pe.binary(numeric.Sub, &x, y) }

// Mul multiplies x by y.
func (x Tile) Mul(y any) Tile { return x.pe.binary(numeric.Mul, &x, y) }

// Div divides x by y. Quotients of integers are truncated. [PE.Div] divides a number by a
// tile.
func (x Tile) Div(y any) Tile { return x.pe.binary(numeric.Div, &x, y) }

// Maximum computes the larger of x and y, or NaN if either is NaN.
func (x Tile) Maximum(y any) Tile { return x.pe.binary(numeric.Maximum, &x, y) }

// Minimum computes the smaller of x and y, or NaN if either is NaN.
func (x Tile) Minimum(y any) Tile { return x.pe.binary(numeric.Minimum, &x, y) }

// And computes the bitwise and of x and y. And, Or and Xor are for integers only.
func (x Tile) And(y any) Tile { return x.pe.math(numeric.BitAnd, x, y) }

// Or computes the bitwise or of x and y.
func (x Tile) Or(y any) Tile { return x.pe.math(numeric.BitOr, x, y) }

// Xor computes the bitwise exclusive or of x and y.
func (x Tile) Xor(y any) Tile { return x.pe.math(numeric.BitXor, x, y) }

// Lt compares x with y and returns u8: 1 where x < y, else 0. The result is a condition
// for [PE.Where].
func (x Tile) Lt(y any) Tile { return x.pe.binary(numeric.Lt, &x, y) }

// Le compares x with y and returns u8: 1 where x <= y, else 0.
func (x Tile) Le(y any) Tile { return x.pe.binary(numeric.Le, &x, y) }

// Gt compares x with y and returns u8: 1 where x > y, else 0.
func (x Tile) Gt(y any) Tile { return x.pe.binary(numeric.Gt, &x, y) }

// Ge compares x with y and returns u8: 1 where x >= y, else 0.
func (x Tile) Ge(y any) Tile { return x.pe.binary(numeric.Ge, &x, y) }

// Eq compares x with y and returns u8: 1 where x = y, else 0.
func (x Tile) Eq(y any) Tile { return x.pe.binary(numeric.Eq, &x, y) }

// Ne compares x with y and returns u8: 1 where x and y differ, else 0.
func (x Tile) Ne(y any) Tile { return x.pe.binary(numeric.Ne, &x, y) }

// FMA computes x × y + z, rounded once.
func (x Tile) FMA(y, z any) Tile { return x.pe.math(numeric.FMA, x, y, z) }

// Clamp limits x to at least lo and at most hi.
func (x Tile) Clamp(lo, hi any) Tile { return x.pe.math(numeric.Clamp, x, lo, hi) }

// Neg negates x.
func (x Tile) Neg() Tile { return x.pe.math(numeric.Neg, x) }

// Abs computes the absolute value of x.
func (x Tile) Abs() Tile { return x.pe.math(numeric.Abs, x) }

// Exp computes e to the power of x.
func (x Tile) Exp() Tile { return x.pe.math(numeric.Exp, x) }

// Log computes the natural logarithm of x.
func (x Tile) Log() Tile { return x.pe.math(numeric.Log, x) }

// Sqrt computes the square root of x.
func (x Tile) Sqrt() Tile { return x.pe.math(numeric.Sqrt, x) }

// Rsqrt computes 1 / √x.
func (x Tile) Rsqrt() Tile { return x.pe.math(numeric.Rsqrt, x) }

// Sigmoid computes 1 / (1 + e^-x).
func (x Tile) Sigmoid() Tile { return x.pe.math(numeric.Sigmoid, x) }

// Tanh computes the hyperbolic tangent of x.
func (x Tile) Tanh() Tile { return x.pe.math(numeric.Tanh, x) }

// Sub subtracts y from x, where x may be a number: t.Sub(1, y).
func (t *PE) Sub(x, y any) Tile { return t.math(numeric.Sub, x, y) }

// Div divides x by y, where x may be a number: t.Div(1, y).
func (t *PE) Div(x, y any) Tile { return t.math(numeric.Div, x, y) }

// FMA computes x × y + z, rounded once, where x may be a number: t.FMA(2, y, z).
func (t *PE) FMA(x, y, z any) Tile { return t.math(numeric.FMA, x, y, z) }

// Clamp limits x to at least lo and at most hi, where x may be a number:
// t.Clamp(1, lo, hi).
func (t *PE) Clamp(x, lo, hi any) Tile { return t.math(numeric.Clamp, x, lo, hi) }

// Where returns the elements of x where cond is not 0, and the elements of y where cond is
// 0. cond is a tile of u8. At least one of x and y must be a tile.
func (t *PE) Where(cond Tile, x, y any) Tile { return t.math(numeric.Where, cond, x, y) }
