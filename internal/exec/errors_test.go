package exec

import (
	"testing"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
)

// TestErrors checks that each mistake in a log gives an error that names the operation.
func TestErrors(t *testing.T) {
	const (
		here    = " at copy.go:7 of kernel copy on pe0): "
		correct = "; correct what made the log"
	)
	x := func(d numeric.DType, dims ...int32) oplog.Operand { return tile(1, d, shape(dims...)) }
	args := func(o ...oplog.Operand) []oplog.Operand { return o }
	type op = oplog.Op
	tests := []struct {
		name    string
		op      op // operation 2; operation 1 is a tile [2 3] f16, whose read has not happened
		effects []oplog.Phase
		want    string
	}{
		{"kind", op{Kind: 99}, nil, "operation 2 (Kind(99)" + here + "its kind is none" + correct},
		{"dtype", op{Kind: oplog.Full}, nil, "operation 2 (Full" + here + "its dtype is DType(0), which is none" + correct},
		{"size", op{Kind: oplog.Full, DType: f16, Shape: shape(1<<30, 0, 1<<30)}, nil,
			"operation 2 (Full" + here + "[1073741824 0 1073741824] of f16 is more than the 4294967296 bytes that a value may have" + correct},
		{"negative", op{Kind: oplog.Full, DType: f16, Shape: shape(-1)}, nil,
			"operation 2 (Full" + here + "[-1] of f16 is more than the 4294967296 bytes that a value may have" + correct},
		{"unknown operand", op{Kind: oplog.Cast, DType: f16, Args: args(tile(7, f16, shape()))}, nil,
			"operation 2 (Cast" + here + "an operand is the value of operation 7, the last in the log is 3; log operations before what uses them"},
		{"operand without a value", op{Kind: oplog.Cast, DType: f16, Args: args(tile(3, f16, shape()))}, nil,
			"operation 2 (Cast" + here + "an operand is operation 3 (Barrier of kernel copy on pe0), which is no tile" + correct},
		{"operand of another size", op{Kind: oplog.Cast, DType: f16, Args: args(x(f32, 2, 3))}, nil,
			"operation 2 (Cast" + here + "an operand of [2 3] f32 is 24 bytes, but operation 1 (Load of kernel copy on pe0) has 12" + correct},
		{"operand in memory", op{Kind: oplog.Cast, DType: f16, Args: args(oplog.Operand{Shape: shape(2), DType: f16, Mem: at(0, 4)})}, nil,
			"operation 2 (Cast" + here + "an operand is in memory: only composites and sends have such" + correct},
		{"memory of another size", op{Kind: oplog.Send, Args: args(oplog.Operand{Shape: shape(2), DType: f16, Mem: at(0, 5)})}, nil,
			"operation 2 (Send" + here + "an operand of [2] f16 is 4 bytes of memory: it has 5 bytes" + correct},
		{"too many operands", op{Kind: oplog.Cast, DType: f16, Shape: shape(2, 3), Args: args(x(f16, 2, 3), x(f16, 2, 3))}, nil,
			"operation 2 (Cast" + here + "it has 2 operands, wants 1" + correct},
		{"number", op{Kind: oplog.Cast, DType: f16, Args: args(num(1))}, nil, "operation 2 (Cast" + here + "its operand is a number, wants a tile" + correct},
		{"shape", op{Kind: oplog.Reshape, DType: f16, Shape: shape(5), Args: args(x(f16, 2, 3))}, nil,
			"operation 2 (Reshape" + here + "[2 3] f16 cannot become [5] f16" + correct},
		{"transposition", op{Kind: oplog.Trans, DType: f16, Shape: shape(6), Args: args(x(f16, 6))}, nil,
			"operation 2 (Trans" + here + "[6] f16 cannot become [6] f16" + correct},
		{"axis", op{Kind: oplog.Reduce, Math: numeric.Sum, Axis: 2, DType: f16, Args: args(x(f16, 2, 3))}, nil,
			"operation 2 (Reduce" + here + "sum over axis 2 of [2 3] is no reduction" + correct},
		{"broadcast", op{Kind: oplog.Math, Math: numeric.Add, DType: f16, Shape: shape(2, 2), Args: args(x(f16, 2, 3), num(1))}, nil,
			"operation 2 (Math" + here + "operand 0 is [2 3] f16, wants what broadcasts to [2 2] f16" + correct},
		{"exp of integers", op{Kind: oplog.Math, Math: numeric.Exp, DType: i32, Shape: shape(3), Args: args(x(i32, 3))}, nil,
			"operation 2 (Math" + here + "exp of i32 does not give i32" + correct},
		{"bits of floats", op{Kind: oplog.Math, Math: numeric.BitAnd, DType: f16, Shape: shape(2, 3), Args: args(x(f16, 2, 3), x(f16, 2, 3))}, nil,
			"operation 2 (Math" + here + "bit_and of f16 does not give f16" + correct},
		{"sum as Math", op{Kind: oplog.Math, Math: numeric.Sum, DType: i32, Args: args(x(i32, 3))}, nil, "operation 2 (Math" + here + "sum is no elementwise operation" + correct},
		{"comparison over peers", op{Kind: oplog.ReducePeers, Math: numeric.Lt, DType: u8, Shape: shape(2, 3), Mem: at(256, 6), Args: args(x(f16, 2, 3), x(f16, 2, 3))}, nil,
			"operation 2 (ReducePeers" + here + "lt of f16 is no reduction over peers" + correct},
		{"shapes of peers", op{Kind: oplog.ReducePeers, Math: numeric.Add, DType: f16, Shape: shape(2, 3), Mem: at(256, 12), Args: args(x(f16, 2, 3), num(1))}, nil,
			"operation 2 (ReducePeers" + here + "operand 1 is [] DType(0), wants [2 3] f16" + correct},
		{"no peers", op{Kind: oplog.ReducePeers, Math: numeric.Add, DType: f16, Shape: shape(2, 3), Mem: at(256, 12)}, nil,
			"operation 2 (ReducePeers" + here + "it has 0 operands, wants 1" + correct},
		{"product", op{Kind: oplog.Dot, DType: f32, Shape: shape(2, 2), Args: args(x(f16, 2, 3), x(f16, 2, 3))}, nil,
			"operation 2 (Dot" + here + "[2 3] f16 times [2 3] f16 is not [2 2] f32" + correct},
		{"addend", op{Kind: oplog.Dot, DType: f32, Shape: shape(2, 2), Args: args(x(f16, 2, 3), x(f16, 3, 2), x(f16, 2, 3))}, nil,
			"operation 2 (Dot" + here + "it adds [2 3] f16 to a product of [2 2] f32" + correct},
		{"epilogue of a tile", op{Kind: oplog.Full, DType: f16, Epilogue: make([]oplog.Step, 1)}, nil, "operation 2 (Full" + here + "a Full has no epilogue" + correct},
		{"epilogue", op{Kind: oplog.Gemm, DType: f32, Shape: shape(2, 2), Mem: at(0, 16), Args: args(x(f16, 2, 3), x(f16, 3, 2)),
			Epilogue: []oplog.Step{{Math: numeric.Neg}, {Math: numeric.Lt, Args: args(num(1))}}}, nil,
			"operation 2 (Gemm" + here + "step 1 of its epilogue is lt, which it cannot do on f32" + correct},
		{"bits in an epilogue of floats", op{Kind: oplog.Gemm, DType: i32, Shape: shape(2, 2), Mem: at(0, 16), Args: args(x(f16, 2, 3), x(f16, 3, 2)),
			Epilogue: []oplog.Step{{Math: numeric.BitOr, Args: args(num(1))}}}, nil,
			"operation 2 (Gemm" + here + "step 0 of its epilogue is bit_or, which it cannot do on f32" + correct},
		{"reduction in an epilogue", op{Kind: oplog.Gemm, DType: f32, Shape: shape(2, 2), Mem: at(0, 16), Args: args(x(f16, 2, 3), x(f16, 3, 2)),
			Epilogue: []oplog.Step{{Math: numeric.Sum}}}, nil,
			"operation 2 (Gemm" + here + "step 0 of its epilogue is sum, which it cannot do on f32" + correct},
		{"epilogue operands", op{Kind: oplog.Gemm, DType: f32, Shape: shape(2, 2), Mem: at(0, 16), Args: args(x(f16, 2, 3), x(f16, 3, 2)),
			Epilogue: []oplog.Step{{Math: numeric.Clamp, Args: args(num(1))}}}, nil,
			"operation 2 (Gemm" + here + "step 0 of its epilogue is clamp with 1 operands in addition to the result, wants 2" + correct},
		{"epilogue shape", op{Kind: oplog.Gemm, DType: f32, Shape: shape(2, 2), Mem: at(0, 16), Args: args(x(f16, 2, 3), x(f16, 3, 2)),
			Epilogue: []oplog.Step{{Math: numeric.Add, Args: args(x(f16, 2, 3))}}}, nil,
			"operation 2 (Gemm" + here + "step 0 of its epilogue has an operand of [2 3] for a result of [2 2]" + correct},
		{"memory", op{Kind: oplog.Store, DType: f16, Shape: shape(2, 3), Box: shape(2, 2), Mem: at(0, 12), Args: args(x(f16, 2, 3))}, nil,
			"operation 2 (Store" + here + "[2 2] f16 has 8 bytes, its memory 12" + correct},
		{"box", op{Kind: oplog.Load, DType: f16, Shape: shape(2, 3), Box: shape(2, 4), Mem: at(0, 16)}, nil,
			"operation 2 (Load" + here + "its box [2 4] is larger than its shape [2 3]" + correct},
		{"rank of the box", op{Kind: oplog.Load, DType: f16, Shape: shape(2, 3), Box: shape(6), Mem: at(0, 12)}, nil,
			"operation 2 (Load" + here + "its box [6] has another rank than its shape [2 3]" + correct},
		{"memory of a tile", op{Kind: oplog.Full, DType: f16, Mem: at(0, 2)}, nil, "operation 2 (Full" + here + "a Full has no memory of its own" + correct},
		{"rows", op{Kind: oplog.Zero, Mem: []oplog.Access{{Space: hbm, Rows: 1 << 40, RowBytes: 1 << 40}}}, nil,
			"operation 2 (Zero" + here + "an access of 1099511627776 rows of 1099511627776 bytes is none" + correct},
		{"data", op{Kind: oplog.HostWrite, Data: []byte("abc"), Mem: at(0, 4)}, nil, "operation 2 (HostWrite" + here + "it has 3 bytes for 4 bytes of memory" + correct},
		{"large read", op{Kind: oplog.HostRead, Mem: at(0, 1<<40)}, nil,
			"operation 2 (HostRead" + here + "it reads 1099511627776 bytes, more than the 4294967296 that a value may have" + correct},
		{"no such memory", op{Kind: oplog.Scratch, Mem: []oplog.Access{{Space: oplog.Space{Kind: oplog.SRAM}, Rows: 1, RowBytes: 1}}}, []oplog.Phase{oplog.Write},
			"operation 2 (Scratch" + here + "the machine has no memory sip0.cube0.sram"},
		{"no such memory to read", op{Kind: oplog.HostRead, Mem: []oplog.Access{{Space: oplog.Space{Kind: oplog.SRAM}, Rows: 1, RowBytes: 1}}}, []oplog.Phase{oplog.Read},
			"operation 2 (HostRead" + here + "the machine has no memory sip0.cube0.sram"},
		{"out of bounds", op{Kind: oplog.HostRead, Mem: at(1000, 25)}, []oplog.Phase{oplog.Read},
			"operation 2 (HostRead" + here + "sip0.cube0.hbm0: read of 25B at 0x3e8 is outside the memory, which has 1KiB; check the address against the allocation it belongs to"},
		{"twice", op{Kind: oplog.HostRead, Mem: at(0, 1)}, []oplog.Phase{oplog.Read, oplog.Read},
			"operation 2 (HostRead" + here + "its read is in the log twice; an operation touches memory once"},
		{"reads nothing", op{Kind: oplog.Barrier}, []oplog.Phase{oplog.Read}, "operation 2 (Barrier" + here + "a Barrier reads no memory, but the log says that it did"},
		{"writes nothing", op{Kind: oplog.Load, DType: f16, Mem: at(0, 2)}, []oplog.Phase{oplog.Write},
			"operation 2 (Load" + here + "a Load writes no memory, but the log says that it did"},
		{"too early", op{Kind: oplog.Store, DType: f16, Shape: shape(2, 3), Mem: at(0, 12), Args: args(x(f16, 2, 3))}, []oplog.Phase{oplog.Write},
			"operation 1 (Load of kernel copy on pe0): its value does not exist: its read has not happened; let the simulation continue until it has"},
		{"circle", op{Kind: oplog.Recv, DType: f16, Shape: shape(1), Mem: at(0, 2), Args: args(oplog.Operand{From: 5})}, []oplog.Phase{oplog.Write},
			"operation 2 (Recv" + here + "its value does not exist: it depends on operation 2 (Recv at copy.go:7 of kernel copy on pe0), and so on itself; correct what made the log"},
		{"no message", op{Kind: oplog.Recv, DType: f16, Shape: shape(1), Mem: at(0, 2), Args: args(oplog.Operand{})}, []oplog.Phase{oplog.Write},
			"operation 2 (Recv" + here + "its value does not exist: it has no message yet; let the simulation continue until it has"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := &builder{oplog.Log{PEs: []string{"pe0"}, Launches: []oplog.Launch{{Name: "copy"}}}}
			b.op(op{Kind: oplog.Load, DType: f16, Shape: shape(2, 3), Mem: at(0, 12)})
			tt.op.Line = b.Line("copy.go:7")
			id := b.op(tt.op, tt.effects...)
			b.op(op{Kind: oplog.Barrier})
			r := b.op(op{Kind: oplog.Reshape, DType: f16, Shape: shape(1), Args: args(tile(id, f16, shape(1)))})
			if tt.op.Kind == oplog.Recv {
				b.op(op{Kind: oplog.Send, Args: args(tile(r, f16, shape(1)))})
			} else {
				b.Ops = b.Ops[:3]
			}
			store := &memory.Store{Memory: memory.ID{Kind: oplog.HBM}, Size: 1024}
			mem := func(s oplog.Space) *memory.Store {
				if s != hbm {
					return nil
				}
				return store
			}
			e := New(&b.Log, mem, 2)
			for range 2 { // the second call returns the same error
				if err := e.Flush(); err == nil || err.Error() != tt.want {
					t.Errorf("Flush error\n got %v\nwant %s", err, tt.want)
				}
			}
			e.Forget(1)
		})
	}
}

// TestEffectOfNothing checks the error for an effect that refers to an operation that is
// not in the log.
func TestEffectOfNothing(t *testing.T) {
	b := &builder{}
	b.Effect(3, oplog.Read)
	const want = "operation 3 (not in the log, which has 0): an effect names it; the log is damaged"
	if err := New(&b.Log, newMemories(), 1).Flush(); err == nil || err.Error() != want {
		t.Errorf("Flush error\n got %v\nwant %s", err, want)
	}
}
