// Package ccl is the library of collectives: what a group of ranks does together,
// and the algorithms that do it.
//
// A [Collective] says what is wanted, such as an all-reduce. An [Algorithm] is a
// way to do one: which ranks have queues between them, and the kernel that every
// rank runs, in the tile language. A [Plan] is one call: so many ranks, elements of
// this dtype, this reduction. Algorithms know of ranks alone, from 0 to Plan.Ranks-1,
// and move contiguous blocks of elements: where these lie, and which PE a rank is, is
// the caller's affair (package torch). Adding an algorithm is one file and one
// registration.
//
// Kernels exchange messages over ports: queues, or inboxes where there are too few
// ports for that (transport.go). Those that trade blocks all round say what they do
// with a message, and leave to a schedule which message is next (schedule.go, trade.go);
// those over trees pass messages up and down (climb.go).
//
// Bounds and costs are closed forms of topologies and plans, in files that use
// nothing of the engine. A [Config] is what ccl.yaml says.
//
// The package imports tl, topology, internal/numeric and internal/config; its tests
// run kernels on internal/machine.
package ccl
