package exec

import (
	"encoding/binary"

	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
)

// scratch is the working memory of a goroutine that computes values.
type scratch struct {
	dst  []byte   // the value of the whole operation
	args []source // the operands, followed by those of the epilogue

	in     [3][]byte // the operands of a block
	filled [3]bool   // cast holds copies of the only element of the operand
	wide   [3][]byte // the operands of a block, broadcast
	cast   [3][]byte // the operands of a block, converted to another dtype
	acc    []byte    // the accumulators of a composite
	step   []source  // the operands of a step of an epilogue
}

// source is an operand with its value.
type source struct {
	*oplog.Operand
	data []byte // nil for a number
}

// fetch sets s.args to the operands of op, followed by the operands of its epilogue. Each
// entry has the operand and its value.
func (s *scratch) fetch(e *Executor, op *oplog.Op) {
	s.args = s.args[:0]
	inputs := e.inputs[op.ID]
	for o := range operands(op) {
		src := source{Operand: o}
		switch {
		case o.From > 0:
			src.data = e.node(o.From).value.bytes
		case len(o.Mem) > 0:
			src.data, inputs = inputs[0].bytes, inputs[1:]
		}
		s.args = append(s.args, src)
	}
}

// compute computes the units in [from, to) of an operation. A unit of a product is a row of
// the result, and a unit of another operation is an element. An operation that cannot be
// divided is computed as a whole.
func (s *scratch) compute(op *oplog.Op, from, to int) {
	if len(s.dst) == 0 {
		return
	}
	d := op.DType
	switch op.Kind {
	case oplog.Full:
		fillWith(s.dst, d, op.Fill)
	case oplog.Arange:
		for i := range op.Shape.Elems() {
			numeric.Set(d, s.dst, i, float64(i))
		}
	case oplog.Math:
		d := mathType(op)
		size := op.DType.Size()
		s.elementwise(op.Math, d, s.dst[from*size:to*size], op.Shape, from, to, s.args)
	case oplog.Reduce:
		outer, n, inner := splitAtAxis(op.Args[0].Shape, int(op.Axis))
		numeric.Reduce(op.Math, d, s.dst, s.args[0].data, outer, n, inner)
	case oplog.Softmax:
		outer, n, _ := splitAtAxis(op.Shape, int(op.Shape.Rank)-1)
		numeric.Softmax(d, s.dst, s.args[0].data, outer, n)
	case oplog.Dot:
		row := int(op.Shape.Dim[1]) * d.Size()
		s.dot(op, s.dst[from*row:to*row], from, to)
	case oplog.Cast:
		numeric.Cast(d, s.dst, op.Args[0].DType, s.args[0].data)
	case oplog.Trans:
		outer, rows, cols := splitAtAxis(op.Args[0].Shape, int(op.Shape.Rank)-2)
		n := rows * cols * d.Size()
		for i := range outer {
			transpose(s.dst[i*n:(i+1)*n], s.args[0].data[i*n:(i+1)*n], rows, cols, d.Size())
		}
	case oplog.Broadcast:
		expand(s.dst, s.args[0].data, d.Size(), op.Args[0].Shape, op.Shape, 0)
	case oplog.Gemm, oplog.Stream, oplog.ReducePeers:
		s.composite(op, from, to)
	}
}

// splitAtAxis divides the extents of a shape at an axis. `outer` is the product of the
// extents before the axis, n the extent of the axis, and `inner` the product of the extents
// after it. A shape without axes counts as a row of one element.
func splitAtAxis(s oplog.Shape, axis int) (outer, n, inner int) {
	outer, n, inner = 1, 1, 1
	for i, d := range s.Dim[:s.Rank] {
		switch {
		case i < axis:
			outer *= int(d)
		case i == axis:
			n = int(d)
		default:
			inner *= int(d)
		}
	}
	return outer, n, inner
}

