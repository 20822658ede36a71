// Package ccl is the library of collectives: the contract between those who call a collective and
// those who write algorithms, and the algorithms.
//
// A [Collective] says what is wanted, such as an all-reduce. An [Algorithm] does it: it names the
// ranks that have queues between them, has the kernel that every rank runs, in the tile
// language, and describes its messages as a [Schedule]. A [Plan] is one call: the number of ranks,
// the elements, dtype and reduction, and a [Layout], where the ranks lie. Algorithms know of ranks
// alone, from 0 to Plan.Ranks-1, and move contiguous blocks of elements. The caller (package
// torch) decides where these are in memory, and which PE a rank is. Adding an algorithm is one
// file and one registration. A [Config] is what ccl.yaml says.
//
// Each algorithm is in the file of its name: ring.go (also bidirectional_ring), mesh.go (also
// dual_mesh), torus.go, halvingdoubling.go, tree.go, chain.go, doubletree.go, direct.go,
// directonephase.go, centerroot.go. Both forms of all-to-all are in alltoall.go and direct.go,
// single messages in sendrecv.go.
//
// Kernels send messages over ports through a [Transport]: queues, or inboxes where a PE has too
// few ports. Underneath there are two kinds of kernels:
//
//   - Pipelines (pipeline.go) move blocks in a fixed order of receives and sends, the same for all
//     ranks: rings, grids and halving (blockflow.go, with the steps of bucket.go and
//     halvingdoubling.go), direct and all-to-all.
//   - Transfers (transfer.go, treekernel.go) move chunks up and down trees. Each goes on when it can.
//
// Package ccl/cost predicts times from schedules and picks the algorithm that takes least. Package
// ccl/bound computes a lower bound. Both import this package, which imports neither.
//
// The package imports tl and topology, internal/config for its file, and oplog for the rank of a
// pointer. Its tests run kernels on internal/machine.
package ccl
