// Package ipcq models the queues between PEs. A queue is a ring of slots in memory of the
// receiver. A credit permits the sender to write into one free slot.
//
// A Ring carries messages in one direction. A port of a PE has one ring for each direction.
// The package decides which slot a message uses and when a sender or a receiver waits. The
// DMA engines of the two PEs (internal/pe) move the bytes, in traffic class comm. A message
// that is larger than a slot is split into fragments, which pass through the ring in order.
//
//	Send:  credit -> DMA write into the slot -> visible to the receiver
//	Recv:  visible -> copy out of the slot -> credit on its way back
//
// A fragment becomes visible when all of its bytes are in the slot and the sender's earlier
// memory accesses have taken effect. Queues therefore order accesses to memory.
//
// A copy from a slot in the receiver's TCM to a tile stays within the TCM. Its duration is
// known when the copy starts, so the copy needs no event. Every other copy out of a slot is
// a DMA transfer. The return of a credit needs no event either, because a credit never
// waits for a link.
//
// The files in testdata show queues event by event.
//
// internal/cpu has the ports; internal/machine has the neighbour tables and allocates the
// slots. The package imports internal/sim, internal/pe, internal/fabric, internal/memory,
// numeric, oplog and topology.
package ipcq
