package exec

import (
	"github.com/kernbench/kernbench/internal/numeric"
	"github.com/kernbench/kernbench/internal/oplog"
)

// A composite is computed in strips, of so many rows or elements, that pass through
// its epilogue while they are in the processor's cache.
const (
	stripRows     = 64
	stripElements = 16 * block
)

// composite computes rows of a product, or elements of a stream, in the type they
// accumulate in, applies the epilogue and rounds once to the dtype of the result.
func (s *scratch) composite(op *oplog.Op, from, to int) {
	strip, elems := stripElements, 1 // elements of a unit
	if op.Kind == oplog.Gemm {
		strip, elems = stripRows, int(op.Shape.Dim[1])
	}
	d := accType(op)
	for at := from; at < to; at += strip {
		end := min(at+strip, to)
		out := s.dst[at*elems*op.DType.Size() : end*elems*op.DType.Size()]
		acc := out
		if d != op.DType {
			s.acc = grown(s.acc, (end-at)*elems*d.Size())
			acc = s.acc
		}
		s.accumulate(op, acc, at, end)
		args := s.args[len(op.Args):]
		for i := range op.Epilogue {
			step := &op.Epilogue[i]
			s.step = append(s.step[:0], source{}) // what came before: acc itself
			s.step = append(s.step, args[:len(step.Args)]...)
			args = args[len(step.Args):]
			s.elementwise(step.Math, d, acc, op.Shape, at*elems, end*elems, s.step)
		}
		if d != op.DType {
			numeric.Cast(op.DType, out, d, acc)
		}
	}
}

// accumulate computes units from to to of a composite before its epilogue.
func (s *scratch) accumulate(op *oplog.Op, acc []byte, from, to int) {
	switch op.Kind {
	case oplog.Stream:
		s.elementwise(op.Math, mathType(op), acc, op.Shape, from, to, s.args[:len(op.Args)])
		return
	case oplog.ReducePeers:
		size := op.Args[0].DType.Size()
		copy(acc, s.args[0].data[from*size:to*size])
		for i := range op.Args[1:] {
			s.step = append(s.step[:0], source{}, s.args[i+1]) // the reduction so far is acc itself
			s.elementwise(op.Math, op.Args[0].DType, acc, op.Shape, from, to, s.step)
		}
		return
	}
	d, size := op.Args[0].DType, op.Args[0].DType.Size()
	k, n := int(op.Args[0].Shape.Dim[1]), int(op.Shape.Dim[1])
	clear(acc)
	numeric.Dot(d, acc, s.args[0].data[from*k*size:to*k*size], s.args[1].data, to-from, k, n)
}

// accType is the dtype that a composite's epilogue works in.
func accType(op *oplog.Op) numeric.DType {
	if op.Kind == oplog.Gemm {
		return numeric.DotType(op.Args[0].DType)
	}
	return op.Math.Result(mathType(op))
}
