package exec

import (
	"fmt"

	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
)

// checkShapes returns an error if the number, shapes or dtypes of op's operands do not fit
// its result.
func checkShapes(op *oplog.Op) error {
	if len(op.Epilogue) > 0 && !op.Kind.IsComposite() {
		return fmt.Errorf("a %v has no epilogue", op.Kind)
	}
	want, check := 1, checkOne
	switch op.Kind {
	case oplog.Load, oplog.Get, oplog.Full, oplog.Arange:
		want, check = 0, func(*oplog.Op) error { return nil }
	case oplog.Gemm:
		want, check = 2, checkProduct
	case oplog.Dot:
		want, check = max(2, min(3, len(op.Args))), checkProduct
	case oplog.Math, oplog.Stream:
		if !op.Math.IsElementwise() {
			return fmt.Errorf("%v is no elementwise operation", op.Math)
		}
		want, check = op.Math.Arity(), checkElementwise
	case oplog.ReducePeers:
		want, check = max(1, len(op.Args)), checkPeers
	}
	if len(op.Args) != want {
		return fmt.Errorf("it has %d operands, wants %d", len(op.Args), want)
	}
	if err := check(op); err != nil {
		return err
	}
	return checkEpilogue(op)
}

// checkOne checks that the operand of an operation with one operand fits the result. The
// operand must not be a number, except for a Recv whose send is not known.
func checkOne(op *oplog.Op) error {
	arg := &op.Args[0]
	if isNumber(arg) && op.Kind != oplog.Recv {
		return fmt.Errorf("its operand is a number, wants a tile")
	}
	ok := false
	switch op.Kind {
	case oplog.Send, oplog.Recv:
		return nil
	case oplog.Store, oplog.Put, oplog.Reshape:
		ok = arg.DType == op.DType && arg.Shape.Elems() == op.Shape.Elems()
	case oplog.Cast:
		ok = arg.Shape.Elems() == op.Shape.Elems()
	case oplog.Softmax:
		ok = arg.DType == op.DType && arg.Shape == op.Shape && numeric.Supports(numeric.SoftmaxOp, op.DType)
	case oplog.Broadcast:
		ok = arg.DType == op.DType && broadcasts(arg.Shape, op.Shape)
	case oplog.Reduce:
		if !op.Math.IsReduction() || op.Axis < 0 || op.Axis >= arg.Shape.Rank {
			return fmt.Errorf("%v over axis %d of %v is no reduction", op.Math, op.Axis, arg.Shape)
		}
		outer, _, inner := splitAtAxis(arg.Shape, int(op.Axis))
		ok = arg.DType == op.DType && op.Shape.Elems() == outer*inner
	case oplog.Trans:
		s := arg.Shape
		if s.Rank >= 2 {
			s.Dim[s.Rank-2], s.Dim[s.Rank-1] = s.Dim[s.Rank-1], s.Dim[s.Rank-2]
		}
		ok = arg.DType == op.DType && s == op.Shape && s.Rank >= 2
	}
	if !ok {
		return fmt.Errorf("%v %v cannot become %v %v", arg.Shape, arg.DType, op.Shape, op.DType)
	}
	return nil
}

// checkProduct checks the operands of a matrix product. The result may have any dtype if op
// is a composite.
func checkProduct(op *oplog.Op) error {
	a, b := &op.Args[0], &op.Args[1]
	if isNumber(a) || isNumber(b) || a.DType != b.DType ||
		a.Shape.Rank != 2 || b.Shape.Rank != 2 || op.Shape.Rank != 2 ||
		a.Shape.Dim[1] != b.Shape.Dim[0] || a.Shape.Dim[0] != op.Shape.Dim[0] || b.Shape.Dim[1] != op.Shape.Dim[1] ||
		op.Kind == oplog.Dot && op.DType != numeric.DotType(a.DType) {
		return fmt.Errorf("%v %v times %v %v is not %v %v", a.Shape, a.DType, b.Shape, b.DType, op.Shape, op.DType)
	}
	if len(op.Args) == 3 && (isNumber(&op.Args[2]) || op.Args[2].Shape != op.Shape || op.Args[2].DType != op.DType) {
		return fmt.Errorf("it adds %v %v to a product of %v %v", op.Args[2].Shape, op.Args[2].DType, op.Shape, op.DType)
	}
	return nil
}

// checkElementwise checks the operands of an elementwise operation. The result may have any
// dtype if op is a composite.
func checkElementwise(op *oplog.Op) error {
	d := mathType(op)
	if !numeric.Supports(op.Math, d) || op.Kind == oplog.Math && op.DType != op.Math.Result(d) {
		return fmt.Errorf("%v of %v does not give %v", op.Math, d, op.DType)
	}
	for i := range op.Args {
		arg, want := &op.Args[i], op.Math.Operand(i, d)
		if !isNumber(arg) && (arg.DType != want || !broadcasts(arg.Shape, op.Shape)) {
			return fmt.Errorf("operand %d is %v %v, wants what broadcasts to %v %v", i, arg.Shape, arg.DType, op.Shape, want)
		}
	}
	return nil
}

// checkPeers checks that op.Math can reduce over peers, and that the operands all have the
// same dtype and the shape of the result.
func checkPeers(op *oplog.Op) error {
	d := op.Args[0].DType
	if !op.Math.IsElementwise() || op.Math.IsComparison() || op.Math.Arity() != 2 || !numeric.Supports(op.Math, d) {
		return fmt.Errorf("%v of %v is no reduction over peers", op.Math, d)
	}
	for i := range op.Args {
		if arg := &op.Args[i]; isNumber(arg) || arg.DType != d || arg.Shape != op.Shape {
			return fmt.Errorf("operand %d is %v %v, wants %v %v", i, arg.Shape, arg.DType, op.Shape, d)
		}
	}
	return nil
}

// checkEpilogue checks the operations of the epilogue of a composite and their operands.
// The operands of the composite itself must have been checked before.
func checkEpilogue(op *oplog.Op) error {
	for i := range op.Epilogue {
		step, d := &op.Epilogue[i], accType(op)
		if !step.Math.IsElementwise() || step.Math.IsComparison() || step.Math == numeric.Where || !numeric.Supports(step.Math, d) {
			return fmt.Errorf("step %d of its epilogue is %v, which it cannot do on %v", i, step.Math, d)
		}
		if len(step.Args)+1 != step.Math.Arity() {
			return fmt.Errorf("step %d of its epilogue is %v with %d operands in addition to the result, wants %d", i, step.Math, len(step.Args), step.Math.Arity()-1)
		}
		for j := range step.Args {
			if arg := &step.Args[j]; !isNumber(arg) && !broadcasts(arg.Shape, op.Shape) {
				return fmt.Errorf("step %d of its epilogue has an operand of %v for a result of %v", i, arg.Shape, op.Shape)
			}
		}
	}
	return nil
}

// broadcasts reports whether a tensor of shape s can be broadcast to the shape `to`.
func broadcasts(s, to oplog.Shape) bool {
	if s.Rank > to.Rank {
		return false
	}
	lead := to.Rank - s.Rank
	for i, d := range s.Dim[:s.Rank] {
		if d != 1 && d != to.Dim[int(lead)+i] {
			return false
		}
	}
	return true
}
