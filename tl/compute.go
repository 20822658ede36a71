package tl

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
)

// Full is a tile of one value.
func (t *PE) Full(s Shape, dtype DType, v float64) Tile {
	e := t.made(oplog.Full, s, dtype)
	if t.c.Fill = v; !fits(dtype, v) {
		panic(t.fail("Full", Value{Shape: e, DType: dtype}.String(), fmt.Errorf("%v is not a value of %v", v, dtype)))
	}
	return t.compute(e, dtype)
}

// Zeros is a tile of zeros.
func (t *PE) Zeros(s Shape, dtype DType) Tile { return t.Full(s, dtype, 0) }

// Arange is the tile 0, 1, 2 ... of n elements.
func (t *PE) Arange(n int, dtype DType) Tile {
	return t.compute(t.made(oplog.Arange, Shape{n}, dtype), dtype)
}

// made begins an operation that makes a tile out of nothing.
func (t *PE) made(kind oplog.Kind, s Shape, d DType) oplog.Shape {
	t.take(kind, 0)
	return t.extents(opName(kind, 0), s, d)
}

// Dot returns the matrix product of x, [m, k], and y, [k, n], plus acc if it is given. The
// result, and acc, is f32 for f16, bf16 and f32, f64 for f64, i32 for integers of
// up to 32 bits and i64 for longer ones; products are added in ascending k.
func (x Tile) Dot(y Tile, acc ...Tile) Tile {
	t := x.pe
	if len(acc) == 0 {
		t.take(oplog.Dot, 0, x, y)
	} else {
		t.take(oplog.Dot, 0, x, y, acc[0])
	}
	if len(acc) > 1 {
		panic(t.failCompute(fmt.Errorf("%d accumulators: there is at most one", len(acc))))
	}
	s, err := product(&t.c.Args[0].Value, &t.c.Args[1].Value)
	t.must(err)
	d := numeric.DotType(x.v.DType)
	if len(acc) == 1 && (acc[0].v.Shape != s || acc[0].v.DType != d) {
		panic(t.failCompute(fmt.Errorf("the accumulator is %v: a product of these is %v", acc[0].v, Value{Shape: s, DType: d})))
	}
	return t.compute(s, d)
}

// Softmax is e^x over its sum along the last axis.
func (x Tile) Softmax() Tile {
	t := x.pe
	t.take(oplog.Softmax, numeric.SoftmaxOp, x)
	if x.v.Shape.Rank == 0 {
		panic(t.failCompute(errors.New("there is no axis to sum over")))
	}
	t.must(defined(numeric.SoftmaxOp, x.v.DType, nil))
	return t.compute(x.v.Shape, x.v.DType)
}

// Sum adds up along an axis, which disappears; a negative axis counts from the
// end. Elements are added in order, f16 and bf16 in f32.
func (x Tile) Sum(axis int) Tile { return x.reduce(numeric.Sum, axis) }

// Max is the largest along an axis, as Sum.
func (x Tile) Max(axis int) Tile { return x.reduce(numeric.Max, axis) }

// Min is the smallest along an axis, as Sum.
func (x Tile) Min(axis int) Tile { return x.reduce(numeric.Min, axis) }

