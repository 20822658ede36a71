package tl_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
)

// vector and matrix are pointers to tensors of a launch: a vector of 1000 elements and a
// matrix with rows of 100 elements.
var (
	vector = tl.Ptr{Addr: 1000, DType: tl.F16, Rank: 1, Window: 1, Stride: [4]int64{1}}
	matrix = tl.Ptr{Addr: 5000, DType: tl.F16, Rank: 2, Window: 2, Stride: [4]int64{100, 1}}
)

// operands is the set of tiles that most cases use: #1 to #4 of f16, #5 of f32, #6 of u8
// and #7 of i32.
type operands struct {
	v, m, k, row  tl.Tile
	acc, cond, in tl.Tile
}

func newOperands(t *tl.PE) operands {
	return operands{
		v:    t.Load(vector, tl.Shape{64}, tl.F16),
		m:    t.Load(matrix, tl.Shape{32, 64}, tl.F16),
		k:    t.Load(matrix, tl.Shape{64, 16}, tl.F16),
		row:  t.Load(matrix, tl.Shape{1, 64}, tl.F16),
		acc:  t.Zeros(tl.Shape{32, 16}, tl.F32),
		cond: t.Zeros(tl.Shape{64}, tl.U8),
		in:   t.Zeros(tl.Shape{64}, tl.I32),
	}
}

