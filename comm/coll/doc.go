// Package coll does collectives between the ranks of a communicator, on slices of the
// caller's:
//
//	g, err := coll.New(c, coll.Options{})
//	...
//	err = coll.AllReduce(g, x, x, coll.Sum)    // x is a []float32
//
// There are [AllReduce], [Reduce], [Broadcast], [AllGather], [ReduceScatter],
// [AllToAll], [Gather], [Scatter] and [Group.Barrier], of f16, bf16, f32, f64, i32 and
// i64, with sum, prod, min, max and avg, of any count and root. Every rank makes the
// same calls in the same order; a rank that does not is found out, by an error that
// names both ranks and what they disagree on. A rank that has nobody to wait for, such as
// the root of a small broadcast, gets it from its next call.
//
// # Order of sums
//
// Elements are combined in the order of ranks, ((x0+x1)+x2)+..., whatever the size,
// the algorithm or the backend, by the rules of package numeric: all ranks get
// the same bits, every time.
//
// # Buffers
//
// Others cannot read private memory: it is copied to a slot of the group's window,
// chunk by chunk. A buffer that lies in a window of the communicator, see [Slice], is
// read and written where it is.
//
// # What is here
//
// Algorithms bear the names of package ccl and are of another kind: memory that all
// can read needs no rings or trees. The package imports comm, which provides windows
// and signals, and numeric, which combines elements.
package coll
