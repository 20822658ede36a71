package ccl

import (
	"cmp"
	"fmt"

	"github.com/kernbench/kernbench/tl"
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

// Size says how large the messages of a plan are, where queues are so.
func (s Settings) Size(p *Plan, q topology.IPCQ) {
	chunk := s.Chunk(q)
	p.Chunk = max(1, int(chunk)/p.DType.Size())
	p.Slots = max(1, q.NSlots/int((chunk+q.SlotSize-1)/q.SlotSize))
}

// Check reports what about the settings cannot be on a system.
func (s Settings) Check(spec *topology.Spec) error {
	if cubes := spec.CubesPerSIP(); s.RootCube > cubes {
		return fmt.Errorf("root_cube %d: the last cube of a SIP is %d", s.RootCube-1, cubes-1)
	}
	return nil
}

// Fit returns an error unless the algorithm of the settings fits on PEs, one for each rank,
// that have queues such as q: the least messages of one of its collectives have to. For auto
// one of all algorithms has to fit. The plans of later collectives may need more.
func (s Settings) Fit(g *topology.Graph, pes []int, q topology.IPCQ) error {
	n := &Network{g: g, pes: pes, queues: q, Lanes: 1}
	layout := NewLayout(g, pes)
	var unfit error
	for _, a := range algorithms {
		if a.Name != s.Algorithm && (s.Algorithm != Auto || a.Cost == nil) {
			continue // auto never picks what has no formula
		}
		for _, c := range a.Collectives {
			if c == SendRecv {
				continue // who has messages for whom is not known
			}
			p := &Plan{Collective: c, Ranks: len(pes), DType: tl.U8, Counts: []int{1}, Layout: layout, RootCube: s.RootCube}
			s.Size(p, q)
			err := n.Fits(a, p)
			if err == nil {
				return nil
			}
			if unfit == nil || a.Name == Usual(AllReduce) && c == AllReduce {
				unfit = err
			}
		}
	}
	if unfit != nil && s.Algorithm == Auto {
		return fmt.Errorf("auto finds no algorithm for %v that fits: %w", AllReduce, unfit)
	}
	return unfit
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
