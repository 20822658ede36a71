package exec

import (
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
)

// block is the number of elements of an operand that are broadcast or converted at a time.
// A block stays in the processor cache.
const block = 2048

// mathType returns the dtype in which a Math or Stream operation computes. For a Math
// operation that is not a comparison, it is the dtype of the result. For other operations,
// it is the dtype of the first operand that is not a number; the condition of Where does
// not count. If all operands are numbers, it is the dtype of the result.
func mathType(op *oplog.Op) numeric.DType {
	if op.Kind == oplog.Math && !op.Math.IsComparison() {
		return op.DType
	}
	args := op.Args
	if op.Math == numeric.Where {
		args = args[1:]
	}
	for i := range args {
		if !isNumber(&args[i]) {
			return args[i].DType
		}
	}
	return op.DType
}

func isNumber(o *oplog.Operand) bool { return o.From == 0 && len(o.Mem) == 0 && o.Shape.Rank == 0 }

// elementwise computes the elements in [from, to) of the result of the operation `math`,
// and writes them to dst. The result has the given shape. Operands are broadcast to this
// shape and converted to dtype d if their dtype differs. An element of args without an
// operand stands for dst itself.
func (s *scratch) elementwise(math numeric.Op, d numeric.DType, dst []byte, shape oplog.Shape, from, to int, args []source) {
	if from == to {
		return
	}
	size := math.Result(d).Size()
	elems := shape.Elems()
	s.filled = [3]bool{}
	for at := from; at < to; at += block {
		n := min(block, to-at)
		out := dst[(at-from)*size:][:n*size]
		for i := range args {
			if args[i].Operand == nil {
				s.in[i] = out
				continue
			}
			s.take(i, &args[i], math.Operand(i, d), shape, elems, at, n)
		}
		numeric.Apply(math, d, out, s.in[:len(args)]...)
	}
}

// take sets s.in[i] to n elements of operand arg, starting at element number `at` of the
// result. The operand is broadcast to the given shape and converted to dtype d. `elems` is
// the number of elements of the shape.
func (s *scratch) take(i int, arg *source, d numeric.DType, shape oplog.Shape, elems, at, n int) {
	size := d.Size()
	own := arg.Operand.DType
	switch have := arg.Shape.Elems(); {
	case arg.data == nil || have == 1 && elems > 1:
		if !s.filled[i] { // the first block is the longest
			s.constant(i, arg, d, n)
		}
		s.in[i] = s.cast[i][:n*size]
		return
	case have == elems:
		s.in[i] = arg.data[at*own.Size():][:n*own.Size()]
	default:
		s.wide[i] = ensureLen(s.wide[i], n*own.Size())
		expand(s.wide[i], arg.data, own.Size(), arg.Shape, shape, at)
		s.in[i] = s.wide[i]
	}
	if own != d {
		s.cast[i] = ensureLen(s.cast[i], n*size)
		numeric.Cast(d, s.cast[i], own, s.in[i])
		s.in[i] = s.cast[i]
	}
}

// constant fills s.cast[i] with n copies of the operand arg, converted to dtype d. arg is a
// number or has one element.
func (s *scratch) constant(i int, arg *source, d numeric.DType, n int) {
	s.filled[i] = true
	s.cast[i] = ensureLen(s.cast[i], n*d.Size())
	one := s.cast[i][:d.Size()]
	if arg.data == nil {
		numeric.Set(d, one, 0, arg.Scalar)
	} else {
		numeric.Cast(d, one, arg.Operand.DType, arg.data)
	}
	fill(s.cast[i], one)
}

// fillWith sets all elements of dst to v. dst has at least one element.
func fillWith(dst []byte, d numeric.DType, v float64) {
	numeric.Set(d, dst, 0, v)
	fill(dst, dst[:d.Size()])
}

// fill fills dst with copies of the bytes `element`, which may be the beginning of dst
// itself.
func fill(dst, element []byte) {
	n := copy(dst, element)
	for n < len(dst) {
		n += copy(dst[n:], dst[:n])
	}
}

// expand broadcasts src, which has the shape `from`, to the given shape. It fills dst with
// consecutive elements of the result, beginning with element number `at`. Broadcasting
// repeats src along each axis that `from` lacks and along each axis in which `from` has
// extent 1. Each element is `size` bytes long.
func expand(dst, src []byte, size int, from, shape oplog.Shape, at int) {
	if len(dst) == 0 {
		return
	}
	var stride [oplog.MaxRank]int // elements of src, by axis of shape
	lead := int(shape.Rank - from.Rank)
	for i, step := int(from.Rank)-1, 1; i >= 0; i-- {
		if from.Dim[i] != 1 {
			stride[lead+i] = step
		}
		step *= int(from.Dim[i])
	}
	last := max(0, int(shape.Rank)-1)
	inner := max(1, int(shape.Dim[last]))
	for len(dst) > 0 {
		rest, off := at/inner, 0
		for i := last - 1; i >= 0; i-- {
			dim := int(shape.Dim[i])
			off += rest % dim * stride[i]
			rest /= dim
		}
		n := min(inner-at%inner, len(dst)/size)
		run := dst[:n*size]
		if stride[last] == 0 {
			fill(run, src[off*size:][:size])
		} else {
			copy(run, src[(off+at%inner)*size:])
		}
		dst = dst[n*size:]
		at += n
	}
}
