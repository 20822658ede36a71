// Package ccl is the library of collectives: what a group of ranks does together,
// and the algorithms that do it.
//
// A [Collective] says what is wanted, such as an all-reduce. An [Algorithm] is a
// way to do one: which ranks have queues between them, the kernel that every rank
// runs, in the tile language, and a description of its messages. A [Plan] is one call:
// so many ranks, elements of this dtype, this reduction, and a [Layout], where the ranks
// lie. Algorithms know of ranks alone, from 0 to Plan.Ranks-1, and move contiguous blocks
// of elements: where these are in memory, and which PE a rank is, is the caller's affair
// (package torch). Adding an algorithm is one file and one registration.
//
// Kernels exchange messages over ports: queues, or inboxes where there are too few
// ports for that. A [Transport] is either, for kernels of authors too. Those that trade blocks, round rings, in pairs or with
// everyone, are strands: what happens to a message, while a weave says which is next, in
// one order for all ranks (weave.go, bucket.go, halving.go, direct.go). Those over trees
// are streams up and down, each of which goes on when it can (stream.go, treeallreduce.go).
//
// What a kernel sends is described by a [Schedule], for package ccl/cost, which predicts times
// and picks the algorithm that takes least. A lower bound on the time is in package ccl/bound.
// Neither is imported here. A [Config] is what ccl.yaml says.
//
// The package imports tl and topology, internal/config for its file, and oplog for the rank of
// a pointer; its tests run kernels on internal/machine.
package ccl
