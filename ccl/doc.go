// Package ccl is the library of collectives. It has the interface between callers of
// collectives and authors of algorithms, and the algorithms.
//
// A [Collective] is an operation of a group of ranks, such as an all-reduce. An [Algorithm]
// performs it. An algorithm lists the pairs of ranks that have queues between them, has a
// kernel in the tile language that every rank runs, and describes its messages as a
// [Schedule]. A [Plan] is one call: the number of ranks, the elements, dtype and reduction,
// and a [Layout] with the positions of the ranks. Algorithms see only ranks, from 0 to
// Plan.Ranks-1, and move contiguous blocks of elements. The caller (package torch) decides
// where the blocks are in memory, and which PE runs each rank. To add an algorithm, add one
// file and one registration. A [Config] is the contents of ccl.yaml.
//
// Each algorithm is in the file of its name: ring.go (also bidirectional_ring), mesh.go
// (also dual_mesh), torus.go, halvingdoubling.go, tree.go, chain.go, doubletree.go,
// direct.go, directonephase.go, centerroot.go. Both forms of all-to-all are in alltoall.go
// and direct.go, single messages in sendrecv.go.
//
// Kernels send messages over ports through a [Transport]: through queues, or to inboxes
// where a PE has too few ports. There are two kinds of kernels:
//
//   - Pipelines (pipeline.go) move blocks in a fixed order of receives and sends, the same
//     for all ranks: rings, grids and halving (blockflow.go, with the steps of bucket.go
//     and halvingdoubling.go), direct and all-to-all.
//   - Transfers (transfer.go, treekernel.go) move chunks up and down trees. Each transfer
//     continues as soon as it can.
//
// Package ccl/cost predicts times from schedules and picks the algorithm with the lowest
// cost. Package ccl/bound computes a lower bound. Both import this package, which imports
// neither.
//
// The package imports tl and topology, internal/config for its file, and oplog for the rank
// of a pointer. Its tests run kernels on internal/machine.
package ccl
