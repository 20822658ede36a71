package exec

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
)

var inf = math.Inf(1)

// TestTiles checks that each kind of operation gives the expected tile for known operands.
func TestTiles(t *testing.T) {
	const op = oplog.Math
	tests := []struct {
		name string
		op   func(b *builder) oplog.Op
		want []float64
	}{
		{"full rounds", func(*builder) oplog.Op { return oplog.Op{Kind: oplog.Full, DType: f16, Shape: shape(3), Fill: 0.1} },
			[]float64{0.0999755859375, 0.0999755859375, 0.0999755859375}},
		{"full without axes", func(*builder) oplog.Op { return oplog.Op{Kind: oplog.Full, DType: i32, Fill: -7} }, []float64{-7}},
		{"full of nothing", func(*builder) oplog.Op { return oplog.Op{Kind: oplog.Full, DType: f16, Shape: shape(2, 0)} }, nil},
		{"arange", func(*builder) oplog.Op { return oplog.Op{Kind: oplog.Arange, DType: u8, Shape: shape(5)} }, []float64{0, 1, 2, 3, 4}},
		{"add a row", func(b *builder) oplog.Op {
			return oplog.Op{Kind: op, Math: numeric.Add, DType: f16, Shape: shape(2, 3), Args: []oplog.Operand{
				b.tile(f16, shape(2, 3), 1, 2, 3, 4, 5, 6), b.tile(f16, shape(3), 10, 20, 30)}}
		}, []float64{11, 22, 33, 14, 25, 36}},
		{"outer product", func(b *builder) oplog.Op {
			return oplog.Op{Kind: op, Math: numeric.Mul, DType: f32, Shape: shape(2, 3), Args: []oplog.Operand{
				b.tile(f32, shape(2, 1), 2, 3), b.tile(f32, shape(1, 3), 5, 7, 11)}}
		}, []float64{10, 14, 22, 15, 21, 33}},
		{"repeat in the middle", func(b *builder) oplog.Op {
			return oplog.Op{Kind: op, Math: numeric.Sub, DType: i32, Shape: shape(2, 2, 2), Args: []oplog.Operand{
				b.tile(i32, shape(2, 1, 2), 10, 20, 30, 40), b.tile(i32, shape(2, 1), 1, 2)}}
		}, []float64{9, 19, 8, 18, 29, 39, 28, 38}},
		{"number is rounded", func(b *builder) oplog.Op {
			return oplog.Op{Kind: op, Math: numeric.Mul, DType: f16, Shape: shape(2), Args: []oplog.Operand{b.tile(f16, shape(2), 1, 2), num(0.1)}}
		}, []float64{0.0999755859375, 0.199951171875}},
		{"compare", func(b *builder) oplog.Op {
			return oplog.Op{Kind: op, Math: numeric.Lt, DType: u8, Shape: shape(3), Args: []oplog.Operand{num(2), b.tile(f32, shape(3), 1, 2, 3)}}
		}, []float64{0, 0, 1}},
		{"where", func(b *builder) oplog.Op {
			return oplog.Op{Kind: op, Math: numeric.Where, DType: f16, Shape: shape(2, 2), Args: []oplog.Operand{
				b.tile(u8, shape(2, 1), 0, 2), b.tile(f16, shape(2), 1, 2), num(-inf)}}
		}, []float64{-inf, -inf, 1, 2}},
		{"where with numbers only", func(b *builder) oplog.Op {
			return oplog.Op{Kind: op, Math: numeric.Where, DType: f32, Shape: shape(2), Args: []oplog.Operand{b.tile(u8, shape(2), 0, 1), num(0.5), num(1.5)}}
		}, []float64{1.5, 0.5}},
		{"square", func(b *builder) oplog.Op {
			x := b.tile(f32, shape(2), 3, 4)
			return oplog.Op{Kind: op, Math: numeric.Mul, DType: f32, Shape: shape(2), Args: []oplog.Operand{x, x}}
		}, []float64{9, 16}},
		{"fma", func(b *builder) oplog.Op {
			x := b.tile(f32, shape(2), 3, 4)
			return oplog.Op{Kind: op, Math: numeric.FMA, DType: f32, Shape: shape(2), Args: []oplog.Operand{x, num(2), x}}
		}, []float64{9, 12}},
		{"and", func(b *builder) oplog.Op {
			return oplog.Op{Kind: op, Math: numeric.BitAnd, DType: i32, Shape: shape(2, 2), Args: []oplog.Operand{
				b.tile(i32, shape(2, 2), 12, -1, 7, -8), b.tile(i32, shape(2), 10, 6)}}
		}, []float64{8, 6, 2, 0}},
		{"or of a number", func(b *builder) oplog.Op {
			return oplog.Op{Kind: op, Math: numeric.BitOr, DType: u8, Shape: shape(3), Args: []oplog.Operand{b.tile(u8, shape(3), 0, 5, 240), num(3)}}
		}, []float64{3, 7, 243}},
		{"xor", func(b *builder) oplog.Op {
			x := b.tile(i32, shape(2), 12, -1)
			return oplog.Op{Kind: op, Math: numeric.BitXor, DType: i32, Shape: shape(2), Args: []oplog.Operand{x, num(10)}}
		}, []float64{6, -11}},
		{"sum of rows", func(b *builder) oplog.Op {
			return oplog.Op{Kind: oplog.Reduce, Math: numeric.Sum, Axis: 1, DType: i32, Shape: shape(2), Args: []oplog.Operand{b.tile(i32, shape(2, 3), 1, 2, 3, 4, 5, 6)}}
		}, []float64{6, 15}},
		{"maximum of columns", func(b *builder) oplog.Op {
			return oplog.Op{Kind: oplog.Reduce, Math: numeric.Max, Axis: 0, DType: f32, Shape: shape(3), Args: []oplog.Operand{b.tile(f32, shape(2, 3), 1, 9, 3, 4, 5, 6)}}
		}, []float64{4, 9, 6}},
		{"softmax", func(b *builder) oplog.Op {
			return oplog.Op{Kind: oplog.Softmax, DType: f32, Shape: shape(2, 2), Args: []oplog.Operand{b.tile(f32, shape(2, 2), 5, 5, -inf, 0)}}
		}, []float64{.5, .5, 0, 1}},
		{"dot", func(b *builder) oplog.Op {
			return oplog.Op{Kind: oplog.Dot, DType: f32, Shape: shape(2, 2), Args: []oplog.Operand{
				b.tile(f16, shape(2, 3), 1, 2, 3, 4, 5, 6), b.tile(f16, shape(3, 2), 1, 0, 0, 1, 1, 1)}}
		}, []float64{4, 5, 10, 11}},
		{"dot adds to a sum", func(b *builder) oplog.Op {
			return oplog.Op{Kind: oplog.Dot, DType: i32, Shape: shape(1, 2), Args: []oplog.Operand{
				b.tile(u8, shape(1, 1), 200), b.tile(u8, shape(1, 2), 200, 1), b.tile(i32, shape(1, 2), 1, -1)}}
		}, []float64{40001, 199}},
		{"dot of nothing", func(b *builder) oplog.Op {
			return oplog.Op{Kind: oplog.Dot, DType: f32, Shape: shape(1, 2), Args: []oplog.Operand{b.tile(f32, shape(1, 0)), b.tile(f32, shape(0, 2))}}
		}, []float64{0, 0}},
		{"cast", func(b *builder) oplog.Op {
			return oplog.Op{Kind: oplog.Cast, DType: u8, Shape: shape(3), Args: []oplog.Operand{b.tile(f32, shape(3), -3, 2.9, 300)}}
		}, []float64{0, 2, 255}},
		{"trans", func(b *builder) oplog.Op {
			return oplog.Op{Kind: oplog.Trans, DType: f16, Shape: shape(2, 3, 1), Args: []oplog.Operand{b.tile(f16, shape(2, 1, 3), 1, 2, 3, 4, 5, 6)}}
		}, []float64{1, 2, 3, 4, 5, 6}},
		{"trans a matrix", func(b *builder) oplog.Op {
			return oplog.Op{Kind: oplog.Trans, DType: i32, Shape: shape(3, 2), Args: []oplog.Operand{b.tile(i32, shape(2, 3), 1, 2, 3, 4, 5, 6)}}
		}, []float64{1, 4, 2, 5, 3, 6}},
		{"reshape", func(b *builder) oplog.Op {
			return oplog.Op{Kind: oplog.Reshape, DType: f32, Shape: shape(4), Args: []oplog.Operand{b.tile(f32, shape(2, 2), 1, 2, 3, 4)}}
		}, []float64{1, 2, 3, 4}},
		{"broadcast", func(b *builder) oplog.Op {
			return oplog.Op{Kind: oplog.Broadcast, DType: f16, Shape: shape(2, 2, 2), Args: []oplog.Operand{b.tile(f16, shape(2, 1), 1, 2)}}
		}, []float64{1, 1, 2, 2, 1, 1, 2, 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := &builder{}
			op := tt.op(b)
			id := b.op(op)
			for _, threads := range []int{1, 2, 8} {
				e := New(&b.Log, newMemories(), threads)
				got, err := e.Value(id)
				if err != nil {
					t.Fatal(err)
				}
				if want := values(op.DType, tt.want...); !bytes.Equal(got, want) {
					t.Errorf("with %d threads the value is\n     %v\nwant %v", threads, elements(op.DType, got), tt.want)
				}
			}
		})
	}
}

