package numeric

import "fmt"

// Apply computes op element by element and writes the results to dst. All args have dtype d
// and the same number of elements, except that the first argument of Where is a condition
// of dtype U8. Comparisons write U8. dst may be one of args if their elements have the same
// size; otherwise it must not overlap them. Apply allocates nothing.
func Apply(op Op, d DType, dst []byte, args ...[]byte) {
	checkApply(op, d, dst, args)
	switch {
	case op == Where:
		applyWhere(d.Size(), dst, args[0], args[1], args[2])
		return
	case op.isBitwise():
		applyBits(op, dst, args[0], args[1])
		return
	case op.Arity() == 2 && combineVector(op, d, dst, nil, args[0], args[1], false):
		return
	}
	var operands [3][]byte
	copy(operands[:], args)
	kernels[d].apply(op, d, dst, operands)
}

func checkApply(op Op, d DType, dst []byte, args [][]byte) {
	switch {
	case !Supports(op, d) || !op.IsElementwise():
		panic(fmt.Sprintf("numeric: Apply does not do %v on %v: ask Supports, and Reduce and Softmax for what goes over an axis", op, d))
	case len(args) != op.Arity():
		panic(fmt.Sprintf("numeric: Apply of %v got %d arguments, wants %d", op, len(args), op.Arity()))
	}
	n := len(dst) / op.Result(d).Size()
	if len(dst) != n*op.Result(d).Size() {
		panic(fmt.Sprintf("numeric: Apply of %v: %d bytes are no whole number of %v", op, len(dst), op.Result(d)))
	}
	for i, arg := range args {
		if want := n * op.Operand(i, d).Size(); len(arg) != want {
			panic(fmt.Sprintf("numeric: Apply of %v on %v: argument %d has %d bytes, the destination's %d elements want %d", op, d, i, len(arg), n, want))
		}
	}
}

// kernel holds the loops over elements of one Go type.
type kernel struct {
	apply  func(op Op, d DType, dst []byte, args [3][]byte)
	reduce func(op Op, d DType, dst, src []byte, outer, n, inner int)
}

func kernelOf[T number]() kernel { return kernel{apply[T], reduce[T]} }

// kernels holds, for each dtype, the loops over the Go type in which its elements are
// computed.
var kernels = [...]kernel{
	F16: kernelOf[float32](), BF16: kernelOf[float32](), F32: kernelOf[float32](), F64: kernelOf[float64](),
	I8: kernelOf[int8](), I16: kernelOf[int16](), I32: kernelOf[int32](), I64: kernelOf[int64](),
	U8: kernelOf[uint8](), U16: kernelOf[uint16](), U32: kernelOf[uint32](), U64: kernelOf[uint64](),
}

// apply computes op as Apply does, one block of elements at a time.
func apply[T number](op Op, d DType, dst []byte, args [3][]byte) {
	var operands [3][block]T
	size, arity := d.Size(), op.Arity()
	n := len(args[0]) / size
	for i := 0; i < n; i += block {
		w := min(block, n-i)
		for j, arg := range args[:arity] {
			load(d, operands[j][:w], arg[i*size:])
		}
		x, y, z := operands[0][:w], operands[1][:w], operands[2][:w]
		switch {
		case op.IsComparison():
			compare(op, dst[i:i+w], x, y)
			continue
		case op.Arity() == 1:
			unary(op, d, x)
		case op == FMA:
			multiplyAdd(d, x, y, z)
		case op == Clamp:
			combine(Maximum, d, x, y)
			combine(Minimum, d, x, z)
		default:
			combine(op, d, x, y)
		}
		store(d, dst[i*size:], x)
	}
}
