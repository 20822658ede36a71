package ccl

import (
	"cmp"

	"github.com/kernbench/kernbench/tl"
)

// Plan is one call of a collective, the same for all its ranks.
type Plan struct {
	Collective Collective
	Ranks      int
	Root       int       // of rooted collectives
	Reduction  Reduction // of collectives that reduce
	Factor     float64   // of PremulSum
	Divisor    int       // of Avg; 0 stands for Ranks, which count addends of one rank too
	DType      tl.DType
	// Counts is how many elements blocks have: one number for all blocks, one for the block
	// of each rank, or, of AllToAll, one for each pair: from*Ranks + to. The caller of a
	// collective gives it in whichever form is shortest; algorithms ask Count.
	Counts   []int
	Messages []Message // of SendRecv
	Layout   Layout    // where the ranks lie
	RootCube int       // of CenterRoot, counted from 1; 0 is the one in the middle
	Chunk    int       // elements of the largest message
	Slots    int       // messages of that size that a queue holds
	Tiles    int       // messages of that size that TCM has room for in addition to queues; 0 is plenty

	ringOrder  []int // ranks in the order of a ring through all, once asked for
	ringPlaces []int // of the ranks in it
}

// Message is elements that one rank sends to another, or copies if both are the same.
type Message struct{ From, To, Count int }

// Count returns how many elements block i has: of AllReduce, Reduce and Broadcast block 0, of
// AllGather, Gather, ReduceScatter and Scatter the block of rank i, of SendRecv message i, and
// of AllToAll the block from rank i/Ranks to rank i%Ranks.
func (p *Plan) Count(i int) int {
	switch {
	case p.Collective == SendRecv:
		return p.Messages[i].Count
	case len(p.Counts) == 0:
		return 0
	case len(p.Counts) == 1:
		return p.Counts[0]
	}
	return p.Counts[i]
}

// Block returns where block i begins if all blocks lie one after the other, in elements, and
// how many elements it has.
func (p *Plan) Block(i int) (from, count int) {
	count = p.Count(i)
	if p.Collective != SendRecv && len(p.Counts) <= 1 {
		return i * count, count
	}
	for before := range i {
		from += p.Count(before)
	}
	return from, count
}

// Between returns how many elements rank from has for rank to in AllToAll.
func (p *Plan) Between(from, to int) int { return p.Count(from*p.Ranks + to) }

// total returns how many elements the blocks of all ranks have.
func (p *Plan) total() int {
	from, count := p.Block(p.Ranks - 1)
	return from + count
}

// Largest returns how many elements the largest block has.
func (p *Plan) Largest() (n int) {
	if p.Collective == SendRecv {
		for _, m := range p.Messages {
			n = max(n, m.Count)
		}
		return n
	}
	for _, count := range p.Counts {
		n = max(n, count)
	}
	return n
}

// tiles returns how many messages may wait in TCM.
func (p *Plan) tiles() int { return cmp.Or(p.Tiles, 256) }

// Args is a plan as the kernel of one rank sees it.
//
// The blocks of In and Out are, by collective:
//
//	AllReduce, Reduce, Broadcast   In(0), Out(0)          the elements, Count(0) of them
//	AllGather, Gather              In(0), Out(r)          one's own, and that of rank r
//	ReduceScatter, Scatter         In(r), Out(0)          that for rank r, and one's own
//	AllToAll                       In(r), Out(r)          that for rank r, and that from it
//	SendRecv                       In(i) of Messages[i].From, Out(i) of Messages[i].To
//
// Of rooted collectives only the root has what only the root uses. In and Out may be
// the same memory where both have one block: then every element is read before it is
// written.
type Args struct {
	*Plan
	Rank    int
	In, Out func(block int) tl.Ptr
	// First is the rank in the launch of this collective's rank 0: several that have
	// nothing to do with each other may run in one launch.
	First int
	// Work is memory for messages where the algorithm has more neighbours than a PE
	// has ports, a window of the launch, which Connect divides into inboxes; a zero Ptr if
	// it has not.
	Work tl.Ptr
}

// InCount returns how many elements In(block) has.
func (a *Args) InCount(block int) int {
	switch a.Collective {
	case AllGather, Gather:
		return a.Count(a.Rank)
	case AllToAll:
		return a.Between(a.Rank, block)
	}
	return a.Count(block)
}

// OutCount returns how many elements Out(block) has.
func (a *Args) OutCount(block int) int {
	switch a.Collective {
	case ReduceScatter, Scatter:
		return a.Count(a.Rank)
	case AllToAll:
		return a.Between(block, a.Rank)
	}
	return a.Count(block)
}
