// Package memory is where the simulated machine keeps bytes: the HBM slices
// and TCMs of its PEs and the SRAMs of its cubes.
//
// Four ideas live here, and each can be used without the others:
//
//   - An [Allocator] decides which addresses of one memory are in use.
//   - A [Space] gives every tensor one contiguous range of virtual addresses,
//     and translates an access to it into the [Segment]s of the memories that
//     hold its shards.
//   - A [Store] holds the bytes of one memory, for runs that compute values.
//   - A [Slice] says when the pseudo-channels of an HBM slice serve an access.
//
// All are lazy. A machine has up to 131,072 PEs, so what nobody uses must
// cost next to nothing: Allocator and Store are plain values, ready once their
// Memory and Size are set, and hold a few dozen bytes until first use. A run
// that only asks for times never writes a page.
//
// What happens on the way to a memory is not here: links, routers and the DMA's
// queues belong to other packages, and so does the order of accesses.
//
// Package memory imports simtime, oplog for the names of memories, and
// topology. Like the simulation that uses them, its types belong to one
// goroutine at a time; concurrent calls that only read (Translate, Read) are
// safe.
package memory
