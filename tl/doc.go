// Package tl is the tile language: what kernels are written in.
//
// A kernel is a Go function that runs on every PE of a launch. Its first argument
// is the PE, the others are pointers to tensors and plain values:
//
//	// add is z = x + y for vectors of n elements that lie on one PE, or on none of
//	// those that run it. Blocks go round the PEs; the last one may be ragged.
//	func add(t *tl.PE, x, y, z tl.Ptr, n int) {
//		const block = 1024
//		for i := block * t.Rank(); i < n; i += block * t.NumRanks() {
//			a := t.Load(x.At(i), tl.Shape{block}, tl.F16, tl.Mask(n-i))
//			b := t.Load(y.At(i), tl.Shape{block}, tl.F16, tl.Mask(n-i))
//			t.Store(z.At(i), a.Add(b), tl.Mask(n-i))
//		}
//	}
//
// In Triton the same kernel computes the offsets of a block with arange, compares
// them with n to get a mask, adds them to a pointer and loads. Here a [Ptr] knows
// its dtype and strides, so that At takes the index of the block's first element
// and Shape its extents, in as many axes as the tensor has; and a [Mask] is how
// many elements of the block exist, not which. What else is spelt differently:
//
//	program_id(0)               t.Rank(), or t.ProgramID(axis) for PE, cube, SIP
//	a + b, a * 2, 1 / a         a.Add(b), a.Mul(2), t.Div(1, a)
//	a & b, a | 1, a ^ b         a.And(b), a.Or(1), a.Xor(b)
//	dot(a, b, acc)              a.Dot(b, acc)
//	where(x > 0, x, 0)          t.Where(x.Gt(0), x, 0)
//	x.to(float32), trans(x)     x.To(tl.F32), x.Trans()
//	sum(x, axis=1)              x.Sum(1)
//	other=-inf                  tl.Other(math.Inf(-1))
//	cdiv(n, 64)                 tl.CDiv(n, 64)
//	device_print                t.Printf
//
// # Operations
//
//	place      ProgramID, NumPrograms (0 PE, 1 cube, 2 SIP), Rank, NumRanks
//	memory     Load, Store, Ref, Scratch; Mask, Other; Ptr.At, Add, As, Strided, Whole
//	make       Full, Zeros, Arange
//	compute    Dot, Softmax, Sum, Max, Min, To, Trans, Reshape, Broadcast
//	math       Add, Sub, Mul, Div, Maximum, Minimum, FMA, Clamp, Where,
//	           Lt, Le, Gt, Ge, Eq, Ne, And, Or, Xor (of bits, for integers),
//	           Neg, Abs, Exp, Log, Sqrt, Rsqrt, Sigmoid, Tanh
//	composite  Composite with Gemm, Stream or ReducePeers and an epilogue of Do; Wait
//	queues     Send, Recv, RecvAny, RecvAsync, RecvInto
//	windows    Put, Get, Notify, WaitSignal, Test, Barrier
//	either     Select of CanRecv, CanSend, CanSignal
//	tiles      Shape, Dim, DType, Pin, Free, Item, Values
//	debugging  Printf, Assert
//
// A [Tile] is an immutable value. Its methods make new tiles and chain:
// row.Sub(row.Max(0)).Exp(). Operands of type any are tiles or Go numbers. Where
// the first operand is a number and order matters, the PE has the operation:
// t.Sub(1, x), t.Div(1, x).
//
// # Shapes, dtypes, rounding
//
// Tiles have up to four axes. Elementwise operations broadcast: shapes are aligned
// at their last axes, and where one has extent 1, or no axis, it is repeated. An
// axis that is reduced disappears; [Tile.Reshape] brings it back where broadcasting
// needs it. Dtypes of tiles must be equal, To converts; a number takes the dtype of
// the tiles and, if that is an integer, must be one of its values. Comparisons give
// u8, 0 or 1.
//
// Every operation rounds its result to the dtype once, to nearest, ties to even.
// f16 and bf16 are computed in f32. Dot adds products to an f32 accumulator one by
// one in ascending k (f64 for f64, integers for integers), rounding each product
// before it is added, so that a loop over blocks of k gives the same bits as one
// Dot. Only FMA fuses. Sum adds in ascending order, f16 and bf16 in f32. Integers
// wrap. Package numeric has the rules in full.
//
// # Masks
//
// tl.Mask(n-i, m-j) says how many rows and columns of a block exist, counted from
// its start; zero or less is none, more than the block has is all. Elements that do
// not exist are never touched: they read as 0, or as [Other] says, and are not
// written.
//
// # Time
//
// Every operation costs the PE's CPU one dispatch. Loads, stores, sends and compute
// commands then run on their own: a tile is waited for where it is used, and
// compute commands of one PE begin in program order. So what overlaps is written by
// asking early: the loads of the next block before the arithmetic on this one.
//
// A [PE.Composite] runs a whole matrix product, a pass over large tensors, or a reduction
// over peers, from memory to memory in one command, with loads, arithmetic and stores
// overlapped; what it makes is there after [PE.Wait].
//
// # TCM
//
// A tile stays in TCM until room is needed, then the least recently used one goes.
// Using a tile that is gone is an error that says so: TCM is too small for what
// the kernel keeps. Pin keeps a tile whatever happens, Free ends one early.
//
// # Order between PEs
//
// Within a PE, accesses to the same memory keep program order. Between PEs only
// queues and signals order them, and the ends of launches: what a PE has stored
// before a Send is there for whoever has received it, what it has put before a
// [PE.Notify] for whoever has waited for that signal. A send carries what its tile,
// or the memory of its Ref, held when it was issued. Anything else is a race.
//
// # What is slow
//
// [Tile.Item] and [Tile.Values] give the kernel values to branch on. Values are
// otherwise computed later and in bulk; asking for one computes everything that it
// depends on first, and is an error under --data=off.
//
// # Errors
//
// Misuse panics with an [*Error], which the launch returns:
//
//	kernel matmul on sip0.cube0.pe3: Dot([32 64] f16, [32 64] f16) at
//	matmul.go:41: inner sizes 64 and 32 differ: the first operand's columns must
//	equal the second's rows
//
// # What is here
//
// [PE] checks what kernels ask for and hands it to a [Machine], which lives
// elsewhere: the simulated one in internal/cpu. Neither time nor values are
// computed here. The package imports simtime for Time, numeric for
// dtypes and operations, and oplog for shapes and kinds.
package tl