// TestOperations checks the calls that each operation makes to the machine.
func TestOperations(t *testing.T) {
	tests := []struct {
		name string
		do   func(t *tl.PE, o operands)
		want []string
	}{
		{"Load of a vector", func(t *tl.PE, o operands) { t.Load(vector.At(3), tl.Shape{8}, tl.F16) },
			[]string{"load #8 [8] f16 from 1006 strides [1]"}},
		{"Load of a block", func(t *tl.PE, o operands) { t.Load(matrix.At(2, 3), tl.Shape{4, 5}, tl.F16) },
			[]string{"load #8 [4 5] f16 from 5406 strides [100 1]"}},
		{"Load of a piece of a row", func(t *tl.PE, o operands) { t.Load(matrix.At(2), tl.Shape{5}, tl.F16) },
			[]string{"load #8 [5] f16 from 5400 strides [1]"}},
		{"Load of packed rows", func(t *tl.PE, o operands) { t.Load(vector, tl.Shape{2, 4, 5}, tl.F16) },
			[]string{"load #8 [2 4 5] f16 from 1000 strides [20 5 1]"}},
		{"Load of a column", func(t *tl.PE, o operands) { t.Load(matrix.At(0, 7).Strided(100), tl.Shape{5}, tl.F16) },
			[]string{"load #8 [5] f16 from 5014 strides [100]"}},
		{"Load of one element", func(t *tl.PE, o operands) { t.Load(matrix.At(1, 1), tl.Shape{}, tl.F16) },
			[]string{"load #8 [] f16 from 5202 strides []"}},
		{"Load of nothing", func(t *tl.PE, o operands) { t.Load(matrix, tl.Shape{0, 4}, tl.F16) },
			[]string{"load #8 [0 4] f16 from 5000 strides [100 1]"}},
		{"Load masked", func(t *tl.PE, o operands) {
			t.Load(matrix, tl.Shape{8, 8}, tl.F16, tl.Mask(100, 3), tl.Other(math.Inf(-1)))
		}, []string{"load #8 [8 8] f16 from 5000 strides [100 1] valid [8 3] fill -Inf"}},
		{"Load masked out", func(t *tl.PE, o operands) { t.Load(vector, tl.Shape{8}, tl.F16, tl.Mask(-3)) },
			[]string{"load #8 [8] f16 from 1000 strides [1] valid [0] fill 0"}},
		{"Load with a mask of everything", func(t *tl.PE, o operands) { t.Load(vector, tl.Shape{8}, tl.F16, tl.Mask(math.MaxInt)) },
			[]string{"load #8 [8] f16 from 1000 strides [1]"}},
		{"Store", func(t *tl.PE, o operands) { t.Store(matrix.At(1), o.m) },
			[]string{"store #2 to 5200 strides [100 1]"}},
		{"Store masked", func(t *tl.PE, o operands) { t.Store(vector.Add(5), o.v, tl.Mask(7)) },
			[]string{"store #1 to 1010 strides [1] valid [7] fill 0"}},
		{"Scratch", func(t *tl.PE, o operands) { t.Store(t.Scratch(tl.Shape{32, 64}, tl.F16).At(1, 2), o.v) },
			[]string{"scratch 4096 bytes", "store #1 to 4228 strides [1]"}},
		{"Full", func(t *tl.PE, o operands) { t.Full(tl.Shape{2, 3}, tl.BF16, 1.5) },
			[]string{"#8 [2 3] bf16 = Full 1.5 ()"}},
		{"Zeros", func(t *tl.PE, o operands) { t.Zeros(tl.Shape{2}, tl.I8) },
			[]string{"#8 [2] i8 = Full 0 ()"}},
		{"Arange", func(t *tl.PE, o operands) { t.Arange(5, tl.I32) },
			[]string{"#8 [5] i32 = Arange ()"}},

		{"Dot", func(t *tl.PE, o operands) { o.m.Dot(o.k) },
			[]string{"#8 [32 16] f32 = Dot (#2, #3)"}},
		{"Dot with an accumulator", func(t *tl.PE, o operands) { o.m.Dot(o.k, o.acc) },
			[]string{"#8 [32 16] f32 = Dot (#2, #3, #5)"}},
		{"Softmax", func(t *tl.PE, o operands) { o.m.Softmax() },
			[]string{"#8 [32 64] f16 = Softmax (#2)"}},
		{"Sum, Max, Min", func(t *tl.PE, o operands) { o.m.Sum(0); o.m.Max(-1); o.v.Min(0) },
			[]string{"#8 [64] f16 = sum axis 0 (#2)", "#9 [32] f16 = max axis 1 (#2)", "#10 [] f16 = min axis 0 (#1)"}},
		{"To", func(t *tl.PE, o operands) { o.v.To(tl.F32) },
			[]string{"#8 [64] f32 = Cast (#1)"}},
		{"Trans", func(t *tl.PE, o operands) { o.m.Trans() },
			[]string{"#8 [64 32] f16 = Trans (#2)"}},
		{"Reshape", func(t *tl.PE, o operands) { o.m.Reshape(2, 16, 64) },
			[]string{"#8 [2 16 64] f16 = Reshape (#2)"}},
		{"Broadcast", func(t *tl.PE, o operands) { o.row.Broadcast(tl.Shape{2, 32, 64}) },
			[]string{"#8 [2 32 64] f16 = Broadcast (#4)"}},

		{"binary", func(t *tl.PE, o operands) {
			o.m.Add(o.v)
			o.v.Sub(o.v)
			o.v.Mul(2)
			o.v.Div(float32(0.5))
			o.v.Maximum(0.0)
			o.v.Minimum(uint8(7))
		}, []string{"#8 [32 64] f16 = add (#2, #1)", "#9 [64] f16 = sub (#1, #1)", "#10 [64] f16 = mul (#1, 2)",
			"#11 [64] f16 = div (#1, 0.5)", "#12 [64] f16 = maximum (#1, 0)", "#13 [64] f16 = minimum (#1, 7)"}},
		{"bits", func(t *tl.PE, o operands) {
			o.in.And(o.in)
			o.in.Or(-1)
			t.Zeros(tl.Shape{2, 64}, tl.U8).Xor(o.cond)
		}, []string{"#8 [64] i32 = bit_and (#7, #7)", "#9 [64] i32 = bit_or (#7, -1)",
			"#10 [2 64] u8 = Full 0 ()", "#11 [2 64] u8 = bit_xor (#10, #6)"}},
		{"numbers of every type", func(t *tl.PE, o operands) {
			for _, n := range []any{int(1), int8(1), int16(1), int32(1), int64(1), uint(1), uint8(1), uint16(1), uint32(1), uint64(1), float32(1), float64(1)} {
				o.in.Add(n)
			}
		}, repeated(12, func(i int) string { return fmt.Sprintf("#%d [64] i32 = add (#7, 1)", 8+i) })},
		{"comparisons", func(t *tl.PE, o operands) {
			o.v.Lt(o.v)
			o.v.Le(0)
			o.v.Gt(0)
			o.v.Ge(0)
			o.v.Eq(0)
			o.v.Ne(0)
		}, []string{"#8 [64] u8 = lt (#1, #1)", "#9 [64] u8 = le (#1, 0)", "#10 [64] u8 = gt (#1, 0)",
			"#11 [64] u8 = ge (#1, 0)", "#12 [64] u8 = eq (#1, 0)", "#13 [64] u8 = ne (#1, 0)"}},
		{"unary", func(t *tl.PE, o operands) {
			o.v.Neg()
			o.v.Abs()
			o.v.Exp()
			o.v.Log()
			o.v.Sqrt()
			o.v.Rsqrt()
			o.v.Sigmoid()
			o.v.Tanh()
		}, []string{"#8 [64] f16 = neg (#1)", "#9 [64] f16 = abs (#1)", "#10 [64] f16 = exp (#1)", "#11 [64] f16 = log (#1)",
			"#12 [64] f16 = sqrt (#1)", "#13 [64] f16 = rsqrt (#1)", "#14 [64] f16 = sigmoid (#1)", "#15 [64] f16 = tanh (#1)"}},
		{"ternary", func(t *tl.PE, o operands) { o.v.FMA(o.m, 1); o.v.Clamp(-1, o.v) },
			[]string{"#8 [32 64] f16 = fma (#1, #2, 1)", "#9 [64] f16 = clamp (#1, -1, #1)"}},
		{"number first", func(t *tl.PE, o operands) {
			t.Sub(1, o.v)
			t.Div(1, o.v)
			t.FMA(2, o.v, o.v)
			t.Clamp(1, o.v, o.m)
			t.Where(o.cond, 1, o.m)
		}, []string{"#8 [64] f16 = sub (1, #1)", "#9 [64] f16 = div (1, #1)", "#10 [64] f16 = fma (2, #1, #1)",
			"#11 [32 64] f16 = clamp (1, #1, #2)", "#12 [32 64] f16 = where (#6, 1, #2)"}},

		{"Gemm", func(t *tl.PE, o operands) {
			t.Wait(t.Composite(tl.Gemm(t.Ref(matrix, tl.Shape{70, 64}, tl.F16), o.k, vector), tl.Do(tl.OpAdd, o.acc.Sum(0)), tl.Do(tl.OpMaximum, 0)))
		}, []string{"#8 [16] f32 = sum axis 0 (#5)",
			"Gemm (memory 5000 strides [100 1] ref [70 64] f16, #3) add (#8) maximum (0) to [70 16] f16 at 1000 strides [16 1]", "wait 7"}},
		{"Stream", func(t *tl.PE, o operands) {
			t.Composite(tl.Stream(tl.OpMul, vector, t.Ref(vector, tl.Shape{900}, tl.F16), 2), tl.Do(tl.OpTanh), tl.Do(tl.OpFMA, 2, 1))
		}, []string{"Stream mul (memory 1000 strides [1] ref [900] f16, 2) tanh () fma (2, 1) to [900] f16 at 1000 strides [1]"}},
		{"ReducePeers", func(t *tl.PE, o operands) {
			t.Wait(t.Composite(tl.ReducePeers(tl.OpAdd, matrix.At(1, 2), vector.At(3), tl.Shape{900}, tl.F16)))
		}, []string{"ReducePeers add (memory 1006 strides [1] ref [900] f16 of rank 0 window 1, memory 1006 strides [1] ref [900] f16 of rank 1 window 1, " +
			"memory 1006 strides [1] ref [900] f16 of rank 2 window 1, memory 1006 strides [1] ref [900] f16 of rank 3 window 1) to [900] f16 at 5204 strides [1]", "wait 7"}},
		{"ReducePeers of some, with an epilogue", func(t *tl.PE, o operands) {
			t.Composite(tl.ReducePeers(tl.OpMaximum, vector.As(tl.I16), matrix.As(tl.I16), tl.Shape{2, 3}, tl.I16, 3, 0), tl.Do(tl.OpMul, 2))
		}, []string{"ReducePeers maximum (memory 5000 strides [100 1] ref [2 3] i16 of rank 3 window 2, memory 5000 strides [100 1] ref [2 3] i16 of rank 0 window 2)" +
			" mul (2) to [2 3] i16 at 1000 strides [3 1]"}},
		{"ReducePeers of three axes", func(t *tl.PE, o operands) {
			t.Composite(tl.ReducePeers(tl.OpMinimum, vector, vector.At(50), tl.Shape{2, 3, 5}, tl.F16, 1))
		}, []string{"ReducePeers minimum (memory 1100 strides [1] ref [30] f16 of rank 1 window 1) to [30] f16 at 1000 strides [1]"}},
		{"ReducePeers of nothing", func(t *tl.PE, o operands) {
			t.Composite(tl.ReducePeers(tl.OpAdd, vector, vector, tl.Shape{0}, tl.F16, 1))
		}, []string{"ReducePeers add (memory 1000 strides [1] ref [0] f16 of rank 1 window 1) to [0] f16 at 1000 strides [1]"}},
		{"Stream of bits", func(t *tl.PE, o operands) {
			t.Composite(tl.Stream(tl.OpXor, vector.As(tl.I16), o.in, 5), tl.Do(tl.OpAnd, 255), tl.Do(tl.OpOr, 1))
		}, []string{"Stream bit_xor (#7, 5) bit_and (255) bit_or (1) to [64] i16 at 1000 strides [1]"}},
		{"Wait for nothing", func(t *tl.PE, o operands) { t.Wait(tl.Handle{}) }, nil},

		{"Send", func(t *tl.PE, o operands) {
			t.Send(tl.East, o.v)
			t.Send(tl.Child(1), t.Ref(vector, tl.Shape{9}, tl.F16))
		},
			[]string{"send east #1", "send child1 memory 1000 strides [1] ref [9] f16"}},
		{"Recv", func(t *tl.PE, o operands) { t.Send(tl.East, t.Recv(tl.West, tl.Shape{9}, tl.F32)) },
			[]string{"recv west #8 [9] f32, wait", "send east #8"}},
		{"RecvAny", func(t *tl.PE, o operands) {
			x, from := t.RecvAny(tl.Shape{9}, tl.F32)
			t.Send(from, x)
		}, []string{"recv any #8 [9] f32, wait", "send west #8"}},
		{"RecvAsync", func(t *tl.PE, o operands) {
			r := t.RecvAsync(tl.Numbered(2), tl.Shape{9}, tl.F32)
			o.v.Exp()
			t.Send(tl.East, r.Wait())
		}, []string{"recv port2 #8 [9] f32", "#9 [64] f16 = exp (#1)", "wait 9", "send east #8"}},
		{"RecvInto", func(t *tl.PE, o operands) { t.RecvInto(tl.West, vector.At(2), tl.Shape{9}, tl.F16) },
			[]string{"recv west #8 [9] f16 into 1004 strides [1], wait"}},
		{"Select", func(t *tl.PE, o operands) {
			i := t.Select(tl.CanRecv(tl.West), tl.CanSend(tl.Child(0), tl.Shape{3, 5}, tl.F32), tl.CanSignal(5, tl.GE, -2))
			t.Printf("%d", i)
		}, []string{"select [CanRecv(west) CanSend(child0, 60 bytes) CanSignal(5, GE, -2)]", "[sip1.cube5.pe3 0ns] 2"}},

		{"Put", func(t *tl.PE, o operands) { t.Put(3, matrix.At(1), o.v, tl.Mask(60)) },
			[]string{"put #1 to rank 3 window 2 at 5200 strides [1] valid [60] fill 0"}},
		{"Get", func(t *tl.PE, o operands) { t.Get(0, vector, tl.Shape{4}, tl.F16) },
			[]string{"get #8 [4] f16 from rank 0 window 1 at 1000 strides [1]"}},
		{"signals", func(t *tl.PE, o operands) {
			t.Notify(1, 5, tl.Add, 2)
			t.WaitSignal(5, tl.GE, 2)
			t.Assert(t.Test(5, tl.LT, 3), "the recorder says yes")
		}, []string{"notify rank 1 signal 5 op 1 value 2", "wait signal 5 cmp 3 value 2", "test signal 5 cmp 4 value 3"}},

		{"Pin and Free", func(t *tl.PE, o operands) { o.v.Pin().Free() }, []string{"pin #1", "free #1"}},
		{"Printf", func(t *tl.PE, o operands) { t.Printf("row %d of %v, %d\n", 7, o.m, o.v) },
			[]string{"[sip1.cube5.pe3 0ns] row 7 of [32 64] f16, [64] f16"}},
		{"Item and Values", func(t *tl.PE, o operands) {
			pair := t.Load(vector, tl.Shape{2}, tl.F16)
			t.Printf("%v, %v", pair.Values(), pair.Sum(0).Item())
		}, []string{"load #8 [2] f16 from 1000 strides [1]", "bytes #8", "#9 [] f16 = sum axis 0 (#8)", "bytes #9",
			"[sip1.cube5.pe3 0ns] [1 -2], 1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &recorder{}
			pe := tl.NewPE(r, "test")
			o := newOperands(pe)
			r.calls = nil
			tt.do(pe, o)
			if diff := cmp.Diff(tt.want, r.calls); diff != "" {
				t.Errorf("calls of the machine (-want +got):\n%s", diff)
			}
		})
	}
}

