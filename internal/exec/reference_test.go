package exec

import (
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
)

// reference executes a log in the simplest way: one element at a time, one byte of memory
// at a time, and a value when it is needed. Tests compare the executor with it. The two
// share only the arithmetic.
type reference struct {
	log    *oplog.Log
	memory map[oplog.Space]map[int64]byte
	values map[oplog.ID][]byte
	inputs map[*oplog.Operand][]byte
	reads  map[oplog.ID][]byte // what hosts have read
}

// interpret executes the log with a new reference and returns the reference, which then
// holds all values.
func interpret(log *oplog.Log) *reference {
	r := &reference{log, map[oplog.Space]map[int64]byte{}, map[oplog.ID][]byte{}, map[*oplog.Operand][]byte{}, map[oplog.ID][]byte{}}
	for _, e := range log.Effects {
		op := log.Op(e.Op)
		if e.Phase == oplog.Read {
			r.read(op)
		} else {
			r.write(op)
		}
	}
	return r
}

// each calls f for every byte of the accesses in mem, in order. m is the memory that holds
// the byte, and addr is the address of the byte.
func (r *reference) each(mem []oplog.Access, f func(m map[int64]byte, addr int64)) {
	for _, a := range mem {
		if r.memory[a.Space] == nil {
			r.memory[a.Space] = map[int64]byte{}
		}
		for row := range a.Rows {
			for i := range a.RowBytes {
				f(r.memory[a.Space], a.Addr+row*a.Stride+i)
			}
		}
	}
}

func (r *reference) gather(mem []oplog.Access) []byte {
	b := []byte{}
	r.each(mem, func(m map[int64]byte, addr int64) { b = append(b, m[addr]) })
	return b
}

func (r *reference) scatter(mem []oplog.Access, b []byte) {
	r.each(mem, func(m map[int64]byte, addr int64) {
		m[addr] = b[0]
		b = b[1:]
	})
}

func (r *reference) read(op *oplog.Op) {
	switch op.Kind {
	case oplog.HostRead:
		r.reads[op.ID] = r.gather(op.Mem)
	case oplog.Load, oplog.Get:
		memory := r.gather(op.Mem)
		size := op.DType.Size()
		var value []byte
		eachIndex(op.Shape, func(at []int) {
			element := make([]byte, size)
			if inBox(op, at) {
				memory = memory[copy(element, memory):]
			} else {
				numeric.Set(op.DType, element, 0, op.Fill)
			}
			value = append(value, element...)
		})
		r.values[op.ID] = value
	default:
		for o := range operands(op) {
			if len(o.Mem) > 0 {
				r.inputs[o] = r.gather(o.Mem)
			}
		}
	}
}

func (r *reference) write(op *oplog.Op) {
	switch op.Kind {
	case oplog.HostWrite:
		r.scatter(op.Mem, op.Data)
	case oplog.Scratch, oplog.Zero:
		r.each(op.Mem, func(m map[int64]byte, addr int64) { m[addr] = 0 })
	default:
		id := op.ID
		if op.Kind == oplog.Store || op.Kind == oplog.Put {
			id = op.Args[0].From
		}
		value := r.value(id)
		var inside []byte
		eachIndex(op.Shape, func(at []int) {
			if inBox(op, at) {
				inside = append(inside, value[:op.DType.Size()]...)
			}
			value = value[op.DType.Size():]
		})
		r.scatter(op.Mem, inside)
	}
}

// inBox reports whether the element of op's value with index `at` is in the box of op, the
// part that is in memory.
func inBox(op *oplog.Op, at []int) bool {
	for i, x := range at {
		if op.Box.Rank > 0 && x >= int(op.Box.Dim[i]) {
			return false
		}
	}
	return true
}

// eachIndex calls f for every index of a shape, in row-major order.
func eachIndex(s oplog.Shape, f func(at []int)) {
	at := make([]int, s.Rank)
	for n := range s.Elems() {
		for i := int(s.Rank) - 1; i >= 0; i-- {
			at[i] = n % int(s.Dim[i])
			n /= int(s.Dim[i])
		}
		f(at)
	}
}

// operandElement returns the element of operand o that is used for the result element with
// index `at`, converted to dtype d. o is broadcast to the shape of the result.
func (r *reference) operandElement(o *oplog.Operand, d numeric.DType, at []int) []byte {
	result := make([]byte, d.Size())
	if isNumber(o) {
		numeric.Set(d, result, 0, o.Scalar)
		return result
	}
	at = at[len(at)-int(o.Shape.Rank):]
	flat := 0
	for i, dim := range o.Shape.Dim[:o.Shape.Rank] {
		flat = flat*int(dim) + min(at[i], int(dim)-1)
	}
	size := o.DType.Size()
	numeric.Cast(d, result, o.DType, r.operand(o)[flat*size:][:size])
	return result
}

func (r *reference) operand(o *oplog.Operand) []byte {
	if o.From > 0 {
		return r.value(o.From)
	}
	return r.inputs[o]
}

