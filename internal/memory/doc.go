// Package memory models the memories of the simulated machine: the HBM slices and TCMs of
// its PEs and the SRAMs of its cubes.
//
// It has four independent parts:
//
//   - An [Allocator] records which addresses of one memory are in use.
//   - A [Space] gives every tensor one contiguous range of virtual addresses, and
//     translates an access to it into [Segment]s of the memories that hold its shards.
//   - A [Store] holds the bytes of one memory, for runs that compute values.
//   - A [Slice] computes when the pseudo-channels of an HBM slice serve an access.
//
// A machine has up to 131,072 PEs, so unused parts must cost almost nothing. Allocator and
// Store are plain values that need only their Memory and Size, and take a few dozen bytes
// until first use. A run without values never writes a page.
//
// Links, routers, DMA queues and the order of accesses are in other packages.
//
// Package memory imports simtime, oplog for the names of memories, and topology. Only one
// goroutine at a time may use a value of its types; concurrent calls that only read
// (Translate, Read) are safe.
package memory