// repeated calls the function `text` with the numbers 0 to n-1 and returns the results.
func repeated(n int, text func(i int) string) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = text(i)
	}
	return all
}

// TestPlace checks the coordinates and the rank that a kernel gets from its PE.
func TestPlace(t *testing.T) {
	pe := tl.NewPE(&recorder{}, "test")
	got := []int{
		pe.ProgramID(0), pe.ProgramID(1), pe.ProgramID(2),
		pe.NumPrograms(0), pe.NumPrograms(1), pe.NumPrograms(2),
		pe.Rank(), pe.NumRanks(),
	}
	if diff := cmp.Diff([]int{3, 5, 1, 8, 16, 2, 2, 4}, got); diff != "" {
		t.Errorf("place (-want +got):\n%s", diff)
	}
}

func TestPrintfTime(t *testing.T) {
	for now, want := range map[simtime.Time]string{
		12500 * simtime.Picosecond:                "[sip1.cube5.pe3 12.5ns] here",
		simtime.Microsecond - 1:                   "[sip1.cube5.pe3 999.999999ns] here",
		1250 * simtime.Nanosecond:                 "[sip1.cube5.pe3 1.25µs] here",
		simtime.Millisecond + simtime.Femtosecond: "[sip1.cube5.pe3 1000.000000001µs] here",
	} {
		r := &recorder{now: now}
		tl.NewPE(r, "test").Printf("here")
		if r.calls[0] != want {
			t.Errorf("at %v: printed %q, want %q", now, r.calls[0], want)
		}
	}
}

