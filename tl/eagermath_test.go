package tl_test

import (
	"fmt"

	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/tl"
)

// Compute runs a command of the engines immediately.
func (e *eagerPE) Compute(v *tl.Value, c *tl.Compute) error {
	d := v.DType
	data := make([]byte, v.Bytes())
	var arg *tl.Value
	var src []byte
	if c.N > 0 && !c.Args[0].IsScalar {
		arg = &c.Args[0].Value
		src = e.data(arg)
	}
	switch c.Kind {
	case oplog.Full:
		for i := range v.Shape.Elems() {
			numeric.Set(d, data, i, c.Fill)
		}
	case oplog.Arange:
		for i := range v.Shape.Elems() {
			numeric.Set(d, data, i, float64(i))
		}
	case oplog.Math:
		d := operandType(c.Math, c.Args[:c.N])
		numeric.Apply(c.Math, d, data, e.operands(c.Math, d, v.Shape, c.Args[:c.N])...)
	case oplog.Reduce:
		outer, inner := 1, 1
		for _, n := range arg.Shape.Dim[:c.Axis] {
			outer *= int(n)
		}
		for _, n := range arg.Shape.Dim[c.Axis+1 : arg.Shape.Rank] {
			inner *= int(n)
		}
		numeric.Reduce(c.Math, d, data, src, outer, int(arg.Shape.Dim[c.Axis]), inner)
	case oplog.Softmax:
		if n := int(arg.Shape.Dim[arg.Shape.Rank-1]); n > 0 {
			numeric.Softmax(d, data, src, arg.Shape.Elems()/n, n)
		}
	case oplog.Dot:
		b := &c.Args[1].Value
		if c.N == 3 {
			copy(data, e.data(&c.Args[2].Value))
		}
		numeric.Dot(arg.DType, data, src, e.data(b), int(arg.Shape.Dim[0]), int(arg.Shape.Dim[1]), int(b.Shape.Dim[1]))
	case oplog.Cast:
		numeric.Cast(d, data, arg.DType, src)
	case oplog.Trans:
		rows, cols := int(v.Shape.Dim[v.Shape.Rank-2]), int(v.Shape.Dim[v.Shape.Rank-1])
		size := d.Size()
		for i := range v.Shape.Elems() {
			m, r, c := i/(rows*cols), i/cols%rows, i%cols
			copy(data[i*size:][:size], src[(m*rows*cols+c*rows+r)*size:])
		}
	case oplog.Reshape:
		copy(data, src)
	case oplog.Broadcast:
		data = repeat(src, arg, v.Shape)
	default:
		return fmt.Errorf("no engine does %v", c.Kind)
	}
	e.newTile(v, data)
	return nil
}

// operandType returns the dtype in which op computes: the dtype of the first operand that
// is a tile. The condition of a Where does not count.
func operandType(op tl.Op, args []tl.Arg) tl.DType {
	for i := range args {
		if !args[i].IsScalar && !(op == tl.OpWhere && i == 0) {
			return args[i].Value.DType
		}
	}
	panic("operands are numbers only")
}

// operands returns the elements of each operand of an operation, broadcast to shape and
// converted to dtype d.
func (e *eagerPE) operands(op tl.Op, d tl.DType, shape oplog.Shape, args []tl.Arg) [][]byte {
	all := make([][]byte, len(args))
	for i := range args {
		v := &args[i].Value
		if args[i].IsScalar {
			all[i] = make([]byte, shape.Elems()*d.Size())
			for k := range shape.Elems() {
				numeric.Set(d, all[i], k, args[i].Scalar)
			}
			continue
		}
		data := e.data(v)
		if v.DType != d && !(op == tl.OpWhere && i == 0) {
			data = make([]byte, v.Shape.Elems()*d.Size())
			numeric.Cast(d, data, v.DType, e.data(v))
			v = &tl.Value{Shape: v.Shape, DType: d}
		}
		all[i] = repeat(data, v, shape)
	}
	return all
}

// repeat broadcasts src, the data of v, to a shape.
func repeat(src []byte, v *tl.Value, shape oplog.Shape) []byte {
	size := v.DType.Size()
	data := make([]byte, shape.Elems()*size)
	lead := int(shape.Rank - v.Shape.Rank)
	for i := range shape.Elems() {
		rest, from, step := i, 0, 1
		for axis := int(shape.Rank) - 1; axis >= lead; axis-- {
			n := int(v.Shape.Dim[axis-lead])
			from += rest % int(shape.Dim[axis]) % n * step
			rest /= int(shape.Dim[axis])
			step *= n
		}
		copy(data[i*size:][:size], src[from*size:])
	}
	return data
}
