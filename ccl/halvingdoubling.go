package ccl

import (
	"slices"

	"github.com/kernbench/kernbench/tl"
)

// HalvingDoubling is recursive halving and doubling. It needs the fewest steps of the algorithms
// that move no more than they must: log2 N of the reduce-scatter, and as many of the all-gather.
var HalvingDoubling = builtin(&Algorithm{
	Name:        "halving_doubling",
	Tiles:       3,
	Summary:     "in pairs: half of what is left to reduce in each step, near ranks first, and twice as much in each step back",
	Collectives: []Collective{AllReduce, AllGather, ReduceScatter},
	Neighbors:   halvingNeighbors,
	Inbox:       halvingInbox,
	Schedule: func(p *Plan) Schedule {
		return newPipelineSchedule(p, func(rank int) *pipeline { return newHalvingPipeline(p.withoutPE(rank)) })
	},
}, func(m *member) { newHalvingPipeline(m).run() })

func halvingNeighbors(p *Plan, rank int) (list []Neighbor) {
	_, partners := halvingSteps(p.Ranks)
	for i, x := range partners {
		back := slices.Index(partners, x.back())
		list = append(list, Neighbor{Port: tl.Numbered(i), Rank: x.of(rank), PeerPort: tl.Numbered(back), Inbox: back})
	}
	return list
}

// halvingInbox returns the elements that come from a partner: half of the ranks' blocks at most,
// and of an all-reduce as many in the all-gather.
func halvingInbox(p *Plan) int {
	if p.Collective == AllReduce {
		blocks := p.halvingBlocks()
		return 2 * min(blocks, p.Ranks/2) * tl.CDiv(p.Count(0), blocks)
	}
	return p.total()
}

// leastBlock is the elements of a block below which there are fewer blocks than ranks: many small
// messages take longer than a few.
const leastBlock = 256

// halvingBlocks returns the number of blocks. Those of an all-reduce belong to the first ranks.
func (p *Plan) halvingBlocks() int {
	if p.Collective != AllReduce {
		return p.Ranks
	}
	return max(1, min(p.Ranks, p.Count(0)/leastBlock))
}

// partner is the rank a number of places on, round a dimension of a grid of ranks.
type partner struct{ size, stride, by int }

// of returns the partner of a rank.
func (x partner) of(rank int) int {
	at := rank / x.stride % x.size
	return rank + ((at+x.by)%x.size-at)*x.stride
}

// back returns the rank as its partner sees it.
func (x partner) back() partner { return partner{x.size, x.stride, x.size - x.by} }

// halvingStep is a step of a reduce-scatter, or the same step of an all-gather, in the other
// direction. Blocks are counted from a rank's own, 0. The rank still has `high` of them to
// reduce. It sends those from `low` on to a partner, for which they begin at 0, and receives
// as many for its own first ones.
//
// The last block goes first. If the halves are equal, the blocks that are sent in a step are
// then those that came first in the step before, in the same order.
type halvingStep struct {
	gathers   bool
	low, high int
	to, from  tl.Port
}

func (s *halvingStep) count() int { return s.high - s.low }

// block returns the number of the i-th block that a rank sends, or receives.
func (s *halvingStep) block(i int, sends bool) int {
	if s.gathers == sends {
		return s.count() - 1 - i
	}
	return s.high - 1 - i
}

// halvingSteps returns the steps of a reduce-scatter, and all partners of a rank, by port.
//
// The ranks are a grid. As long as their number is even it has a dimension of two, and the last
// dimension is the odd number that is left. In that too each step halves what is left of s blocks,
// to s/2 rounded up, which is how far on the partner is: the rank behind sends as much. So no
// rank is left over, and there are ceil(log2 N) steps, in which a rank sends and receives N-1
// blocks, of any number of ranks.
func halvingSteps(ranks int) (steps []halvingStep, partners []partner) {
	port := func(x partner) tl.Port {
		i := slices.Index(partners, x)
		if i < 0 {
			i = len(partners)
			partners = append(partners, x)
		}
		return tl.Numbered(i)
	}
	stride := 1
	for rest := ranks; rest > 1; {
		size := rest
		if rest%2 == 0 {
			size = 2
		}
		rest /= size
		for s := size; s > 1; s = tl.CDiv(s, 2) {
			by := tl.CDiv(s, 2)
			to := partner{size, stride, by}
			steps = append(steps, halvingStep{low: by * rest, high: s * rest, to: port(to), from: port(to.back())})
		}
		stride *= size
	}
	return steps, partners
}

// halving is the steps of a rank.
type halving struct {
	rank     int
	list     []halvingStep
	reduce   []halvingStep // those of a reduce-scatter
	partners []partner
	early    bool // a queue holds less than a round's messages
}