func elements(d numeric.DType, b []byte) (v []float64) {
	for i := range len(b) / d.Size() {
		v = append(v, numeric.Get(d, b, i))
	}
	return v
}

// TestMemory checks that operations that write memory leave the expected bytes there.
func TestMemory(t *testing.T) {
	// A matrix of 3 by 4 numbers, 0 to 11, at 0; results at 256.
	rows := func(addr, n, bytes int64) []oplog.Access {
		return []oplog.Access{{Space: hbm, Addr: addr, Rows: n, RowBytes: bytes, Stride: 16}}
	}
	matrix := func(s oplog.Shape, mem []oplog.Access) oplog.Operand {
		return oplog.Operand{Mem: mem, Shape: s, DType: f32}
	}
	tests := []struct {
		name string
		log  func(b *builder)
		d    numeric.DType
		want []float64
	}{
		{"load and store a block", func(b *builder) {
			x := b.op(oplog.Op{Kind: oplog.Load, DType: f32, Shape: shape(2, 2), Mem: rows(20, 2, 8)}, oplog.Read)
			b.op(oplog.Op{Kind: oplog.Store, DType: f32, Shape: shape(2, 2), Mem: at(256, 16), Args: []oplog.Operand{tile(x, f32, shape(2, 2))}}, oplog.Write)
		}, f32, []float64{5, 6, 9, 10}},
		{"pieces in any order", func(b *builder) {
			mem := append(at(40, 8), append(rows(0, 3, 4), at(4, 4)...)...)
			x := b.op(oplog.Op{Kind: oplog.Get, Peer: 1, DType: f32, Shape: shape(6), Mem: mem}, oplog.Read)
			b.op(oplog.Op{Kind: oplog.Put, Peer: 1, DType: f32, Shape: shape(6), Mem: append(at(276, 4), at(256, 20)...), Args: []oplog.Operand{tile(x, f32, shape(6))}}, oplog.Write)
		}, f32, []float64{11, 0, 4, 8, 1, 10}},
		{"ragged edge", func(b *builder) {
			x := b.op(oplog.Op{Kind: oplog.Load, DType: f32, Shape: shape(2, 3), Box: shape(1, 2), Fill: -inf, Mem: at(24, 8)}, oplog.Read)
			b.op(oplog.Op{Kind: oplog.Store, DType: f32, Shape: shape(2, 3), Mem: at(256, 24), Args: []oplog.Operand{tile(x, f32, shape(2, 3))}}, oplog.Write)
		}, f32, []float64{6, 7, -inf, -inf, -inf, -inf}},
		{"rows that don't exist", func(b *builder) {
			x := b.op(oplog.Op{Kind: oplog.Load, DType: f32, Shape: shape(3, 1, 2), Box: shape(2, 1, 2), Fill: 0.5, Mem: rows(0, 2, 8)}, oplog.Read)
			b.op(oplog.Op{Kind: oplog.Store, DType: f32, Shape: shape(3, 1, 2), Mem: at(256, 24), Args: []oplog.Operand{tile(x, f32, shape(3, 1, 2))}}, oplog.Write)
		}, f32, []float64{0, 1, 4, 5, .5, .5}},
		{"nothing exists", func(b *builder) {
			x := b.op(oplog.Op{Kind: oplog.Load, DType: i32, Shape: shape(3), Box: shape(0), Fill: -inf}, oplog.Read)
			b.op(oplog.Op{Kind: oplog.Store, DType: i32, Shape: shape(3), Mem: at(256, 12), Args: []oplog.Operand{tile(x, i32, shape(3))}}, oplog.Write)
		}, i32, []float64{math.MinInt32, math.MinInt32, math.MinInt32}},
		{"masked store", func(b *builder) {
			b.host(256, f32, 1, 1, 1, 1)
			x := b.op(oplog.Op{Kind: oplog.Load, DType: f32, Shape: shape(2, 2), Mem: rows(20, 2, 8)}, oplog.Read)
			b.op(oplog.Op{Kind: oplog.Store, DType: f32, Shape: shape(2, 2), Box: shape(2, 1), Mem: at(260, 8), Args: []oplog.Operand{tile(x, f32, shape(2, 2))}}, oplog.Write)
		}, f32, []float64{1, 5, 9, 1}},
		{"gemm with bias and relu", func(b *builder) {
			b.host(512, f32, -100, 0, 1)
			b.op(oplog.Op{
				Kind: oplog.Gemm, DType: f16, Shape: shape(2, 3), Mem: at(256, 12),
				Args: []oplog.Operand{matrix(shape(2, 3), rows(0, 2, 12)), matrix(shape(3, 3), rows(4, 3, 12))},
				Epilogue: []oplog.Step{
					{Math: numeric.Add, Args: []oplog.Operand{matrix(shape(3), at(512, 12))}},
					{Math: numeric.Maximum, Args: []oplog.Operand{num(0)}},
					{Math: numeric.Mul, Args: []oplog.Operand{b.tile(f16, shape(2, 1), 1, -1)}},
				},
			}, oplog.Read, oplog.Write)
		}, f16, []float64{0, 26, 30, 0, -98, -114}},
		{"gemm of tiles, without a read", func(b *builder) {
			x := b.tile(numeric.I8, shape(1, 2), -3, 4)
			y := b.tile(numeric.I8, shape(2, 1), 100, 100)
			b.op(oplog.Op{Kind: oplog.Gemm, DType: i32, Shape: shape(1, 1), Mem: at(256, 4), Args: []oplog.Operand{x, y}}, oplog.Write)
		}, i32, []float64{100}},
		{"stream", func(b *builder) {
			b.op(oplog.Op{
				Kind: oplog.Stream, Math: numeric.Add, DType: i32, Shape: shape(2, 2), Mem: at(256, 16),
				Args:     []oplog.Operand{matrix(shape(2, 2), rows(0, 2, 8)), b.tile(f32, shape(1, 2), 10.5, 20.25)},
				Epilogue: []oplog.Step{{Math: numeric.Neg}, {Math: numeric.Mul, Args: []oplog.Operand{num(2)}}},
			}, oplog.Read, oplog.Write)
		}, i32, []float64{-21, -42, -29, -50}},
		{"stream of bits", func(b *builder) {
			b.op(oplog.Op{
				Kind: oplog.Stream, Math: numeric.BitXor, DType: i32, Shape: shape(3), Mem: at(256, 12),
				Args:     []oplog.Operand{b.tile(i32, shape(3), 12, -1, 7), num(10)},
				Epilogue: []oplog.Step{{Math: numeric.BitAnd, Args: []oplog.Operand{num(0xff)}}, {Math: numeric.BitOr, Args: []oplog.Operand{num(1)}}},
			}, oplog.Write)
		}, i32, []float64{7, 245, 13}},
		{"stream of comparisons", func(b *builder) {
			b.op(oplog.Op{Kind: oplog.Stream, Math: numeric.Ge, DType: u8, Shape: shape(4), Mem: at(256, 4), Args: []oplog.Operand{matrix(shape(4), at(0, 16)), num(2)}},
				oplog.Read, oplog.Write)
		}, u8, []float64{0, 0, 1, 1}},
		{"reduce over peers", func(b *builder) { // row 0, row 2, row 1, in f32, to i32
			b.op(oplog.Op{
				Kind: oplog.ReducePeers, Math: numeric.Add, DType: i32, Shape: shape(3), Mem: at(256, 12),
				Args:     []oplog.Operand{matrix(shape(3), at(4, 12)), matrix(shape(3), at(36, 12)), matrix(shape(3), at(20, 12))},
				Epilogue: []oplog.Step{{Math: numeric.Mul, Args: []oplog.Operand{num(.5)}}},
			}, oplog.Read, oplog.Write)
		}, i32, []float64{7, 9, 10}},
		{"reduce over one peer", func(b *builder) {
			b.op(oplog.Op{Kind: oplog.ReducePeers, Math: numeric.Add, DType: f32, Shape: shape(2), Mem: at(256, 8), Args: []oplog.Operand{matrix(shape(2), at(12, 8))}},
				oplog.Read, oplog.Write)
		}, f32, []float64{3, 4}},
		{"reduce over peers in order", func(b *builder) { // f16 rounds 2048 + 1 to even
			b.host(512, f16, 2048, 1, 1)
			one := func(i int64) oplog.Operand {
				return oplog.Operand{Mem: at(512+2*i, 2), Shape: shape(1), DType: f16}
			}
			for i, order := range [][]int64{{0, 1, 2}, {1, 2, 0}} {
				b.op(oplog.Op{Kind: oplog.ReducePeers, Math: numeric.Add, DType: f16, Shape: shape(1), Mem: at(256+2*int64(i), 2),
					Args: []oplog.Operand{one(order[0]), one(order[1]), one(order[2])}}, oplog.Read, oplog.Write)
			}
		}, f16, []float64{2048, 2050}},
		{"reduce nothing over peers", func(b *builder) {
			b.host(256, f32, 5)
			b.op(oplog.Op{Kind: oplog.ReducePeers, Math: numeric.Maximum, DType: f32, Shape: shape(0), Args: []oplog.Operand{matrix(shape(0), nil), matrix(shape(0), nil)}},
				oplog.Read, oplog.Write)
		}, f32, []float64{5}},
		{"send a tile", func(b *builder) {
			send := b.op(oplog.Op{Kind: oplog.Send, Args: []oplog.Operand{b.tile(f32, shape(2), 3, 4)}})
			recv := b.op(oplog.Op{Kind: oplog.Recv, PE: 1, DType: f32, Shape: shape(1, 2), Args: []oplog.Operand{{From: send}}})
			b.op(oplog.Op{Kind: oplog.Store, PE: 1, DType: f32, Shape: shape(1, 2), Mem: at(256, 8), Args: []oplog.Operand{tile(recv, f32, shape(1, 2))}}, oplog.Write)
		}, f32, []float64{3, 4}},
		{"a send carries what its source held at the read", func(b *builder) {
			recv := b.op(oplog.Op{Kind: oplog.Recv, PE: 1, DType: f32, Shape: shape(2), Mem: at(256, 8), Args: make([]oplog.Operand, 1)})
			b.Op(recv).Args[0].From = b.op(oplog.Op{Kind: oplog.Send, Args: []oplog.Operand{matrix(shape(2), at(4, 8))}}, oplog.Read)
			b.host(4, f32, 77, 78)
			b.Effect(recv, oplog.Write)
		}, f32, []float64{1, 2}},
		{"a tile that depends on what was issued later", func(b *builder) {
			recv := b.op(oplog.Op{Kind: oplog.Recv, PE: 1, DType: f32, Shape: shape(2), Args: make([]oplog.Operand, 1)})
			store := b.op(oplog.Op{Kind: oplog.Store, PE: 1, DType: f32, Shape: shape(2), Mem: at(256, 8), Args: []oplog.Operand{tile(recv, f32, shape(2))}})
			full := b.op(oplog.Op{Kind: oplog.Full, DType: f32, Shape: shape(2), Fill: 7})
			b.Op(recv).Args[0].From = b.op(oplog.Op{Kind: oplog.Send, Args: []oplog.Operand{tile(full, f32, shape(2))}})
			b.Effect(store, oplog.Write)
		}, f32, []float64{7, 7}},
		{"scratch", func(b *builder) {
			b.host(256, f32, 1, 2, 3, 4)
			b.op(oplog.Op{Kind: oplog.Scratch, Mem: at(260, 8)}, oplog.Write)
		}, f32, []float64{1, 0, 0, 4}},
		{"tasks", func(b *builder) {
			b.op(oplog.Op{Kind: oplog.TaskBegin})
			full := b.op(oplog.Op{Kind: oplog.Full, DType: f32, Shape: shape(2), Fill: 7})
			b.op(oplog.Op{Kind: oplog.Store, DType: f32, Shape: shape(2), Mem: at(256, 8), Args: []oplog.Operand{tile(full, f32, shape(2))}}, oplog.Write)
			end := b.op(oplog.Op{Kind: oplog.TaskEnd})
			b.op(oplog.Op{Kind: oplog.TaskBegin, PE: 1, Args: []oplog.Operand{{From: end}}, Cause: end})
		}, f32, []float64{7, 7}},
		{"zero", func(b *builder) {
			b.host(256, f32, 1, 2)
			b.op(oplog.Op{Kind: oplog.Zero, PE: -1, Mem: []oplog.Access{{Space: hbm, Addr: 0, Rows: 1 << 40, RowBytes: 1, Stride: 1}}}, oplog.Write)
		}, f32, []float64{0, 0}},
		{"a read returns the last write before it", func(b *builder) {
			b.host(256, f32, 1, 2)
			x := b.op(oplog.Op{Kind: oplog.Load, DType: f32, Shape: shape(1), Mem: at(256, 4)}) // will read 9
			s := b.op(oplog.Op{Kind: oplog.Store, DType: f32, Shape: shape(1), Mem: at(260, 4), Args: []oplog.Operand{tile(x, f32, shape(1))}})
			b.host(256, f32, 9)
			b.Effect(x, oplog.Read)
			b.host(256, f32, 5, 6)
			b.Effect(s, oplog.Write)
		}, f32, []float64{5, 9}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := &builder{}
			b.host(0, f32, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
			tt.log(b)
			id := b.read(256, int64(len(tt.want)*tt.d.Size()))
			for _, threads := range []int{1, 2, 8} {
				e := New(&b.Log, newMemories(), threads)
				if err := e.Flush(); err != nil {
					t.Fatal(err)
				}
				if got := elements(tt.d, result(e, id)); !slices.Equal(got, tt.want) {
					t.Errorf("with %d threads memory is\n     %v\nwant %v", threads, got, tt.want)
				}
			}
			r, err := Replay(t.Context(), &b.Log, 2)
			if err != nil || r.Reads != 1 || r.Unknown != 0 || r.Mismatched != nil {
				t.Errorf("Replay = %+v, %v, want one read as recorded", r, err)
			}
		})
	}
}