func TestTileShapeAndDType(t *testing.T) {
	pe := tl.NewPE(&recorder{}, "test")
	x := pe.Load(matrix, tl.Shape{32, 64}, tl.F16)
	if diff := cmp.Diff(tl.Shape{32, 64}, x.Shape()); diff != "" {
		t.Errorf("shape (-want +got):\n%s", diff)
	}
	if x.Dim(0) != 32 || x.Dim(-1) != 64 || x.DType() != tl.F16 {
		t.Errorf("got extents %d and %d of %v, want 32 and 64 of f16", x.Dim(0), x.Dim(-1), x.DType())
	}
}

func TestCDiv(t *testing.T) {
	for _, tt := range []struct{ a, b, want int }{{0, 4, 0}, {1, 4, 1}, {4, 4, 1}, {5, 4, 2}} {
		if got := tl.CDiv(tt.a, tt.b); got != tt.want {
			t.Errorf("CDiv(%d, %d) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

// TestPtr checks the pointers that the methods of Ptr return.
func TestPtr(t *testing.T) {
	f32 := tl.Ptr{Addr: 64, DType: tl.F32, Rank: 2, Window: 1, Stride: [4]int64{10, 1}}
	tests := []struct {
		name string
		got  tl.Ptr
		want tl.Ptr
	}{
		{"At(row, col)", f32.At(2, 3), tl.Ptr{Addr: 64 + 92, DType: tl.F32, Rank: 2, Window: 1, Stride: [4]int64{10, 1}}},
		{"At(row)", f32.At(-1), tl.Ptr{Addr: 64 - 40, DType: tl.F32, Rank: 2, Window: 1, Stride: [4]int64{10, 1}}},
		{"At()", f32.At(), f32},
		{"Add", f32.Add(3), tl.Ptr{Addr: 76, DType: tl.F32, Rank: 2, Window: 1, Stride: [4]int64{10, 1}}},
		{"Add along a column", f32.Strided(10).Add(3), tl.Ptr{Addr: 184, DType: tl.F32, Rank: 1, Window: 1, Stride: [4]int64{10}}},
		{"As the same size", f32.As(tl.I32), tl.Ptr{Addr: 64, DType: tl.I32, Rank: 2, Window: 1, Stride: [4]int64{10, 1}}},
		{"As smaller", f32.As(tl.U8), tl.Ptr{Addr: 64, DType: tl.U8, Rank: 2, Window: 1, Stride: [4]int64{40, 1}}},
		{"As larger", f32.As(tl.F64), tl.Ptr{Addr: 64, DType: tl.F64, Rank: 2, Window: 1, Stride: [4]int64{5, 1}}},
		{"Strided", f32.Strided(7, 1, 2), tl.Ptr{Addr: 64, DType: tl.F32, Rank: 3, Window: 1, Stride: [4]int64{7, 1, 2}}},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, tt.got, tt.want)
		}
	}
}

func TestPortNames(t *testing.T) {
	for _, tt := range []struct {
		port tl.Port
		want string
	}{
		{tl.AnyPort, "any"}, {tl.North, "north"}, {tl.GlobalWest, "global_west"}, {tl.Parent, "parent"},
		{tl.Child(0), "child0"}, {tl.Child(63), "child63"}, {tl.Numbered(0), "port0"}, {tl.Port(-2), "Port(-2)"},
	} {
		if got := tt.port.String(); got != tt.want {
			t.Errorf("port %d is called %q, want %q", int(tt.port), got, tt.want)
		}
	}
}

func TestCmp(t *testing.T) {
	for cmp, want := range map[tl.Cmp][3]bool{
		tl.EQ: {false, true, false}, tl.NE: {true, false, true}, tl.GT: {false, false, true},
		tl.GE: {false, true, true}, tl.LT: {true, false, false}, tl.LE: {true, true, false},
	} {
		if got := [3]bool{cmp.Holds(1, 2), cmp.Holds(2, 2), cmp.Holds(3, 2)}; got != want {
			t.Errorf("comparison %d of 1, 2, 3 with 2: got %v, want %v", cmp, got, want)
		}
	}
}

// TestDim checks that Dim returns the extents of the part of a tensor that the PE holds,
// and that they do not change when the pointer moves. It also checks the extents after As
// and Strided, and the error for an axis that does not exist.
func TestDim(t *testing.T) {
	p := tl.Ptr{DType: tl.F32, Rank: 2, Stride: [4]int64{6, 1}, Extent: [4]int32{4, 6}}
	for _, c := range []struct {
		p    tl.Ptr
		want [2]int
	}{
		{p, [2]int{4, 6}}, {p.At(2, 3), [2]int{4, 6}}, {p.Add(1), [2]int{4, 6}},
		{p.As(tl.F16), [2]int{4, 12}}, {p.As(tl.I32), [2]int{4, 6}}, {p.Strided(3, 1), [2]int{0, 0}},
	} {
		if got := [2]int{c.p.Dim(0), c.p.Dim(-1)}; got != c.want {
			t.Errorf("extents %v, want %v", got, c.want)
		}
	}
	defer func() {
		if err, _ := recover().(error); err == nil || !strings.Contains(err.Error(), "no axis 2: what it points into has 2") {
			t.Errorf("Dim(2): %v", err)
		}
	}()
	p.Dim(2)
}
