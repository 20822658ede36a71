package ccl

import (
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
	// Counts is how many elements a block has: one number for all blocks, one for the
	// block of each rank, or, of AllToAll, one for each pair: from*Ranks + to.
	Counts   []int
	Messages []Message // of SendRecv
	Layout   Layout    // where the ranks lie
	RootCube int       // of CenterRoot, counted from 1; 0 is the one in the middle
	Chunk    int       // elements of the largest message
	Slots    int       // messages of that size that a queue holds
	Tiles    int       // messages of that size that TCM has room for beside queues; 0 is plenty

	ring   []int // ranks in the order of a ring through all, once somebody wants to know
	places []int // of the ranks in it
}

// Message is elements that one rank has for another, or copies for itself.
type Message struct{ From, To, Count int }

// count is the elements of block i.
func (p *Plan) count(i int) int {
	if len(p.Counts) == 1 {
		return p.Counts[0]
	}
	return p.Counts[i]
}

// pair is the elements that rank `from` has for rank `to` in AllToAll.
func (p *Plan) pair(from, to int) int {
	if len(p.Counts) == 1 {
		return p.Counts[0]
	}
	return p.Counts[from*p.Ranks+to]
}

// total is the elements of the blocks of all ranks.
func (p *Plan) total() (n int) {
	for rank := range p.Ranks {
		n += p.count(rank)
	}
	return n
}

// tiles is how many messages may wait in TCM.
func (p *Plan) tiles() int {
	if p.Tiles == 0 {
		return 256
	}
	return p.Tiles
}

// Args is a plan as the kernel of one rank sees it.
//
// The blocks of In and Out are, by collective:
//
//	AllReduce, Reduce, Broadcast   In(0), Out(0)          the elements, Counts[0] of them
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
	// has ports, a window of the launch; a zero Ptr if it has not.
	Work tl.Ptr
}