func (r *reference) value(id oplog.ID) []byte {
	if v, ok := r.values[id]; ok {
		return v
	}
	v := r.compute(r.log.Op(id))
	r.values[id] = v
	return v
}

func (r *reference) compute(op *oplog.Op) (value []byte) {
	d := op.DType
	switch op.Kind {
	case oplog.Send, oplog.Recv, oplog.Reshape:
		return r.operand(&op.Args[0])
	case oplog.Cast:
		value = make([]byte, op.Shape.Elems()*d.Size())
		numeric.Cast(d, value, op.Args[0].DType, r.operand(&op.Args[0]))
		return value
	case oplog.Softmax:
		value = make([]byte, op.Shape.Elems()*d.Size())
		n := int(op.Shape.Dim[op.Shape.Rank-1])
		numeric.Softmax(d, value, r.operand(&op.Args[0]), op.Shape.Elems()/max(1, n), n)
		return value
	}
	eachIndex(op.Shape, func(at []int) { value = append(value, r.resultElement(op, at)...) })
	return value
}

// resultElement computes the element with index `at` of the value of op.
func (r *reference) resultElement(op *oplog.Op, at []int) []byte {
	d := op.DType
	result := make([]byte, d.Size())
	switch op.Kind {
	case oplog.Full:
		numeric.Set(d, result, 0, op.Fill)
	case oplog.Arange:
		numeric.Set(d, result, 0, float64(at[0]))
	case oplog.Broadcast:
		return r.operandElement(&op.Args[0], d, at)
	case oplog.Trans:
		from := append([]int{}, at...)
		n := len(at)
		from[n-2], from[n-1] = at[n-1], at[n-2]
		return r.operandElement(&op.Args[0], d, from)
	case oplog.Reduce:
		var column []byte
		n := int(op.Args[0].Shape.Dim[op.Axis])
		for i := range n {
			from := append(append(append([]int{}, at[:op.Axis]...), i), at[op.Axis:]...)
			column = append(column, r.operandElement(&op.Args[0], d, from)...)
		}
		numeric.Reduce(op.Math, d, result, column, 1, n, 1)
	case oplog.Math:
		return r.math(op, mathDType(op), at)
	case oplog.Dot:
		if len(op.Args) == 3 {
			result = r.operandElement(&op.Args[2], d, at)
		}
		return r.dot(op, result, at)
	case oplog.Gemm:
		acc := numeric.DotType(op.Args[0].DType)
		return r.epilogue(op, acc, r.dot(op, make([]byte, acc.Size()), at), at)
	case oplog.Stream:
		acc := mathDType(op)
		return r.epilogue(op, op.Math.Result(acc), r.math(op, acc, at), at)
	case oplog.ReducePeers:
		of := op.Args[0].DType
		acc := r.operandElement(&op.Args[0], of, at)
		for i := range op.Args[1:] {
			next := make([]byte, len(acc))
			numeric.Apply(op.Math, of, next, acc, r.operandElement(&op.Args[i+1], of, at))
			acc = next
		}
		return r.epilogue(op, of, acc, at)
	}
	return result
}

// mathDType returns the dtype of the operands of an elementwise operation. Operands that
// are numbers are converted to this dtype. The condition of a Where does not count as an
// operand here. If all operands are numbers, mathDType returns the dtype of the result.
func mathDType(op *oplog.Op) numeric.DType {
	for i := len(op.Args) - 1; i >= 0; i-- {
		if !isNumber(&op.Args[i]) && (op.Math != numeric.Where || i > 0) {
			return op.Args[i].DType
		}
	}
	return op.DType
}

func (r *reference) math(op *oplog.Op, d numeric.DType, at []int) []byte {
	result := make([]byte, op.Math.Result(d).Size())
	var args [][]byte
	for i := range op.Args {
		of := d
		if op.Math == numeric.Where && i == 0 {
			of = u8
		}
		args = append(args, r.operandElement(&op.Args[i], of, at))
	}
	numeric.Apply(op.Math, d, result, args...)
	return result
}

func (r *reference) dot(op *oplog.Op, acc []byte, at []int) []byte {
	d := op.Args[0].DType
	for k := range int(op.Args[0].Shape.Dim[1]) {
		numeric.Dot(d, acc, r.operandElement(&op.Args[0], d, []int{at[0], k}), r.operandElement(&op.Args[1], d, []int{k, at[1]}), 1, 1, 1)
	}
	return acc
}

func (r *reference) epilogue(op *oplog.Op, d numeric.DType, acc []byte, at []int) []byte {
	for _, step := range op.Epilogue {
		args := [][]byte{acc}
		for i := range step.Args {
			args = append(args, r.operandElement(&step.Args[i], d, at))
		}
		next := make([]byte, len(acc))
		numeric.Apply(step.Math, d, next, args...)
		acc = next
	}
	result := make([]byte, op.DType.Size())
	numeric.Cast(op.DType, result, d, acc)
	return result
}