// newHalving returns a rank's steps of a collective.
func newHalving(c Collective, ranks, rank int) *halving {
	h := &halving{rank: rank}
	h.reduce, h.partners = halvingSteps(ranks)
	if c != AllGather {
		h.list = slices.Clone(h.reduce)
	}
	for _, s := range slices.Backward(h.reduce) {
		if c != ReduceScatter {
			h.list = append(h.list, halvingStep{gathers: true, low: s.low, high: s.high, to: s.from, from: s.to})
		}
	}
	return h
}

// to returns the partner of a rank at a port.
func (h *halving) to(port tl.Port) partner { return h.partners[port-tl.Numbered(0)] }

// owner returns the rank that a block belongs to, counted from the rank's own. In a step the
// blocks from `low` on go to the partner, for which they begin at 0.
func (h *halving) owner(number int) int {
	rank := h.rank
	for i := range h.reduce {
		if s := &h.reduce[i]; number >= s.low {
			rank = h.to(s.to).of(rank)
			number -= s.low
		}
	}
	return rank
}

// maxHalvingTiles is the most messages of the largest size that a rank has in TCM, of all segments
// in flight, if there is room.
const maxHalvingTiles = 64

// newHalvingPipeline returns the flow of a rank, cut into segments and messages.
func newHalvingPipeline(m *member) *pipeline {
	h := newHalving(m.Collective, m.Ranks, m.Rank)
	f := &blockFlow{member: m, blockSteps: h, block: m.blocks(), largest: m.Largest()}
	l := &pipeline{member: m, abreast: 1, spacing: 1}
	n := m.halvingBlocks()
	if m.Collective == AllReduce {
		l.busy, f.largest = n, tl.CDiv(f.largest, n)
		of := blocks(m.In(0), m.Out(0), m.Count(0), n)
		f.block = func(rank int) (none block) {
			if rank < n {
				return of(rank)
			}
			return none
		}
	}
	if f.largest == 0 {
		return l
	}
	if m.Collective != AllGather {
		f.reduces = len(h.reduce)
	}
	// In a step half of a segment's blocks come, and all of them may wait in TCM, as may as many
	// that come early: of many ranks, messages are smaller.
	steps, room := len(h.list), max(1, min(maxHalvingTiles, m.tiles()/2))
	messages := tl.CDiv(f.largest, max(1, m.Chunk*room/max(room, 2*m.Ranks)))
	f.pieces = max(1, min(room/(m.Ranks*steps), m.Ahead()/(m.Ranks/2)))
	f.segments = tl.CDiv(messages, f.pieces)
	f.pieces = tl.CDiv(messages, f.segments)
	f.last, l.flows, l.segments = steps-1, []flow{f}, f.segments
	if l.spacing = steps; f.segments > 1 {
		l.spacing = l.space(steps, max(m.Ahead(), f.messages(0), f.messages(steps-1)), tl.CDiv(steps*m.Ranks*f.pieces, room))
	}
	h.early = l.busiest(l.spacing, steps) > m.Slots
	return l
}

func (h *halving) steps() int                        { return len(h.list) }
func (h *halving) ports(step int) (to, from tl.Port) { return h.list[step].to, h.list[step].from }
func (h *halving) blocks(step int) int               { return h.list[step].count() }
func (h *halving) sent(step, i int) int              { return h.owner(h.list[step].block(i, true)) }
func (h *halving) received(step, i int) int          { return h.owner(h.list[step].block(i, false)) }

// needsAll reports where a message cannot be sent on at once. In a reduce-scatter that is if some
// messages are received early: what they are combined with has to have come in the step
// before. In an all-gather it is if the halves are not equal: what goes first has come last.
func (h *halving) needsAll(step int) bool {
	s := &h.list[step]
	if !s.gathers {
		return h.early
	}
	return s.low != s.count()
}

func (h *halving) resends(step, i int) bool {
	return h.list[step].block(i, false) < h.list[len(h.list)-1].count()
}

func (h *halving) phases(f *blockFlow) (list []Phase) {
	blocks := f.halvingBlocks()
	again := map[bool]bool{} // in the odd dimension, of a half
	for i := range h.list {
		s := &h.list[i]
		x := h.to(s.to)
		if x.size > 2 && 2*blocks <= f.Ranks { // few blocks: each goes straight to its rank
			if again[s.gathers] {
				continue
			}
			again[s.gathers] = true
		}
		list = append(list, Phase{0, x.of(h.rank), int(s.to), 1, tl.CDiv(s.count()*blocks, f.Ranks) * f.pieces, tl.CDiv(f.largest, f.segments*f.pieces), !s.gathers})
	}
	return list
}