// dot computes the rows in [from, to) of a matrix product into acc. If op has a third
// operand, it is added to the product.
func (s *scratch) dot(op *oplog.Op, acc []byte, from, to int) {
	d, size := op.Args[0].DType, op.Args[0].DType.Size()
	k, n := int(op.Args[0].Shape.Dim[1]), int(op.Shape.Dim[1])
	if len(op.Args) == 3 {
		copy(acc, s.args[2].data[from*n*op.DType.Size():])
	} else {
		clear(acc)
	}
	numeric.Dot(d, acc, s.args[0].data[from*k*size:to*k*size], s.args[1].data, to-from, k, n)
}

// transpose writes the transpose of the rows × cols matrix src to dst. Each element is
// `size` bytes long.
func transpose(dst, src []byte, rows, cols, size int) {
	le := binary.LittleEndian
	for i := range rows {
		for j := range cols {
			from, to := src[(i*cols+j)*size:], dst[(j*rows+i)*size:]
			switch size {
			case 1:
				to[0] = from[0]
			case 2:
				le.PutUint16(to, le.Uint16(from))
			case 4:
				le.PutUint32(to, le.Uint32(from))
			case 8:
				le.PutUint64(to, le.Uint64(from))
			}
		}
	}
}

// ensureLen returns a slice of n bytes with undefined contents. It reuses b if the capacity
// of b is large enough.
func ensureLen(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}

// Composites are computed in strips of this many rows or elements. A strip passes through
// the epilogue while it is in the processor cache.
const (
	stripRows     = 64
	stripElements = 16 * block
)

// composite computes the units in [from, to) of a composite: rows of a product, or elements
// of another composite. It computes in the dtype of the accumulators, applies the epilogue,
// and rounds once to the dtype of the result.
func (s *scratch) composite(op *oplog.Op, from, to int) {
	strip, elems := stripElements, 1 // elems is the number of elements of a unit
	if op.Kind == oplog.Gemm {
		strip, elems = stripRows, int(op.Shape.Dim[1])
	}
	d := accType(op)
	for at := from; at < to; at += strip {
		end := min(at+strip, to)
		out := s.dst[at*elems*op.DType.Size() : end*elems*op.DType.Size()]
		acc := out
		if d != op.DType {
			s.acc = ensureLen(s.acc, (end-at)*elems*d.Size())
			acc = s.acc
		}
		s.accumulate(op, acc, at, end)
		args := s.args[len(op.Args):]
		for i := range op.Epilogue {
			step := &op.Epilogue[i]
			s.step = append(s.step[:0], source{}) // the first operand is acc itself
			s.step = append(s.step, args[:len(step.Args)]...)
			args = args[len(step.Args):]
			s.elementwise(step.Math, d, acc, op.Shape, at*elems, end*elems, s.step)
		}
		if d != op.DType {
			numeric.Cast(op.DType, out, d, acc)
		}
	}
}

// accumulate computes the units in [from, to) of a composite into acc. As in the method
// composite, a unit is a row or an element. accumulate does not apply the epilogue.
func (s *scratch) accumulate(op *oplog.Op, acc []byte, from, to int) {
	switch op.Kind {
	case oplog.Gemm:
		s.dot(op, acc, from, to)
	case oplog.Stream:
		s.elementwise(op.Math, mathType(op), acc, op.Shape, from, to, s.args[:len(op.Args)])
	case oplog.ReducePeers:
		size := op.Args[0].DType.Size()
		copy(acc, s.args[0].data[from*size:to*size])
		for i := range op.Args[1:] {
			s.step = append(s.step[:0], source{}, s.args[i+1]) // the first operand is acc itself
			s.elementwise(op.Math, op.Args[0].DType, acc, op.Shape, from, to, s.step)
		}
	}
}

// accType returns the dtype of the accumulators of a composite, in which its epilogue
// computes.
func accType(op *oplog.Op) numeric.DType {
	if op.Kind == oplog.Gemm {
		return numeric.DotType(op.Args[0].DType)
	}
	return op.Math.Result(mathType(op))
}
