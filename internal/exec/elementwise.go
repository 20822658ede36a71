package exec

import (
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
)

// block is how many elements of an operand that has to be repeated or converted
// exist at a time: it stays in the processor's cache.
const block = 2048

// mathType is the dtype that Math and Stream compute in: that of the operands that
// have a shape, of Where not the condition's, or else the result's.
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

// elementwise computes the elements from to to of an operation whose operands are
// repeated to a shape, and converted to dtype d where they have another. A source
// without an operand is dst itself.
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

// take makes in[i] the n elements of an operand from at on.
func (s *scratch) take(i int, arg *source, d numeric.DType, shape oplog.Shape, elems, at, n int) {
	size := d.Size()
	own := arg.Operand.DType
	switch have := arg.Shape.Elems(); {
	case arg.data == nil || have == 1 && elems > 1:
		if !s.filled[i] { // by the first block, the longest
			s.constant(i, arg, d, n)
		}
		s.in[i] = s.cast[i][:n*size]
		return
	case have == elems:
		s.in[i] = arg.data[at*own.Size():][:n*own.Size()]
	default:
		s.wide[i] = grown(s.wide[i], n*own.Size())
		expand(s.wide[i], arg.data, own.Size(), arg.Shape, shape, at)
		s.in[i] = s.wide[i]
	}
	if own != d {
		s.cast[i] = grown(s.cast[i], n*size)
		numeric.Cast(d, s.cast[i], own, s.in[i])
		s.in[i] = s.cast[i]
	}
}

// constant makes cast[i] one element n times.
func (s *scratch) constant(i int, arg *source, d numeric.DType, n int) {
	s.filled[i] = true
	s.cast[i] = grown(s.cast[i], n*d.Size())
	one := s.cast[i][:d.Size()]
	if arg.data == nil {
		numeric.Set(d, one, 0, arg.Scalar)
	} else {
		numeric.Cast(d, one, arg.Operand.DType, arg.data)
	}
	fill(s.cast[i], one)
}

// fillWith makes all elements of dst, of which there is at least one, v.
func fillWith(dst []byte, d numeric.DType, v float64) {
	numeric.Set(d, dst, 0, v)
	fill(dst, dst[:d.Size()])
}

// fill repeats an element, which may be the first of dst.
func fill(dst, element []byte) {
	n := copy(dst, element)
	for n < len(dst) {
		n += copy(dst[n:], dst[:n])
	}
}

// expand copies to dst the elements from at on of src, of shape from, repeated
// along the axes in which from has extent 1 or which it does not have.
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
