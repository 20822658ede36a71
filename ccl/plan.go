package ccl

import (
	"cmp"

	"github.com/kernbench/kernbench/tl"
)

// Plan is one call of a collective. It is the same for all ranks.
type Plan struct {
	Collective Collective
	Ranks      int
	Root       int       // the root of rooted collectives
	Reduction  Reduction // the reduction of collectives that reduce
	Factor     float64   // the factor of PremulSum
	Divisor    int       // the divisor of Avg; 0 means Ranks (less than Ranks if each caller has several addends)
	DType      tl.DType
	// Counts is the number of elements of blocks: one number for all blocks, one for the
	// block of each rank, or, for AllToAll, one for each pair at index from*Ranks + to. The
	// caller chooses the shortest form. Algorithms call Count.
	Counts   []int
	Messages []Message // the messages of SendRecv
	Layout   Layout    // the positions of the ranks
	RootCube int       // the root cube of CenterRoot, counted from 1; 0 means the middle cube
	Chunk    int       // elements of the largest message
	Slots    int       // messages of Chunk elements that a queue holds
	Grows    bool      // Fit may choose a larger Chunk: a chunk is a slot, because the user gave no size
	Tiles    int       // messages of Chunk elements that fit in TCM in addition to queues; 0 means 256

	ringOrder  []int // all ranks in the order of the ring; computed on first use
	ringPlaces []int // the index of each rank in ringOrder
}

// Message is a message from one rank to another. A message from a rank to itself is copied.
type Message struct{ From, To, Count int }

// Count returns the number of elements of block i. For AllReduce, Reduce and Broadcast, i
// is 0. For AllGather, Gather, ReduceScatter and Scatter, i is the rank that the block
// belongs to. For SendRecv, i is the index of the message. For AllToAll, i is from*Ranks +
// to.
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

// Block returns the offset and the length of block i in elements, if all blocks are stored
// one after another.
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

// Between returns the number of elements that rank `from` sends to rank `to` in AllToAll.
func (p *Plan) Between(from, to int) int { return p.Count(from*p.Ranks + to) }

// total returns the total number of elements in the blocks of all ranks.
func (p *Plan) total() int {
	from, count := p.Block(p.Ranks - 1)
	return from + count
}

// Largest returns the number of elements of the largest block.
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

// tiles returns the maximum number of messages that may wait in TCM.
func (p *Plan) tiles() int { return cmp.Or(p.Tiles, 256) }

// Args is a plan together with the arguments of one rank.
//
// The blocks of In and Out are, by collective:
//
//	AllReduce, Reduce, Broadcast  In(0), Out(0)  all elements: Count(0)
//	AllGather, Gather             In(0), Out(r)  the rank's own block; the block of rank r
//	ReduceScatter, Scatter        In(r), Out(0)  the block for rank r; the rank's own block
//	AllToAll                      In(r), Out(r)  the block for rank r; the block from rank r
//	SendRecv                      In(i) of Messages[i].From, Out(i) of Messages[i].To
//
// In rooted collectives, only the root has the blocks that only the root uses. In and Out
// may be the same memory where both have one block: then every element is read before it is
// written.
type Args struct {
	*Plan
	Rank    int
	In, Out func(block int) tl.Ptr
	// First is the rank in the launch of rank 0 of this collective. It is not 0 if several
	// independent collectives run in one launch.
	First int
	// Work is memory for inboxes: a window of the launch, which Connect divides into
	// inboxes. It is a zero Ptr unless the algorithm has more neighbours than a PE has
	// ports.
	Work tl.Ptr
}

// InCount returns the number of elements of In(block).
func (a *Args) InCount(block int) int {
	switch a.Collective {
	case AllGather, Gather:
		return a.Count(a.Rank)
	case AllToAll:
		return a.Between(a.Rank, block)
	}
	return a.Count(block)
}

// OutCount returns the number of elements of Out(block).
func (a *Args) OutCount(block int) int {
	switch a.Collective {
	case ReduceScatter, Scatter:
		return a.Count(a.Rank)
	case AllToAll:
		return a.Between(block, a.Rank)
	}
	return a.Count(block)
}
