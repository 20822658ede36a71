package tl_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/tl"
)

// recoverError runs kernel code and returns the error that stopped it.
func recoverError(t *testing.T, do func()) (err *tl.Error) {
	t.Helper()
	defer func() {
		var ok bool
		if err, ok = recover().(*tl.Error); !ok {
			t.Fatalf("stopped with no *tl.Error, want one")
		}
	}()
	do()
	return nil
}

const upwards = "give a pointer to the lowest element and a positive stride, or load the parts one by one"

// TestMisuse checks the error for each way to misuse an operation.
func TestMisuse(t *testing.T) {
	const at = "kernel matmul on sip1.cube5.pe3: "
	foreign := tl.NewPE(&recorder{}, "other").Zeros(tl.Shape{64}, tl.F16)
	var zero tl.Tile
	scratch := tl.Ptr{Addr: 1, DType: tl.F16, Rank: 1, Stride: [4]int64{1}}
	tests := []struct {
		do   func(t *tl.PE, o operands)
		want string // AT stands for the line of the kernel
	}{
		// Zero tiles, tiles of another PE, and refs.
		{func(t *tl.PE, o operands) { zero.Add(1) },
			"Add(zero Tile, 1) AT: a zero Tile holds nothing: tiles come from Load, Full, Recv and operations on them"},
		{func(t *tl.PE, o operands) { o.v.Add(zero) },
			at + "Add([64] f16, zero Tile) AT: a zero Tile holds nothing: tiles come from Load, Full, Recv and operations on them"},
		{func(t *tl.PE, o operands) { zero.Dot(o.k) },
			"Dot(zero Tile, [64 16] f16) AT: a zero Tile holds nothing: tiles come from Load, Full, Recv and operations on them"},
		{func(t *tl.PE, o operands) { zero.Item() },
			"Item(zero Tile) AT: a zero Tile holds nothing: tiles come from Load, Full, Recv and operations on them"},
		{func(t *tl.PE, o operands) { t.Store(vector, zero) },
			at + "Store(zero Tile) AT: a zero Tile holds nothing: tiles come from Load, Full, Recv and operations on them"},
		{func(t *tl.PE, o operands) { t.Send(tl.East, zero) },
			at + "Send(east, zero Tile) AT: a zero Tile holds nothing: tiles come from Load, Full, Recv and operations on them"},
		{func(t *tl.PE, o operands) { tl.Receive{}.Wait() },
			"Wait AT: a zero Receive waits for nothing: they come from RecvAsync"},
		{func(t *tl.PE, o operands) { o.v.Mul(foreign) },
			at + "Mul([64] f16, [64] f16) AT: the tile was made by another PE or another launch: pass data through queues, windows or memory"},
		{func(t *tl.PE, o operands) { t.Put(0, vector, foreign) },
			at + "Put(rank 0, [64] f16) AT: the tile was made by another PE or another launch: pass data through queues, windows or memory"},
		{func(t *tl.PE, o operands) { t.Ref(vector, tl.Shape{64}, tl.F16).Exp() },
			at + "Exp(ref [64] f16) AT: a Ref is memory, not data in TCM: Load it first"},
		{func(t *tl.PE, o operands) { t.Store(vector, t.Ref(vector, tl.Shape{64}, tl.F16)) },
			at + "Store(ref [64] f16) AT: a Ref is memory, not data in TCM: Load it first"},
		{func(t *tl.PE, o operands) { t.Put(0, vector, t.Ref(vector, tl.Shape{64}, tl.F16)) },
			at + "Put(rank 0, ref [64] f16) AT: a Ref is memory, not data in TCM: Load it first"},
		{func(t *tl.PE, o operands) { t.Ref(vector, tl.Shape{64}, tl.F16).Pin() },
			at + "Pin(ref [64] f16) AT: a Ref is memory, not data in TCM: Load it first"},

		// Shapes and dtypes.
		{func(t *tl.PE, o operands) { t.Load(vector, tl.Shape{1, 2, 3, 4, 5}, tl.F16) },
			at + "Load([1 2 3 4 5] f16) AT: 5 axes are too many: a tile has at most 4"},
		{func(t *tl.PE, o operands) { t.Zeros(tl.Shape{4, -1}, tl.F16) },
			at + "Full([4 -1] f16) AT: extent -1 of axis 1 is negative: an empty tile has extent 0"},
		{func(t *tl.PE, o operands) { t.Arange(-1, tl.F16) },
			at + "Arange([-1] f16) AT: extent -1 of axis 0 is negative: an empty tile has extent 0"},
		{func(t *tl.PE, o operands) { t.Ref(vector, tl.Shape{1 << 31}, tl.F16) },
			at + "Ref([2147483648] f16) AT: [2147483648] is too large: a tile has at most 2^31-1 elements along an axis and 2^48 in all"},
		{func(t *tl.PE, o operands) { t.Recv(tl.East, tl.Shape{1 << 30, 1 << 30}, tl.F16) },
			at + "Recv([1073741824 1073741824] f16) AT: [1073741824 1073741824] is too large: a tile has at most 2^31-1 elements along an axis and 2^48 in all"},
		{func(t *tl.PE, o operands) { t.Zeros(tl.Shape{4}, 0) },
			at + "Full([4] DType(0)) AT: no such dtype: use tl.F16 to tl.U64"},
		{func(t *tl.PE, o operands) { o.v.To(99) },
			at + "To([64] f16) AT: no such dtype: use tl.F16 to tl.U64"},
		{func(t *tl.PE, o operands) { t.Full(tl.Shape{4}, tl.U8, 256) },
			at + "Full([4] u8) AT: 256 is not a value of u8"},
		{func(t *tl.PE, o operands) { o.m.Add(o.k) },
			at + "Add([32 64] f16, [64 16] f16) AT: shapes [32 64] and [64 16] do not broadcast: seen from the last axis, extents must be equal or 1"},
		{func(t *tl.PE, o operands) { t.Where(o.cond, o.k, 0) },
			at + "Where([64] u8, [64 16] f16, 0) AT: shapes [64] and [64 16] do not broadcast: seen from the last axis, extents must be equal or 1"},
		{func(t *tl.PE, o operands) { o.v.Maximum(o.in) },
			at + "Maximum([64] f16, [64] i32) AT: dtypes f16 and i32 differ: convert one with To"},
		{func(t *tl.PE, o operands) { o.v.FMA(1, o.in) },
			at + "FMA([64] f16, 1, [64] i32) AT: dtypes f16 and i32 differ: convert one with To"},
		{func(t *tl.PE, o operands) { t.Where(o.v, o.v, 0) },
			at + "Where([64] f16, [64] f16, 0) AT: the condition is no u8 tile: make one with Lt, Eq or their like"},
		{func(t *tl.PE, o operands) { t.Where(o.cond, 1, 0) },
			at + "Where([64] u8, 1, 0) AT: the operands are numbers only: make one a tile with Full, which says of what dtype"},
		{func(t *tl.PE, o operands) { t.Sub(1, 2.5) },
			at + "Sub(1, 2.5) AT: the operands are numbers only: make one a tile with Full, which says of what dtype"},
		{func(t *tl.PE, o operands) { o.v.Add("1") },
			at + "Add([64] f16, string) AT: operand of type string: give a Tile or a Go number, integers below 2^53"},
		{func(t *tl.PE, o operands) { o.v.Add(tl.F16) },
			at + "Add([64] f16, numeric.DType) AT: operand of type numeric.DType: give a Tile or a Go number, integers below 2^53"},
		{func(t *tl.PE, o operands) { o.v.Add(nil) },
			at + "Add([64] f16, nil) AT: operand of type nil: give a Tile or a Go number, integers below 2^53"},
		{func(t *tl.PE, o operands) { o.v.Add(1 << 53) },
			at + "Add([64] f16, int) AT: operand of type int: give a Tile or a Go number, integers below 2^53"},
		{func(t *tl.PE, o operands) { o.in.Add(1.5) },
			at + "Add([64] i32, 1.5) AT: 1.5 is not a value of i32: convert the tile with To"},
		{func(t *tl.PE, o operands) { o.cond.Sub(-1) },
			at + "Sub([64] u8, -1) AT: -1 is not a value of u8: convert the tile with To"},
		{func(t *tl.PE, o operands) { o.in.Exp() },
			at + "Exp([64] i32) AT: there is no exp of i32: convert with To"},
		{func(t *tl.PE, o operands) { o.v.And(o.v) },
			at + "And([64] f16, [64] f16) AT: there is no bit_and of f16: convert with To"},
		{func(t *tl.PE, o operands) { o.acc.Xor(1) },
			at + "Xor([32 16] f32, 1) AT: there is no bit_xor of f32: convert with To"},
		{func(t *tl.PE, o operands) { o.cond.Or(-1) },
			at + "Or([64] u8, -1) AT: -1 is not a value of u8: convert the tile with To"},
		{func(t *tl.PE, o operands) { zero.Or(1) },
			"Or(zero Tile, 1) AT: a zero Tile holds nothing: tiles come from Load, Full, Recv and operations on them"},
		{func(t *tl.PE, o operands) { o.in.Softmax() },
			at + "Softmax([64] i32) AT: there is no softmax of i32: convert with To"},
		{func(t *tl.PE, o operands) { o.v.Sum(0).Softmax() },
			at + "Softmax([] f16) AT: there is no axis to sum over"},
		{func(t *tl.PE, o operands) { o.m.Sum(2) },
			at + "Sum([32 64] f16) AT: axis 2 of 2: axes count from 0, or from -1 backwards"},
		{func(t *tl.PE, o operands) { o.m.Dim(-3) },
			at + "Dim([32 64] f16) AT: axis -3 of 2: axes count from 0, or from -1 backwards"},
		{func(t *tl.PE, o operands) { t.Zeros(tl.Shape{4, 0}, tl.F16).Max(1) },
			at + "Max([4 0] f16) AT: axis 1 is empty: only a sum of nothing is defined"},
		{func(t *tl.PE, o operands) { o.v.Trans() },
			at + "Trans([64] f16) AT: 1 axes: there must be two to exchange"},
		{func(t *tl.PE, o operands) { o.m.Reshape(32, 65) },
			at + "Reshape([32 64] f16) AT: [32 65] has 2080 elements, the tile has 2048"},
		{func(t *tl.PE, o operands) { o.m.Reshape(-1) },
			at + "Reshape([32 64] f16) AT: extent -1 of axis 0 is negative: an empty tile has extent 0"},
		{func(t *tl.PE, o operands) { o.m.Broadcast(tl.Shape{64}) },
			at + "Broadcast([32 64] f16) AT: the tile does not broadcast to [64]: seen from the last axis, its extents must be the same or 1"},
		{func(t *tl.PE, o operands) { o.v.Broadcast(tl.Shape{1, 1, 1, 1, 64}) },
			at + "Broadcast([64] f16) AT: 5 axes are too many: a tile has at most 4"},
		{func(t *tl.PE, o operands) { o.m.Item() },
			at + "Item([32 64] f16) AT: 2048 elements where one is wanted: reduce the tile, or use Values"},

		// Matrix products.
		{func(t *tl.PE, o operands) { o.m.Dot(o.m) },
			at + "Dot([32 64] f16, [32 64] f16) AT: inner sizes 64 and 32 differ: the first operand's columns must equal the second's rows"},
		{func(t *tl.PE, o operands) { o.v.Dot(o.m) },
			at + "Dot([64] f16, [32 64] f16) AT: operands of 1 and 2 axes: a matrix product takes two each"},
		{func(t *tl.PE, o operands) { o.acc.Dot(o.k) },
			at + "Dot([32 16] f32, [64 16] f16) AT: dtypes f32 and f16 differ: convert one with To"},
		{func(t *tl.PE, o operands) { o.m.Dot(o.k, o.acc.To(tl.F16)) },
			at + "Dot([32 64] f16, [64 16] f16, [32 16] f16) AT: the accumulator is [32 16] f16: a product of these is [32 16] f32"},
		{func(t *tl.PE, o operands) { o.m.Dot(o.k, o.acc.Trans()) },
			at + "Dot([32 64] f16, [64 16] f16, [16 32] f32) AT: the accumulator is [16 32] f32: a product of these is [32 16] f32"},
		{func(t *tl.PE, o operands) { o.m.Dot(o.k, o.acc, o.acc) },
			at + "Dot([32 64] f16, [64 16] f16, [32 16] f32) AT: 2 accumulators: there is at most one"},

		// Memory.
		{func(t *tl.PE, o operands) { t.Load(vector, tl.Shape{64}, tl.F32) },
			at + "Load([64] f32) AT: the pointer is to f16: use that dtype and convert with To, or reinterpret memory with As"},
		{func(t *tl.PE, o operands) { t.Store(vector, o.in) },
			at + "Store([64] i32) AT: the pointer is to f16: use that dtype and convert with To, or reinterpret memory with As"},
		{func(t *tl.PE, o operands) { t.Load(tl.Ptr{}.Add(1), tl.Shape{64}, tl.F16) },
			at + "Load([64] f16) AT: a zero Ptr points nowhere: pointers come from the launch and from Scratch"},
		{func(t *tl.PE, o operands) { t.Load(matrix, tl.Shape{8, 8}, tl.F16, tl.Mask(3)) },
			at + "Load([8 8] f16) AT: the mask does not have 2 counts: give one for each axis of the block"},
		{func(t *tl.PE, o operands) { t.Store(vector, o.v, tl.Mask(1, 2, 3, 4, 5, 6)) },
			at + "Store([64] f16) AT: the mask does not have 1 counts: give one for each axis of the block"},
		{func(t *tl.PE, o operands) { t.Load(vector.As(tl.I16), tl.Shape{8}, tl.I16, tl.Mask(3), tl.Other(0.5)) },
			at + "Load([8] i16 mask [3]) AT: 0.5 is not a value of i16: give Other one that is"},
		{func(t *tl.PE, o operands) { vector.At(1, 2) },
			"At(pointer to f16) AT: 2 indices are too many: what it points into has 1 axes"},
		{func(t *tl.PE, o operands) { vector.Strided(2).As(tl.F32) },
			"As(f32) AT: elements of 2 bytes cannot be read as elements of 4: rows must be contiguous and their distance a multiple of 4 bytes"},
		{func(t *tl.PE, o operands) { vector.Strided(3, 1).As(tl.F32) },
			"As(f32) AT: elements of 2 bytes cannot be read as elements of 4: rows must be contiguous and their distance a multiple of 4 bytes"},
		{func(t *tl.PE, o operands) { vector.As(0) },
			"As(DType(0)) AT: no such dtype: use tl.F16 to tl.U64"},
		{func(t *tl.PE, o operands) { vector.Strided(5, 4, 3, 2, 1) },
			"Strided([5 4 3 2 1]) AT: 5 axes are too many: a tensor has at most 4"},
		{func(t *tl.PE, o operands) { t.Load(vector.Add(63).Strided(-4), tl.Shape{16}, tl.F16) },
			at + "Load([16] f16) AT: stride -4 of axis 0 is negative: " + upwards},
		{func(t *tl.PE, o operands) { t.Store(vector.Add(63).Strided(-1), o.v) },
			at + "Store([64] f16) AT: stride -1 of axis 0 is negative: " + upwards},
		{func(t *tl.PE, o operands) { t.Ref(matrix.Strided(-100, 1), tl.Shape{4, 8}, tl.F16) },
			at + "Ref([4 8] f16) AT: stride -100 of axis 0 is negative: " + upwards},
		{func(t *tl.PE, o operands) { t.RecvInto(tl.West, vector.Strided(-1), tl.Shape{16}, tl.F16) },
			at + "RecvInto([16] f16) AT: stride -1 of axis 0 is negative: " + upwards},
		{func(t *tl.PE, o operands) { t.Put(0, vector.Strided(-1), o.v) },
			at + "Put(rank 0, [64] f16) AT: stride -1 of axis 0 is negative: " + upwards},
		{func(t *tl.PE, o operands) { t.Get(0, vector.Strided(-1), tl.Shape{16}, tl.F16) },
			at + "Get(rank 0, [16] f16) AT: stride -1 of axis 0 is negative: " + upwards},
		{func(t *tl.PE, o operands) { t.Composite(tl.Gemm(o.m, o.k, matrix.Strided(64, -1))) },
			at + "Gemm([32 64] f16, [64 16] f16) AT: stride -1 of axis 1 is negative: " + upwards},
		{func(t *tl.PE, o operands) { t.Load(vector.Strided(1<<62), tl.Shape{16}, tl.F16) },
			at + "Load([16] f16) AT: stride 4611686018427387904 of axis 0 is too large: 16 elements that far apart reach beyond 2^48"},
		{func(t *tl.PE, o operands) { t.Load(vector.Strided(1<<46, 1), tl.Shape{6, 2}, tl.F16) },
			at + "Load([6 2] f16) AT: stride 70368744177664 of axis 0 is too large: 6 elements that far apart reach beyond 2^48"},

		// Reductions over peers.
		{func(t *tl.PE, o operands) {
			t.Composite(tl.ReducePeers(tl.OpAdd, matrix, vector, tl.Shape{64}, tl.F16, 0, 4))
		}, at + "ReducePeers(add, [64] f16 of ranks [0 4]) AT: no rank 4: this launch has ranks 0 to 3"},
		{func(t *tl.PE, o operands) {
			t.Composite(tl.ReducePeers(tl.OpAdd, matrix, vector, tl.Shape{64}, tl.F16, 3, 1, 3))
		}, at + "ReducePeers(add, [64] f16 of ranks [3 1 3]) AT: rank 3 twice: name each peer once"},
		{func(t *tl.PE, o operands) {
			t.Composite(tl.ReducePeers(tl.OpAdd, matrix, vector, tl.Shape{64}, tl.F16, []int{}...))
		}, at + "ReducePeers(add, [64] f16 of ranks []) AT: an empty list of peers: name one at least, or leave the list out for all ranks"},
		{func(t *tl.PE, o operands) {
			t.Composite(tl.ReducePeers(tl.OpSub, matrix, vector, tl.Shape{64}, tl.F16))
		}, at + "ReducePeers(sub, [64] f16 of all ranks) AT: sub is no reduction: use OpAdd, OpMul, OpMaximum, OpMinimum, OpAnd, OpOr or OpXor"},
		{func(t *tl.PE, o operands) {
			t.Composite(tl.ReducePeers(tl.OpOr, matrix, vector, tl.Shape{64}, tl.F16))
		}, at + "ReducePeers(bit_or, [64] f16 of all ranks) AT: there is no bit_or of f16: convert with To"},
		{func(t *tl.PE, o operands) {
			t.Composite(tl.ReducePeers(tl.OpAdd, matrix, vector, tl.Shape{64}, tl.F32))
		}, at + "ReducePeers(add, [64] f32 of all ranks) AT: the pointer is to f16: use that dtype and convert with To, or reinterpret memory with As"},
		{func(t *tl.PE, o operands) {
			t.Composite(tl.ReducePeers(tl.OpAdd, matrix, vector, tl.Shape{64}, 99))
		}, at + "ReducePeers(add, [64] DType(99) of all ranks) AT: no such dtype: use tl.F16 to tl.U64"},
		{func(t *tl.PE, o operands) {
			t.Composite(tl.ReducePeers(tl.OpAdd, matrix, vector, tl.Shape{-1}, tl.F16))
		}, at + "ReducePeers(add, [-1] f16 of all ranks) AT: extent -1 of axis 0 is negative: an empty tile has extent 0"},
		{func(t *tl.PE, o operands) {
			t.Composite(tl.ReducePeers(tl.OpAdd, matrix, scratch, tl.Shape{64}, tl.F16))
		}, at + "ReducePeers(add, [64] f16 of all ranks) AT: the pointer is into no window: only tensor arguments of the launch are windows"},
		{func(t *tl.PE, o operands) {
			t.Composite(tl.ReducePeers(tl.OpAdd, tl.Ptr{}, vector, tl.Shape{64}, tl.F16))
		}, at + "ReducePeers(add, [64] f16 of all ranks) AT: a zero Ptr points nowhere: pointers come from the launch and from Scratch"},
		{func(t *tl.PE, o operands) {
			t.Composite(tl.ReducePeers(tl.OpAdd, vector, matrix, tl.Shape{2, 2, 50}, tl.F16))
		}, at + "ReducePeers(add, [2 2 50] f16 of all ranks) AT: a block of more than two axes that is not in one piece: reduce its matrices one by one"},
		// Composites.
		{func(t *tl.PE, o operands) { t.Composite(tl.Command{}) },
			at + "Composite AT: a zero Command does nothing: make one with Gemm, Stream or ReducePeers"},
		{func(t *tl.PE, o operands) { t.Composite(tl.Gemm(o.m, t.Ref(matrix, tl.Shape{32, 8}, tl.F16), vector)) },
			at + "Gemm([32 64] f16, ref [32 8] f16) AT: inner sizes 64 and 32 differ: the first operand's columns must equal the second's rows"},
		{func(t *tl.PE, o operands) { t.Composite(tl.Gemm(o.m, zero, vector)) },
			at + "Gemm([32 64] f16, zero Tile) AT: a zero Tile holds nothing: tiles come from Load, Full, Recv and operations on them"},
		{func(t *tl.PE, o operands) { t.Composite(tl.Gemm(o.m, o.k, tl.Ptr{})) },
			at + "Gemm([32 64] f16, [64 16] f16) AT: a zero Ptr points nowhere: pointers come from the launch and from Scratch"},
		{func(t *tl.PE, o operands) { t.Composite(tl.Stream(tl.OpAdd, vector, o.v)) },
			at + "Stream(add, [64] f16) AT: add takes 2 operands, a step's result included, and has 1"},
		{func(t *tl.PE, o operands) { t.Composite(tl.Stream(tl.OpAdd, vector, foreign, o.v)) },
			at + "Stream(add, [64] f16, [64] f16) AT: the tile was made by another PE or another launch: pass data through queues, windows or memory"},
		{func(t *tl.PE, o operands) { t.Composite(tl.Stream(7, vector, o.v, o.v)) },
			at + "Stream(lt, [64] f16, [64] f16) AT: lt is no operation of composites: use tl.OpAdd to tl.OpXor"},
		{func(t *tl.PE, o operands) { t.Composite(tl.Stream(99, vector, o.v)) },
			at + "Stream(Op(99), [64] f16) AT: Op(99) is no operation of composites: use tl.OpAdd to tl.OpXor"},
		{func(t *tl.PE, o operands) { t.Composite(tl.Stream(tl.OpExp, vector, o.in)) },
			at + "Stream(exp, [64] i32) AT: there is no exp of i32: convert with To"},
		{func(t *tl.PE, o operands) { t.Composite(tl.Stream(24, vector, o.v)) },
			at + "Stream(sum, [64] f16) AT: sum is no operation of composites: use tl.OpAdd to tl.OpXor"},
		{func(t *tl.PE, o operands) { t.Composite(tl.Stream(tl.OpOr, vector, o.v, o.v)) },
			at + "Stream(bit_or, [64] f16, [64] f16) AT: there is no bit_or of f16: convert with To"},
		{func(t *tl.PE, o operands) { t.Composite(tl.Gemm(o.m, o.k, vector), tl.Do(tl.OpAnd, 1)) },
			at + "Do(bit_and, 1) AT: there is no bit_and of f32: convert with To"},
		{func(t *tl.PE, o operands) { t.Composite(tl.Gemm(o.m, o.k, vector), tl.Do(tl.OpAdd, o.v)) },
			at + "Do(add, [64] f16) AT: [64] f16 does not broadcast to the result's [32 16]"},
		{func(t *tl.PE, o operands) { t.Composite(tl.Gemm(o.m, o.k, vector), tl.Do(tl.OpTanh, 1)) },
			at + "Do(tanh, 1) AT: tanh takes 1 operands, a step's result included, and has 2"},
		{func(t *tl.PE, o operands) { t.Composite(tl.Gemm(o.m, o.k, vector), tl.Do(tl.OpWhere, 1, 2)) },
			at + "Do(where, 1, 2) AT: a result is no condition: use Stream(OpWhere, ...)"},
		{func(t *tl.PE, o operands) { t.Composite(tl.Gemm(o.m, o.k, vector), tl.Do(tl.OpAdd, true)) },
			at + "Do(add, bool) AT: operand of type bool: give a Tile or a Go number, integers below 2^53"},
		{func(t *tl.PE, o operands) {
			t.Composite(tl.Stream(tl.OpNeg, vector.As(tl.I16), o.in.To(tl.I16)), tl.Do(tl.OpSqrt))
		},
			at + "Do(sqrt) AT: there is no sqrt of i16: convert with To"},

		// Queues and windows.
		{func(t *tl.PE, o operands) { t.Send(tl.AnyPort, o.v) },
			at + "Send(any, [64] f16) AT: no such port: use a name, Child or Numbered"},
		{func(t *tl.PE, o operands) { t.Recv(-2, tl.Shape{4}, tl.F16) },
			at + "Recv(Port(-2), [4] f16) AT: no such port: use a name, Child or Numbered"},
		{func(t *tl.PE, o operands) { t.RecvAsync(tl.AnyPort, tl.Shape{4}, tl.F16) },
			at + "RecvAsync(any, [4] f16) AT: which port it is shows when a message is there: use RecvAny"},
		{func(t *tl.PE, o operands) { t.RecvInto(tl.East, vector, tl.Shape{4}, tl.F32) },
			at + "RecvInto([4] f32) AT: the pointer is to f16: use that dtype and convert with To, or reinterpret memory with As"},
		{func(t *tl.PE, o operands) { tl.Child(64) },
			"Child(64) AT: children count from 0 to 63"},
		{func(t *tl.PE, o operands) { tl.Numbered(-1) },
			"Numbered(-1) AT: ports count from 0 to 32694"},
		{func(t *tl.PE, o operands) { t.Put(4, vector, o.v) },
			at + "Put(rank 4, [64] f16) AT: no rank 4: this launch has ranks 0 to 3"},
		{func(t *tl.PE, o operands) { t.Get(-1, vector, tl.Shape{4}, tl.F16) },
			at + "Get(rank -1, [4] f16) AT: no rank -1: this launch has ranks 0 to 3"},
		{func(t *tl.PE, o operands) { t.Put(0, scratch, o.v) },
			at + "Put(rank 0, [64] f16) AT: the pointer is into no window: only tensor arguments of the launch are windows"},
		{func(t *tl.PE, o operands) { t.Notify(9, 0, tl.Set, 1) },
			at + "Notify(rank 9, signal 0) AT: no rank 9: this launch has ranks 0 to 3"},
		{func(t *tl.PE, o operands) { t.Notify(0, 0, 7, 1) },
			at + "Notify(rank 0, signal 0) AT: no signal operation 7: use Set or Add"},
		{func(t *tl.PE, o operands) { t.Barrier(5, 0, 1) },
			at + "Barrier(signal 5) AT: rank 2 calls a barrier of ranks [0 1]: only those that are in the list may call it"},
		{func(t *tl.PE, o operands) { t.Barrier(5, 2, 0, 4) },
			at + "Barrier(signal 5) AT: a barrier of ranks [2 0 4]: this launch has ranks 0 to 3"},
		{func(t *tl.PE, o operands) { t.Barrier(5, 2, 0, 0) },
			at + "Barrier(signal 5) AT: a barrier of ranks [2 0 0]: name each rank once"},
		{func(t *tl.PE, o operands) { t.Barrier(5, 1, 2); t.Barrier(5, 2, 1); t.Barrier(5, 0, 2) },
			at + "Barrier(signal 5) AT: a barrier of ranks [0 2] on a signal whose barriers are of ranks [2 1]: use another signal for other ranks"},
		{func(t *tl.PE, o operands) { t.Barrier(5, 1, 2); t.Barrier(5) },
			at + "Barrier(signal 5) AT: a barrier of ranks [0 1 2 3] on a signal whose barriers are of ranks [1 2]: use another signal for other ranks"},
		{func(t *tl.PE, o operands) { t.Select() },
			at + "Select AT: no cases: it would wait forever"},
		{func(t *tl.PE, o operands) { t.Select(tl.CanRecv(tl.East), tl.Case{}) },
			at + "Select(CanRecv(east), zero Case) AT: a zero Case waits for nothing: they come from CanRecv, CanSend and CanSignal"},
		{func(t *tl.PE, o operands) { t.Select(tl.CanRecv(tl.AnyPort)) },
			at + "Select(CanRecv(any)) AT: no such port: use a name, Child or Numbered"},
		{func(t *tl.PE, o operands) { t.Select(tl.CanSend(-2, tl.Shape{4}, tl.F16)) },
			at + "Select(CanSend(Port(-2), 8 bytes)) AT: no such port: use a name, Child or Numbered"},
		{func(t *tl.PE, o operands) { t.Select(tl.CanSignal(3, 9, 1)) },
			at + "Select(CanSignal(3, Cmp(9), 1)) AT: no comparison 9: use EQ, NE, GT, GE, LT or LE"},
		{func(t *tl.PE, o operands) { tl.CanSend(tl.East, tl.Shape{-1}, tl.F16) },
			"CanSend([-1] f16) AT: extent -1 of axis 0 is negative: an empty tile has extent 0"},
		{func(t *tl.PE, o operands) { t.WaitSignal(3, 9, 1) },
			at + "WaitSignal(signal 3) AT: no comparison 9: use EQ, NE, GT, GE, LT or LE"},
		{func(t *tl.PE, o operands) { t.Test(3, 9, 1) },
			at + "Test(signal 3) AT: no comparison 9: use EQ, NE, GT, GE, LT or LE"},

		{func(t *tl.PE, o operands) { t.ProgramID(3) },
			at + "ProgramID AT: no axis 3: 0 is the PE, 1 the cube, 2 the SIP"},
		{func(t *tl.PE, o operands) { t.Assert(o.v.Dim(0) == 1, "%d rows, not %v", 64, o.v) },
			at + "Assert AT: 64 rows, not [64] f16"},
	}
	for _, tt := range tests {
		pe := tl.NewPE(&recorder{}, "matmul")
		o := newOperands(pe)
		err := recoverError(t, func() { tt.do(pe, o) })
		if !strings.HasPrefix(err.Line, "misuse_test.go:") {
			t.Errorf("line %q of %v, want one of misuse_test.go", err.Line, err)
		}
		want := strings.Replace(tt.want, " AT:", " at "+err.Line+":", 1)
		if err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// TestMachineErrors checks the error of each operation when the machine fails.
func TestMachineErrors(t *testing.T) {
	cause := errors.New("out of order")
	tests := []struct {
		do   func(t *tl.PE, o operands)
		want string // operation and operands
	}{
		{func(t *tl.PE, o operands) { t.Load(vector, tl.Shape{8}, tl.F16, tl.Mask(3)) }, "Load([8] f16 mask [3])"},
		{func(t *tl.PE, o operands) { t.Store(vector, o.v) }, "Store([64] f16)"},
		{func(t *tl.PE, o operands) { t.Scratch(tl.Shape{8, 8}, tl.F16) }, "Scratch([8 8] f16)"},
		{func(t *tl.PE, o operands) { t.Zeros(tl.Shape{8}, tl.I64) }, "Full([8] i64)"},
		{func(t *tl.PE, o operands) { o.v.Add(2) }, "Add([64] f16, 2)"},
		{func(t *tl.PE, o operands) { o.m.Dot(o.k) }, "Dot([32 64] f16, [64 16] f16)"},
		{func(t *tl.PE, o operands) { t.Composite(tl.Gemm(o.m, o.k, vector)) }, "Gemm([32 64] f16, [64 16] f16)"},
		{func(t *tl.PE, o operands) { t.Wait(tl.Handle{N: 1}) }, "Wait"},
		{func(t *tl.PE, o operands) { t.Send(tl.East, o.v) }, "Send(east, [64] f16)"},
		{func(t *tl.PE, o operands) { t.Recv(tl.East, tl.Shape{8}, tl.F16) }, "Recv(east, [8] f16)"},
		{func(t *tl.PE, o operands) { t.Select(tl.CanRecv(tl.East), tl.CanSignal(2, tl.NE, 0)) }, "Select(CanRecv(east), CanSignal(2, NE, 0))"},
		{func(t *tl.PE, o operands) { t.Put(1, vector, o.v) }, "Put(rank 1, [64] f16)"},
		{func(t *tl.PE, o operands) { t.Get(1, vector, tl.Shape{8}, tl.F16) }, "Get(rank 1, [8] f16)"},
		{func(t *tl.PE, o operands) { t.Notify(1, 2, tl.Set, 3) }, "Notify(rank 1, signal 2)"},
		{func(t *tl.PE, o operands) { t.WaitSignal(2, tl.EQ, 3) }, "WaitSignal(signal 2)"},
		{func(t *tl.PE, o operands) { t.Test(2, tl.EQ, 3) }, "Test(signal 2)"},
		{func(t *tl.PE, o operands) { o.v.Values() }, "Values([64] f16)"},
		{func(t *tl.PE, o operands) { o.v.Pin() }, "Pin([64] f16)"},
		{func(t *tl.PE, o operands) { o.v.Free() }, "Free([64] f16)"},
	}
	for _, tt := range tests {
		r := &recorder{}
		pe := tl.NewPE(r, "matmul")
		o := newOperands(pe)
		r.fail = cause
		err := recoverError(t, func() { tt.do(pe, o) })
		want := "kernel matmul on sip1.cube5.pe3: " + tt.want + " at " + err.Line + ": out of order"
		if err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
		if !errors.Is(err, cause) {
			t.Errorf("%v does not unwrap to the machine's error", err)
		}
	}
}

// TestReceiveErrors checks the errors of correct receives for which no message comes.
// RecvAsync itself succeeds, and Wait fails.
func TestReceiveErrors(t *testing.T) {
	r := &recorder{wait: errors.New("no message will come")}
	pe := tl.NewPE(r, "ring")
	for want, do := range map[string]func(){
		"Recv(east, [8] f16)":     func() { pe.Recv(tl.East, tl.Shape{8}, tl.F16) },
		"RecvAny(any, [8] f16)":   func() { pe.RecvAny(tl.Shape{8}, tl.F16) },
		"RecvInto(east, [8] f16)": func() { pe.RecvInto(tl.East, vector, tl.Shape{8}, tl.F16) },
		"Wait(east, [8] f16)":     func() { pe.RecvAsync(tl.East, tl.Shape{8}, tl.F16).Wait() },
	} {
		err := recoverError(t, do)
		want = "kernel ring on sip1.cube5.pe3: " + want + " at " + err.Line + ": no message will come"
		if err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
