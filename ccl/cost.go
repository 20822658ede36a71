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

// woven is the cost of strands that are woven; of is those of a rank.
//
// Until the first segment is through, every step takes as long as a message does, and the
// others of the step come behind it. From then on a segment takes what is most: its
// steps one after the other, or the rounds until the next one begins; the messages of the
// busiest link; those for which a queue has room, once in the time until a credit is
// back; or what the rank has to do for them.
func (n *Network) woven(p *Plan, of func(rank int) *weave) Time {
	w := of(0)
	if len(w.strands) == 0 {
		return 0
	}
	// A block takes its turn over slow ways and fast ones, so that a step takes the mean of
	// all ranks; but where there are several strands a rank that waits for one of them
	// holds up the others, and it is nearer to the slowest.
	var first, credits, slowest Time
	sums, worst, ranks := make([][]Time, len(w.strands)), make([][]Time, len(w.strands)), Time(0)
	for rank := range n.some(p.Ranks) {
		ranks++
		burst, slots := map[int]Time{}, map[int]Time{} // by neighbour: what all strands send in a round, and how long slots are in use
		for i, s := range of(rank).strands {
			legs := s.(legged).legs()
			sums[i] = append(sums[i], make([]Time, len(legs)-len(sums[i]))...)
			worst[i] = append(worst[i], make([]Time, len(legs)-len(worst[i]))...)
			for k, l := range legs {
				bytes := int64(l.elems * p.DType.Size())
				step := n.Alpha(rank, l.to, bytes)
				slots[l.to] += Time(l.steps*l.messages) * n.trip(rank, l.to, bytes)
				credits = max(credits, slots[l.to])
				if l.combines {
					alone, _ := n.combining(l.elems, p.DType)
					step += alone
				}
				sums[i][k] += step
				worst[i][k] = max(worst[i][k], step)
				burst[l.to] += Time(l.messages) * n.own(bytes)
				slowest = max(slowest, burst[l.to]-n.own(bytes))
			}
		}
	}
	var longest Time
	for i, s := range w.strands {
		var through Time
		for k, l := range s.(legged).legs() {
			step := sums[i][k] / ranks
			if len(w.strands) > 1 {
				step = (step + worst[i][k]) / 2
			}
			through += Time(l.steps) * step
			longest = max(longest, step)
		}
		first = max(first, through)
	}
	slowest += longest
	link := n.Busiest(func(add func(from, to int, bytes int64)) {
		for rank := range p.Ranks {
			for _, s := range of(rank).strands {
				for _, l := range s.(legged).legs() {
					add(rank, l.to, int64(l.steps*l.messages)*int64(l.elems*p.DType.Size()))
				}
			}
		}
	})
	steps := w.strands[0].steps()
	var work, each Time // of a rank for a segment, and for a message
	follow, most, ways := 0, 0, map[int]int{}
	for _, s := range w.strands {
		behind := 0
		for _, l := range s.(legged).legs() {
			_, busy := n.combining(l.elems, p.DType)
			each = n.handling(int64(l.elems * p.DType.Size()))
			if l.combines {
				each = max(each, busy)
			}
			work += Time(l.steps*l.messages) * each
			behind += l.messages - 1
			ways[l.to] += l.steps * l.messages
			most = max(most, ways[l.to])
		}
		follow = max(follow, behind)
	}
	period := Time(w.spacing) * slowest
	if w.spacing == steps {
		period = first
	}
	if len(w.strands) > 1 {
		credits += credits / 4 // strands that wait for credits wait for each other
	}
	first += Time(follow) * max(link/Time(most), each) // messages of a step
	first += Time((len(w.strands)-1)*steps) * each     // and of other strands
	total := max(first, link+slowest) + Time(w.segments-1)*max(period, link, work)
	return max(total, (Time(w.segments)*credits-Time(p.Slots)*credits/Time(most))/Time(p.Slots))
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
