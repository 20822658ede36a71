package cpu

import (
	"testing"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/tl"
)

// shape returns a shape with the given axes.
func shape(dims ...int32) oplog.Shape {
	s := oplog.Shape{Rank: int8(len(dims))}
	copy(s.Dim[:], dims)
	return s
}

// TestRowsOfABlock checks the stride between the rows of a block, and into how many runs of
// equally spaced rows the block divides. The strides are those of the tensor that the
// block's pointer points into. A block whose rows have no common stride is an error.
func TestRowsOfABlock(t *testing.T) {
	for _, c := range []struct {
		name   string
		block  tl.Block
		rows   int // calls of Find, one for each run of equally spaced rows
		stride memory.Bytes
		ok     bool
	}{
		{"a matrix", tl.Block{Shape: shape(4, 8), Ptr: tl.Ptr{Rank: 2, Stride: [oplog.MaxRank]int64{100, 1}}}, 1, 200, true},
		{"a vector", tl.Block{Shape: shape(8), Ptr: tl.Ptr{Rank: 1, Stride: [oplog.MaxRank]int64{1}}}, 1, 0, true},
		{"without axes of the pointer", tl.Block{Shape: shape(4, 8)}, 1, 16, true},
		{"matrices one behind the other", tl.Block{Shape: shape(3, 4, 8), Ptr: tl.Ptr{Rank: 3, Stride: [oplog.MaxRank]int64{400, 100, 1}}}, 3, 200, true},
		{"matrices further apart", tl.Block{Shape: shape(3, 4, 8), Ptr: tl.Ptr{Rank: 3, Stride: [oplog.MaxRank]int64{500, 100, 1}}}, 3, 0, false},
		{"one row of each matrix", tl.Block{Shape: shape(3, 1, 8), Ptr: tl.Ptr{Rank: 3, Stride: [oplog.MaxRank]int64{500, 100, 1}}}, 3, 1000, true},
		{"a column", tl.Block{Shape: shape(4, 2), Ptr: tl.Ptr{Rank: 2, Stride: [oplog.MaxRank]int64{1, 100}}}, 4, 2, true},
	} {
		c.block.Valid, c.block.DType = c.block.Shape, tl.F16
		x := newBox(&c.block)
		stride, err := x.rowStride()
		if (err == nil) != c.ok || c.ok && stride != c.stride {
			t.Errorf("%s: rows %v apart, %v, want %v", c.name, stride, err, c.stride)
		}
		calls, elems := 0, memory.Bytes(0)
		m := &System{Find: func(to []pe.Access, _ memory.VA, rows int64, rowBytes, _ memory.Bytes) ([]pe.Access, error) {
			calls++
			elems += memory.Bytes(rows) * rowBytes / 2
			return to, nil
		}}
		if _, err := m.find(nil, &x); err != nil || calls != c.rows || int(elems) != c.block.Shape.Elems() {
			t.Errorf("%s: %d elements in %d runs of rows, %v, want %d in %d", c.name, elems, calls, err, c.block.Shape.Elems(), c.rows)
		}
	}
}
