package exec

import (
	"bytes"
	"testing"

	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
)

// TestEager checks that Eager.Compute returns the expected values for operations with every
// kind of operand, one after another.
func TestEager(t *testing.T) {
	encode := func(v ...float64) []byte { return values(f32, v...) }
	given := func(dims ...int32) oplog.Operand { return tile(1, f32, shape(dims...)) }
	var e Eager
	for _, c := range []struct {
		name string
		op   oplog.Op
		data [][]byte
		want []byte
	}{
		{"full", oplog.Op{Kind: oplog.Full, Shape: shape(3), Fill: 7}, nil, encode(7, 7, 7)},
		{"row plus number", oplog.Op{Kind: oplog.Math, Math: numeric.Add, Shape: shape(2, 2), Args: []oplog.Operand{given(2), num(10)}},
			[][]byte{encode(1, 2), nil}, encode(11, 12, 11, 12)},
		{"tile without axes", oplog.Op{Kind: oplog.Math, Math: numeric.Mul, Shape: shape(2), Args: []oplog.Operand{given(), given(2)}},
			[][]byte{encode(3), encode(1, 2)}, encode(3, 6)},
		{"sum of nothing", oplog.Op{Kind: oplog.Reduce, Math: numeric.Sum, Shape: shape(2), Args: []oplog.Operand{given(0, 2)}},
			[][]byte{{}}, encode(0, 0)},
		{"product with an epilogue", oplog.Op{Kind: oplog.Gemm, Shape: shape(2, 1), Args: []oplog.Operand{given(2, 2), given(2, 1)},
			Epilogue: []oplog.Step{{Math: numeric.Mul, Args: []oplog.Operand{num(2)}}, {Math: numeric.Add, Args: []oplog.Operand{given(2, 1)}}}},
			[][]byte{encode(1, 2, 3, 4), encode(5, 6), nil, encode(100, 200)}, encode(134, 278)},
	} {
		c.op.DType = f32
		got := bytes.Repeat([]byte{0xff}, len(c.want)) // previous contents do not matter
		if e.Compute(&c.op, got, c.data); !bytes.Equal(got, c.want) {
			t.Errorf("%s is %x, want %x", c.name, got, c.want)
		}
	}
}
