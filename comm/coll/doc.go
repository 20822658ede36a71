// Package coll runs collectives between the ranks of a communicator, on Go slices:
//
//	g, err := coll.New(c, coll.Options{})
//	...
//	err = coll.AllReduce(g, x, x, coll.Sum)    // x is a []float32
//
// There are [AllReduce], [Reduce], [Broadcast], [AllGather], [ReduceScatter],
// [AllToAll], [Gather], [Scatter] and [Group.Barrier], for f16, bf16, f32, f64, i32 and
// i64, with sum, prod, min, max and avg, and any count and root. Every rank makes the same
// calls in the same order. If ranks disagree, they get an error that names both ranks and
// what they disagree on. A rank that waits for no other rank in a call, such as the root of
// a small broadcast, gets the error from its next call.
//
// # Order of sums
//
// Elements are combined in the order of ranks, ((x0+x1)+x2)+..., by the rules of package
// numeric. So all ranks get the same bits in every run, for every size, algorithm and
// backend.
//
// # Buffers
//
// Other ranks cannot read private memory. It is staged: copied chunk by chunk to a slot of
// the group's window. A buffer in a window of the communicator, see [Slice], is read and
// written in place.
//
// # Algorithms
//
// Algorithms have the names of package ccl but work differently: memory that all ranks can
// read needs no rings or trees. The package imports comm, which provides windows and
// signals, and numeric, which combines elements.
package coll
