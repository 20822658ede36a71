package tl

import (
	"fmt"
	"math"
	"strconv"

	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
)

// DType is the type of the elements of a tile or a tensor.
type DType = numeric.DType

// The dtypes: floats, bfloat16, integers with and without sign.
const (
	F16  = numeric.F16
	BF16 = numeric.BF16
	F32  = numeric.F32
	F64  = numeric.F64
	I8   = numeric.I8
	I16  = numeric.I16
	I32  = numeric.I32
	I64  = numeric.I64
	U8   = numeric.U8
	U16  = numeric.U16
	U32  = numeric.U32
	U64  = numeric.U64
)

// Op is an elementwise operation of a composite.
type Op = numeric.Op

// The operations of [Stream] and [Do].
const (
	OpAdd     = numeric.Add
	OpSub     = numeric.Sub
	OpMul     = numeric.Mul
	OpDiv     = numeric.Div
	OpMaximum = numeric.Maximum
	OpMinimum = numeric.Minimum
	OpNeg     = numeric.Neg
	OpAbs     = numeric.Abs
	OpExp     = numeric.Exp
	OpLog     = numeric.Log
	OpSqrt    = numeric.Sqrt
	OpRsqrt   = numeric.Rsqrt
	OpSigmoid = numeric.Sigmoid
	OpTanh    = numeric.Tanh
	OpFMA     = numeric.FMA
	OpClamp   = numeric.Clamp
	OpWhere   = numeric.Where // in Stream only
	OpAnd     = numeric.BitAnd
	OpOr      = numeric.BitOr
	OpXor     = numeric.BitXor
)

// Shape is the extents of a tile, outermost first: tl.Shape{rows, cols}. A tile has at
// most four axes. A tile without axes has one element; a tile with an extent of 0 is
// empty.
type Shape []int

// maxElems is the largest number of elements of a tile. It keeps the size in bytes
// within an int64 for every dtype.
const maxElems = 1 << 48

// extents converts s to an array, [oplog.Shape], so that a caller's Shape literal stays on
// the stack. It returns an error for an invalid shape.
func extents(s Shape) (e oplog.Shape, err error) {
	err = setExtents(&e, s)
	return e, err
}

// setExtents sets *e, which must be zero, to s. It returns an error for an invalid shape.
func setExtents(e *oplog.Shape, s Shape) error {
	if len(s) > oplog.MaxRank {
		return rankError(s)
	}
	e.Rank = int8(len(s))
	elems := 1
	for i, n := range s {
		if n < 0 || n > math.MaxInt32 || n > 0 && elems > 1 && elems > maxElems/n {
			return extentError(s, i)
		}
		e.Dim[i] = int32(n)
		elems *= n
	}
	return nil
}

func rankError(s Shape) error {
	return fmt.Errorf("%d axes are too many: a tile has at most %d", len(s), oplog.MaxRank)
}

// extentError returns the error for extent i of shape s, which is negative or too large.
func extentError(s Shape, i int) error {
	if s[i] < 0 {
		return fmt.Errorf("extent %d of axis %d is negative: an empty tile has extent 0", s[i], i)
	}
	return fmt.Errorf("%s is too large: a tile has at most 2^31-1 elements along an axis and 2^48 in all", s.String())
}

// axis returns the index of axis i of a shape. A negative i counts from the end.
func axis(s oplog.Shape, i int) (int, error) {
	n := int(s.Rank)
	if i < -n || i >= n {
		return 0, fmt.Errorf("axis %d of %d: axes count from 0, or from -1 backwards", i, n)
	}
	if i < 0 {
		i += n
	}
	return i, nil
}

// broadcast returns the shape of the result of an elementwise operation on shapes a and b,
// and reports whether a and b broadcast. The shapes are aligned at their last axes. On each
// axis, the extents must be equal, or one of them must be 1 or missing.
func broadcast(a, b oplog.Shape) (oplog.Shape, bool) {
	if a.Rank < b.Rank {
		a, b = b, a
	}
	lead := a.Rank - b.Rank
	for i, n := range b.Dim[:b.Rank] {
		if m := &a.Dim[int(lead)+i]; *m == 1 {
			*m = n
		} else if n != 1 && n != *m {
			return a, false
		}
	}
	return a, true
}

// fits reports whether dtype d can represent x. Rounding to a float type is allowed.
func fits(d DType, x float64) bool {
	if d.IsFloat() {
		return true
	}
	bits := 8 * d.Size()
	if d.IsSigned() {
		half := math.Ldexp(1, bits-1)
		return x == math.Trunc(x) && -half <= x && x < half
	}
	return x == math.Trunc(x) && 0 <= x && x < math.Ldexp(1, bits)
}

// String formats the shape in brackets: "[32 64]".
func (s Shape) String() string {
	b := []byte{'['}
	for i, n := range s {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return string(append(b, ']'))
}

// CDiv returns a divided by b, rounded up. This is the number of blocks of size b that are
// needed to cover a elements. a must be at least 0, and b at least 1.
func CDiv(a, b int) int { return (a + b - 1) / b }
