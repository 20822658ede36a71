package ccl

import (
	"github.com/kernbench/kernbench/internal/oplog"
	"github.com/kernbench/kernbench/tl"
)

// Cost is how long a collective takes by an algorithm's formula, and whether it has one.
func Cost(a *Algorithm, p *Plan, n *Network) (t Time, ok bool) {
	if a.Cost == nil {
		return 0, false
	}
	if p.Ranks == 1 {
		return 0, true
	}
	n.inbox = a.Ports(p) > n.queues.MaxPorts
	if n.Beat != nil {
		n.Beat()
	}
	return a.Cost(p, n), true
}

// leg is steps of a strand that are alike: messages to one rank.
type leg struct {
	to       int // rank
	way      int // of the strand
	steps    int
	messages int // in each step
	elems    int // of each, at most
	combines bool
}

// legged is a strand that says what its steps are.
type legged interface{ legs() []leg }

// formula is what a rank does in a plan, without a PE to do it on.
func (p *Plan) formula(rank int) *member {
	nowhere := func(int) tl.Ptr { return tl.Ptr{DType: p.DType, Rank: 1, Stride: [oplog.MaxRank]int64{1}} }
	return &member{Args: &Args{Plan: p, Rank: rank, In: nowhere, Out: nowhere}}
}

// some is the ranks that stand for all: each, or some of very many.
func (n *Network) some(ranks int) func(func(int) bool) {
	const few = 64
	by := max(1, ranks/few)
	return func(yield func(int) bool) {
		for rank := 0; rank < ranks && yield(rank); rank += by {
		}
	}
}
