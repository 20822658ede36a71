package tl

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
)

// argument stores the operand x in *a, in the form that the machine accepts. It returns an
// error if x is not a valid operand. If `refs` is set, x may be a Ref; only composites
// accept Refs.
func (t *PE) argument(a *Arg, x any, refs bool) error {
	if x, ok := x.(Tile); ok {
		*a = Arg{Value: x.v}
		if refs {
			return t.checkOwned(&x)
		}
		return t.checkUsable(&x)
	}
	f, ok := number(x)
	if !ok {
		return fmt.Errorf("operand of type %s: give a Tile or a Go number, integers below 2^53", typeText(x))
	}
	*a = Arg{Scalar: f, IsScalar: true}
	return nil
}

// number converts a Go number to float64. ok is false if x is not a number, or is an
// integer that float64 may not represent exactly. A value of a defined type is not a
// number.
func number(x any) (f float64, ok bool) {
	switch v := reflect.ValueOf(x); {
	case !v.IsValid() || v.Type().PkgPath() != "":
		return 0, false
	case v.CanFloat():
		return v.Float(), true
	case v.CanInt():
		f = float64(v.Int())
	case v.CanUint():
		f = float64(v.Uint())
	default:
		return 0, false
	}
	return f, math.Abs(f) < 1<<53
}

// checkElementwise checks the operands of an elementwise operation. It returns the shape of
// the result and the dtype of the operands.
func checkElementwise(op Op, args []Arg) (s oplog.Shape, d DType, err error) {
	if op == numeric.Where {
		cond := &args[0]
		if cond.IsScalar || cond.Value.DType != numeric.U8 {
			return s, d, errors.New("the condition is no u8 tile: make one with Lt, Eq or their like")
		}
		s, args = cond.Value.Shape, args[1:]
	}
	for i := range args {
		if args[i].IsScalar {
			continue
		}
		v := &args[i].Value
		if d == 0 {
			d = v.DType
		}
		if v.DType != d {
			return s, d, fmt.Errorf("dtypes %v and %v differ: convert one with To", d, v.DType)
		}
		both, ok := broadcast(s, v.Shape)
		if !ok {
			return s, d, fmt.Errorf("shapes %s and %s do not broadcast: seen from the last axis, extents must be equal or 1",
				s.String(), v.Shape.String())
		}
		s = both
	}
	if d == 0 {
		return s, d, errors.New("the operands are numbers only: make one a tile with Full, which says of what dtype")
	}
	return s, d, checkDefined(op, d, args)
}

// checkDefined returns an error if dtype d does not support op or cannot represent a number
// among args.
func checkDefined(op Op, d DType, args []Arg) error {
	if !numeric.Supports(op, d) {
		return fmt.Errorf("there is no %v of %v: convert with To", op, d)
	}
	for i := range args {
		if args[i].IsScalar && !fits(d, args[i].Scalar) {
			return fmt.Errorf("%v is not a value of %v: convert the tile with To", args[i].Scalar, d)
		}
	}
	return nil
}

// productShape checks the operands of a matrix product and returns the shape of the result.
func productShape(a, b *Value) (s oplog.Shape, err error) {
	if a.Shape.Rank != 2 || b.Shape.Rank != 2 {
		return s, fmt.Errorf("operands of %d and %d axes: a matrix product takes two each", a.Shape.Rank, b.Shape.Rank)
	}
	if a.DType != b.DType {
		return s, fmt.Errorf("dtypes %v and %v differ: convert one with To", a.DType, b.DType)
	}
	if k, rows := a.Shape.Dim[1], b.Shape.Dim[0]; k != rows {
		return s, fmt.Errorf("inner sizes %d and %d differ: the first operand's columns must equal the second's rows", k, rows)
	}
	return oplog.Shape{Rank: 2, Dim: [oplog.MaxRank]int32{a.Shape.Dim[0], b.Shape.Dim[1]}}, nil
}

// operandsText formats operands for errors: "[32 64] f16, 2".
func operandsText(args []any) string {
	texts := make([]string, len(args))
	for i, x := range args {
		texts[i] = typeText(x)
		if f, ok := number(x); ok {
			texts[i] = numberText(f)
		}
		if x, ok := x.(Tile); ok {
			texts[i] = x.v.String()
		}
	}
	return strings.Join(texts, ", ")
}

// argsText formats operands for errors: "[32 64] f16, 2". Unlike operandsText, it takes
// operands that the method `argument` has converted.
func argsText(args []Arg) string {
	texts := make([]string, len(args))
	for i := range args {
		texts[i] = args[i].Value.String()
		if args[i].IsScalar {
			texts[i] = numberText(args[i].Scalar)
		}
	}
	return strings.Join(texts, ", ")
}

func numberText(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// typeText returns the Go type of an invalid operand. It avoids %T, because arguments of
// fmt escape to the heap in every call.
func typeText(x any) string {
	if x == nil {
		return "nil"
	}
	return reflect.TypeOf(x).String()
}
