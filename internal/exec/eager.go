package exec

import "github.com/kernbench/kernbench/internal/oplog"

// Eager computes operations one at a time, when they are asked for: for machines that
// have values at once and need no log. The bits are those of an Executor. The zero
// Eager is ready for use, by one goroutine.
type Eager struct{ scratch scratch }

// Compute computes the value of an operation of the engines, Full to Gemm and Stream,
// into dst. data is the bytes of its operands, those of the epilogue behind its own,
// and nil for numbers; what is no number has a From, whichever. Shapes and dtypes are
// the caller's to check. A Reshape, whose value is its operand's, leaves dst as it is.
func (e *Eager) Compute(op *oplog.Op, dst []byte, data [][]byte) {
	s := &e.scratch
	s.dst, s.args = dst, s.args[:0]
	for o := range operands(op) {
		s.args = append(s.args, source{o, data[len(s.args)]})
	}
	units, _ := divisible(op)
	s.compute(op, 0, units)
}
