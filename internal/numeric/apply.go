package numeric

import "fmt"

// Apply computes op element by element on args, which are of dtype d and of equal
// element counts, into dst. Where takes a condition of U8 first; comparisons write
// U8. dst may be one of args if its elements are of the same size, and must not
// overlap them otherwise. It allocates nothing.
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
	switch d {
	case F16, BF16, F32:
		apply[float32](op, d, dst, args)
	case F64:
		apply[float64](op, d, dst, args)
	case I8:
		apply[int8](op, d, dst, args)
	case I16:
		apply[int16](op, d, dst, args)
	case I32:
		apply[int32](op, d, dst, args)
	case I64:
		apply[int64](op, d, dst, args)
	case U8:
		apply[uint8](op, d, dst, args)
	case U16:
		apply[uint16](op, d, dst, args)
	case U32:
		apply[uint32](op, d, dst, args)
	case U64:
		apply[uint64](op, d, dst, args)
	}
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
		of := d
		if op == Where && i == 0 {
			of = U8
		}
		if len(arg) != n*of.Size() {
			panic(fmt.Sprintf("numeric: Apply of %v on %v: argument %d has %d bytes, the destination's %d elements want %d", op, d, i, len(arg), n, n*of.Size()))
		}
	}
}

// apply computes a block of elements at a time.
func apply[T number](op Op, d DType, dst []byte, args [][]byte) {
	var operands [3][block]T
	size := d.Size()
	n := len(args[0]) / size
	for i := 0; i < n; i += block {
		w := min(block, n-i)
		for j, arg := range args {
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
