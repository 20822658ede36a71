// Package tl is the tile language, in which kernels are written.
//
// A kernel is a Go function that runs on every PE of a launch. Its first argument
// is the PE. The other arguments are pointers to tensors and plain values:
//
//	// add computes z = x + y for vectors of n elements. Each vector is stored on one
//	// PE, or on PEs that do not run the kernel. The PEs take blocks in turn; the last
//	// block may be partial.
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
// the offsets with n to get a mask, adds them to a pointer and loads. Here a [Ptr]
// has a dtype and strides. At takes the index of the block's first element, and Shape
// the extents of the block, both with as many axes as the tensor. A [Mask] is the
// number of elements of the block that exist, not a list of them. Other differences:
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
//	create     Full, Zeros, Arange
//	compute    Dot, Softmax, Sum, Max, Min, To, Trans, Reshape, Broadcast
//	math       Add, Sub, Mul, Div, Maximum, Minimum, FMA, Clamp, Where,
//	           Lt, Le, Gt, Ge, Eq, Ne, And, Or, Xor (bitwise, integers only),
//	           Neg, Abs, Exp, Log, Sqrt, Rsqrt, Sigmoid, Tanh
//	composite  Composite with Gemm, Stream or ReducePeers and an epilogue of Do; Wait
//	queues     Send, Recv, RecvAny, RecvAsync, RecvInto
//	windows    Put, Get, Notify, WaitSignal, Test, Barrier
//	selection  Select of CanRecv, CanSend, CanSignal
//	tiles      Shape, Dim, DType, Pin, Free, Item, Values
//	debugging  Printf, Assert
//
// A [Tile] is an immutable value. Its methods return new tiles and can be chained:
// row.Sub(row.Max(0)).Exp(). Operands of type any are tiles or Go numbers. If the
// first operand is a number and the order matters, use the method of the PE:
// t.Sub(1, x), t.Div(1, x).
//
// # Shapes, dtypes, rounding
//
// Tiles have up to four axes. Elementwise operations broadcast: shapes are aligned at
// their last axes, and a tile is repeated along missing axes and along axes of extent
// 1. A reduction removes its axis; [Tile.Reshape] restores the axis where broadcasting
// needs it. The dtypes of tiles must be equal; To converts. A number takes the dtype
// of the tiles. If that is an integer type, the number must be one of its values.
// Comparisons return tiles of u8 whose elements are 0 or 1.
//
// Every operation rounds its result to the dtype once, to nearest, ties to even.
// f16 and bf16 are computed in f32. Dot adds products to an f32 accumulator one by
// one in ascending k (f64 for f64, integers for integers). It rounds each product
// before adding it, so a loop over blocks of k computes the same bits as one Dot.
// Only FMA fuses a product and a sum. Sum adds in ascending order, f16 and bf16 in
// f32. Integers wrap. Package numeric documents all rules.
//
// # Masks
//
// tl.Mask(n-i, m-j) is the number of rows and columns of a block that exist, counted
// from the start of the block. Zero or less means none; more than the block has means
// all. Memory of elements that do not exist is never accessed: loads return 0 or the
// value of [Other] for them, and stores skip them.
//
// # Time
//
// Every operation costs the PE's CPU one dispatch. Loads, stores, sends and compute
// commands then run asynchronously. The first use of a tile waits for it, and the
// compute commands of one PE begin in program order. To overlap loads with
// arithmetic, issue the loads of the next block before the arithmetic on the current
// block.
//
// A [PE.Composite] runs a whole matrix product, a pass over large tensors, or a reduction
// over peers in one command, from memory to memory. Its loads, arithmetic and stores
// overlap. Its result is in memory after [PE.Wait].
//
// # TCM
//
// A tile stays in TCM until space is needed for another; then the least recently used
// tile is evicted. Using an evicted tile is an error: TCM is too small for the tiles
// that the kernel keeps. Pin prevents the eviction of a tile. Free gives up a tile
// early.
//
// # Order between PEs
//
// Within a PE, accesses to the same memory keep program order. Between PEs, only
// queues, signals and the ends of launches order accesses. What a PE stored before a
// Send is visible to the PE that has received the message. What it put before a
// [PE.Notify] is visible to the PE that has waited for the signal. A message contains
// what the tile, or the memory of the Ref, held when the send was issued. Unordered
// accesses of different PEs to the same memory are a race if one of them is a write.
//
// # Slow operations
//
// [Tile.Item] and [Tile.Values] return values that the kernel can branch on.
// Otherwise values are computed later and in bulk. Item and Values first compute
// everything that the value depends on. They are an error under --data=off.
//
// # Errors
//
// Misuse panics with an [*Error], which the launch returns:
//
//	kernel matmul on sip0.cube0.pe3: Dot([32 64] f16, [32 64] f16) at
//	matmul.go:41: inner sizes 64 and 32 differ: the first operand's columns must
//	equal the second's rows
//
// # Implementation
//
// [PE] checks each operation and passes it to a [Machine], such as the simulated one
// in internal/cpu. This package computes neither times nor values. It imports simtime
// for Time, numeric for dtypes and operations, and oplog for shapes and kinds.
package tl
