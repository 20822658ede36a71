package ccl

import (
	"cmp"
	"fmt"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// Queues returns the settings that concern queues. All other fields of the result are zero.
func (s Settings) Queues() topology.IPCQ {
	return topology.IPCQ{
		BufferKind: s.BufferKind, Backpressure: s.Backpressure, NSlots: s.NSlots, SlotSize: s.SlotSize, CreditBytes: s.CreditBytes,
	}
}

// Chunk returns the size of the largest message through queues q, unless an algorithm
// chooses a larger size (see [Plan.Fit]). It is at most the capacity of a queue; otherwise
// two ranks that send to each other could both wait for free slots.
func (s Settings) Chunk(q topology.IPCQ) topology.Bytes {
	return min(cmp.Or(s.ChunkBytes, q.SlotSize), topology.Bytes(q.NSlots)*q.SlotSize)
}

// Size sets the message size (Chunk) and the number of slots of plan p, for queues q.
func (s Settings) Size(p *Plan, q topology.IPCQ) {
	chunk := s.Chunk(q)
	p.Chunk = max(1, int(chunk)/p.DType.Size())
	p.Slots = max(1, q.NSlots/int((chunk+q.SlotSize-1)/q.SlotSize))
	p.Grows = s.ChunkBytes == 0
}

// Fit sets the number of tiles of the plan for algorithm a. `tcm` is the number of bytes of
// TCM that are free for tiles. Before that, it sets Chunk and Slots to the message size that
// the algorithm chooses, unless the user has given a size. The size depends only on the
// plan, so all ranks choose the same.
//
// Messages grow with the data: the algorithm says how many messages its data needs so that
// links and memory stay busy. A message takes at most a quarter of a queue, so that others
// are sent ahead, or half of a queue with many slots. It takes at most 1/64 of TCM. The size
// grows with the data in steps of one element, so that no size takes much longer than a
// larger size.
func (p *Plan) Fit(a *Algorithm, tcm topology.Bytes) {
	const manySlots, tiles = 64, 64
	size, share := p.DType.Size(), 4
	if p.Slots >= manySlots {
		share = 2
	}
	if p.Grows && a.Divide != nil {
		slot := p.Chunk
		elems, messages := a.Divide(p)
		most := min(slot*(p.Slots/share), int(tcm)/tiles/size)
		p.Chunk = max(slot, min(tl.CDiv(elems, max(1, messages)), most))
		p.Slots /= tl.CDiv(p.Chunk, slot)
		p.Grows = false
	}
	const least = 256 // the smallest size of a tile in TCM
	p.Tiles = max(1, int(tcm)/max(p.Chunk*size, least))
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
