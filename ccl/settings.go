package ccl

import (
	"cmp"
	"fmt"

	"github.com/kernbench/kernbench/topology"
)

// Queues returns the settings that concern queues. All other fields of the result are zero.
func (s Settings) Queues() topology.IPCQ {
	return topology.IPCQ{
		BufferKind: s.BufferKind, Backpressure: s.Backpressure, NSlots: s.NSlots, SlotSize: s.SlotSize, CreditBytes: s.CreditBytes,
	}
}

// Chunk returns the size of the largest message through queues q. It is at most the
// capacity of a queue; otherwise two ranks that send to each other could both wait for free
// slots.
func (s Settings) Chunk(q topology.IPCQ) topology.Bytes {
	return min(cmp.Or(s.ChunkBytes, q.SlotSize), topology.Bytes(q.NSlots)*q.SlotSize)
}

// Size sets the message size (Chunk) and the number of slots of plan p, for queues q.
func (s Settings) Size(p *Plan, q topology.IPCQ) {
	chunk := s.Chunk(q)
	p.Chunk = max(1, int(chunk)/p.DType.Size())
	p.Slots = max(1, q.NSlots/int((chunk+q.SlotSize-1)/q.SlotSize))
}

// Check returns an error if the root cube of the settings does not exist in the system.
func (s Settings) Check(spec *topology.Spec) error {
	if cubes := spec.CubesPerSIP(); s.RootCube > cubes {
		return fmt.Errorf("root_cube %d: the last cube of a SIP is %d", s.RootCube-1, cubes-1)
	}
	return nil
}

// Usual returns the default algorithm of a collective, for use where the configured
// algorithm does not perform the collective.
func Usual(c Collective) string {
	switch c {
	case AllReduce, AllGather, ReduceScatter:
		return "ring"
	case AllToAll, SendRecv:
		return "direct"
	}
	return "tree"
}