func (x Tile) reduce(op Op, along int) Tile {
	t := x.pe
	t.take(oplog.Reduce, op, x)
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

// To converts to another dtype: floats round to nearest even, floats to integers
// truncate and saturate, integers wrap.
func (x Tile) To(dtype DType) Tile {
	t := x.pe
	t.take(oplog.Cast, 0, x)
	if !dtype.Valid() {
		panic(t.failCompute(errDType))
	}
	return t.compute(x.v.Shape, dtype)
}

// Trans exchanges the last two axes.
func (x Tile) Trans() Tile {
	t := x.pe
	t.take(oplog.Trans, 0, x)
	s := x.v.Shape
	if s.Rank < 2 {
		panic(t.failCompute(fmt.Errorf("%d axes: there must be two to exchange", s.Rank)))
	}
	i := s.Rank - 1
	s.Dim[i], s.Dim[i-1] = s.Dim[i-1], s.Dim[i]
	return t.compute(s, x.v.DType)
}

// Reshape gives the elements, in their order, another shape. No data moves: the new
// tile lies where the old one does, and freeing one frees both.
func (x Tile) Reshape(dims ...int) Tile {
	t := x.pe
	t.take(oplog.Reshape, 0, x)
	s, err := extents(dims)
	t.must(err)
	if n := x.v.Shape.Elems(); s.Elems() != n {
		panic(t.failCompute(fmt.Errorf("%s has %d elements, the tile has %d", Shape(dims).String(), s.Elems(), n)))
	}
	return t.compute(s, x.v.DType)
}

// Broadcast repeats the tile along new leading axes and along axes of extent 1 to
// make it of a shape. Arithmetic does so by itself.
func (x Tile) Broadcast(s Shape) Tile {
	t := x.pe
	t.take(oplog.Broadcast, 0, x)
	e, err := extents(s)
	t.must(err)
	if both, ok := broadcast(x.v.Shape, e); !ok || both != e {
		panic(t.failCompute(fmt.Errorf("the tile does not broadcast to %s: seen from the last axis, its extents must be the same or 1", s.String())))
	}
	return t.compute(e, x.v.DType)
}

// binary is math of two operands for an operation that every dtype has, in the usual
// case without a look at each.
func (t *PE) binary(op Op, x Tile, y any) Tile {
	if y, ok := y.(Tile); ok && t != nil && y.pe == t && !x.v.InMem && !y.v.InMem && x.v.Shape == y.v.Shape && x.v.DType == y.v.DType {
		t.c.Kind, t.c.Math, t.c.Axis, t.c.Fill, t.c.N = oplog.Math, op, 0, 0, 2
		t.c.Args[0].Value, t.c.Args[0].IsScalar = x.v, false
		t.c.Args[1].Value, t.c.Args[1].IsScalar = y.v, false
		return t.compute(x.v.Shape, op.Result(x.v.DType))
	}
	return t.math(op, x, y)
}

// math is an elementwise operation.
func (t *PE) math(op Op, args ...any) Tile {
	t.take(oplog.Math, op, args...)
	s, d, err := elementwise(op, t.c.Args[:t.c.N])
	t.must(err)
	return t.compute(s, op.Result(d))
}

// take begins a command of the engines: its operands are checked and put where the
// machine gets them from. A zero Tile leads here with a PE of nil.
func (t *PE) take(kind oplog.Kind, op Op, args ...any) {
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

// compute gives the machine the command that take began.
func (t *PE) compute(s oplog.Shape, d DType) Tile {
	t.v = Value{Shape: s, DType: d}
	t.must(t.m.Compute(&t.v, &t.c))
	return Tile{t, t.v}
}

// must stops the kernel if there is an error of the command that take began.
func (t *PE) must(err error) {
	if err != nil {
		panic(t.failCompute(err))
	}
}

// failCompute makes the Error of the command that take began.
func (t *PE) failCompute(err error) *Error {
	operands := argsText(t.c.Args[:t.c.N])
	if t.c.N == 0 {
		operands = t.v.String()
	}
	return t.fail(opName(t.c.Kind, t.c.Math), operands, err)
}

// opName is an operation as kernels write it, by its kind, or its Op if it has one.
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

// Add is x + y. Here and below, an operand of type any is a Tile or a Go number:
// shapes broadcast, dtypes must be equal, and a number takes the dtype of the tiles.
func (x Tile) Add(y any) Tile { return x.pe.binary(numeric.Add, x, y) }

// Sub is x - y. [PE.Sub] has the form for a number minus a tile.
func (x Tile) Sub(y any) Tile { return x.pe.binary(numeric.Sub, x, y) }

// Mul is x × y.
func (x Tile) Mul(y any) Tile { return x.pe.binary(numeric.Mul, x, y) }

// Div is x / y; integers truncate. [PE.Div] has the form for a number over a tile.
func (x Tile) Div(y any) Tile { return x.pe.binary(numeric.Div, x, y) }

// Maximum is the larger of x and y; NaN if either is.
func (x Tile) Maximum(y any) Tile { return x.pe.binary(numeric.Maximum, x, y) }

// Minimum is the smaller of x and y; NaN if either is.
func (x Tile) Minimum(y any) Tile { return x.pe.binary(numeric.Minimum, x, y) }

// And is the bits that x and y both have. Only integers have And, Or and Xor.
func (x Tile) And(y any) Tile { return x.pe.math(numeric.BitAnd, x, y) }

// Or is the bits that x or y has.
func (x Tile) Or(y any) Tile { return x.pe.math(numeric.BitOr, x, y) }

// Xor is the bits that one of x and y has and the other has not.
func (x Tile) Xor(y any) Tile { return x.pe.math(numeric.BitXor, x, y) }

// Lt is 1 where x < y, else 0, in u8: a condition for [PE.Where].
func (x Tile) Lt(y any) Tile { return x.pe.binary(numeric.Lt, x, y) }

// Le is 1 where x <= y, else 0, in u8.
func (x Tile) Le(y any) Tile { return x.pe.binary(numeric.Le, x, y) }

// Gt is 1 where x > y, else 0, in u8.
func (x Tile) Gt(y any) Tile { return x.pe.binary(numeric.Gt, x, y) }

// Ge is 1 where x >= y, else 0, in u8.
func (x Tile) Ge(y any) Tile { return x.pe.binary(numeric.Ge, x, y) }

// Eq is 1 where x = y, else 0, in u8.
func (x Tile) Eq(y any) Tile { return x.pe.binary(numeric.Eq, x, y) }

// Ne is 1 where x and y differ, else 0, in u8.
func (x Tile) Ne(y any) Tile { return x.pe.binary(numeric.Ne, x, y) }

// FMA is x × y + z, rounded once.
func (x Tile) FMA(y, z any) Tile { return x.pe.math(numeric.FMA, x, y, z) }

// Clamp is x, but at least lo and at most hi.
func (x Tile) Clamp(lo, hi any) Tile { return x.pe.math(numeric.Clamp, x, lo, hi) }

// Neg is -x.
func (x Tile) Neg() Tile { return x.pe.math(numeric.Neg, x) }

// Abs is the magnitude of x.
func (x Tile) Abs() Tile { return x.pe.math(numeric.Abs, x) }

// Exp is e to the power of x.
func (x Tile) Exp() Tile { return x.pe.math(numeric.Exp, x) }

// Log is the natural logarithm of x.
func (x Tile) Log() Tile { return x.pe.math(numeric.Log, x) }

// Sqrt is the square root of x.
func (x Tile) Sqrt() Tile { return x.pe.math(numeric.Sqrt, x) }

// Rsqrt is 1 / √x.
func (x Tile) Rsqrt() Tile { return x.pe.math(numeric.Rsqrt, x) }

// Sigmoid is 1 / (1 + e^-x).
func (x Tile) Sigmoid() Tile { return x.pe.math(numeric.Sigmoid, x) }

// Tanh is the hyperbolic tangent of x.
func (x Tile) Tanh() Tile { return x.pe.math(numeric.Tanh, x) }

// Sub is x - y, where x may be the number: t.Sub(1, y).
func (t *PE) Sub(x, y any) Tile { return t.math(numeric.Sub, x, y) }

// Div is x / y, where x may be the number: t.Div(1, y).
func (t *PE) Div(x, y any) Tile { return t.math(numeric.Div, x, y) }

// FMA returns x × y + z, rounded once, where x may be the number: t.FMA(2, y, z).
func (t *PE) FMA(x, y, z any) Tile { return t.math(numeric.FMA, x, y, z) }

// Clamp returns x, but at least lo and at most hi, where x may be the number: t.Clamp(1, lo, hi).
func (t *PE) Clamp(x, lo, hi any) Tile { return t.math(numeric.Clamp, x, lo, hi) }

// Where is x where cond, in u8, is not 0, and y elsewhere. At least one of x and y
// is a tile.
func (t *PE) Where(cond Tile, x, y any) Tile { return t.math(numeric.Where, cond, x, y) }
