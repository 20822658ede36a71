package ccl

import (
	"cmp"

	"github.com/kernbench/kernbench/topology"
)

// Queues is what the settings say about queues; the rest is zero.
func (s Settings) Queues() topology.IPCQ {
	return topology.IPCQ{
		BufferKind: s.BufferKind, Backpressure: s.Backpressure, NSlots: s.NSlots, SlotSize: s.SlotSize, CreditBytes: s.CreditBytes,
	}
}

// Chunk is the largest message where queues are so: at most what one holds, or ranks
// that send to each other could both wait for room.
func (s Settings) Chunk(q topology.IPCQ) topology.Bytes {
	return min(cmp.Or(s.ChunkBytes, q.SlotSize), topology.Bytes(q.NSlots)*q.SlotSize)
}

// Usual is the algorithm of a collective that is used where the one asked for does not
// do it.
func Usual(c Collective) string {
	switch c {
	case AllReduce, AllGather, ReduceScatter:
		return "ring"
	case AllToAll, SendRecv:
		return "direct"
	}
	return "tree"
}
