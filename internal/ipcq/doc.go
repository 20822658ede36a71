// Package ipcq is the queues between PEs: rings of slots in the memory of the
// receiver, with credits by which a sender knows of free ones.
//
// A Ring carries messages one way; a port of a PE is a ring out and a ring in. The
// package is control: which slot, whose turn, who waits. The bytes are moved by the
// DMA engines of the two PEs (internal/pe), in class comm. A message larger than a
// slot is cut into fragments that follow each other through the ring.
//
//	Send:  credit -> DMA write into the slot -> visible to the receiver
//	Recv:  visible -> copy out of the slot -> credit on its way back
//
// A fragment is visible when all of its bytes are there and everything that the
// sender did before is done as far as others can tell: so queues give order to
// memory. The copy is a DMA read, but within a TCM, where its time is known when it
// begins. So is that of a credit, which queues for nothing: neither takes an event.
//
// The files of testdata show queues at work, event by event.
//
// Ports are in internal/cpu, neighbour tables and memory for the slots in internal/machine. The
// package imports internal/sim, internal/pe, internal/fabric, internal/memory,
// numeric, oplog and topology.
package ipcq
