package ccl

import (
	"slices"

	"github.com/kernbench/kernbench/tl"
)

// HalvingDoubling is recursive halving and doubling. Among the algorithms that send no more
// bytes than necessary, it has the fewest steps: log2 N for the reduce-scatter and log2 N
// for the all-gather.
var HalvingDoubling = builtin(&Algorithm{
	Name:        "halving_doubling",
	Tiles:       3,
	Summary:     "in pairs: half of the remaining data in each step, near ranks first, then twice as much in each step back",
	Collectives: []Collective{AllReduce, AllGather, ReduceScatter},
	Neighbors:   halvingNeighbors,
	Inbox:       halvingInbox,
	Divide: func(p *Plan) (elems, messages int) {
		_, elems = p.halvingBlocks()
		return elems, blockMessages * len(newHalving(p.Collective, p.Ranks, 0).list)
	},
	Schedule: func(p *Plan) Schedule {
		return newPipelineSchedule(p, func(rank int) *pipeline { return newHalvingPipeline(p.withoutPE(rank)) })
	},
}, func(m *member) { newHalvingPipeline(m).run() })

func halvingNeighbors(p *Plan, rank int) (list []Neighbor) {
	_, partners := halvingSteps(p.Ranks)
	for i, x := range partners {
		back := slices.Index(partners, x.inverse())
		list = append(list, Neighbor{Port: tl.Numbered(i), Rank: x.peer(rank), PeerPort: tl.Numbered(back), Inbox: back})
	}
	return list
}

// halvingInbox returns an upper bound on the number of elements that a rank receives from
// one partner. In an all-reduce, these are at most half of the blocks in the
// reduce-scatter, and the same number again in the all-gather. For other collectives the
// bound is the number of all elements.
func halvingInbox(p *Plan) int {
	if p.Collective == AllReduce {
		blocks, elems := p.halvingBlocks()
		return 2 * min(blocks, p.Ranks/2) * elems
	}
	return p.total()
}

// leastBlock is the minimum number of elements of a block. With fewer elements there are
// fewer blocks than ranks, because many small messages take longer than a few large ones.
const leastBlock = 256

// halvingBlocks returns the number of blocks that the data is divided into, and the number
// of elements of the largest. In an all-reduce with fewer blocks than ranks, the blocks
// belong to the first ranks, and the last block may be smaller.
func (p *Plan) halvingBlocks() (blocks, elems int) {
	if p.Collective != AllReduce {
		return p.Ranks, p.Largest()
	}
	elems = max(min(leastBlock, p.Count(0)), tl.CDiv(p.Count(0), p.Ranks))
	return max(1, tl.CDiv(p.Count(0), max(1, elems))), elems
}

// partner is a relation between ranks: the partner of a rank is `distance` places further
// along one dimension of a grid of ranks. The dimension has `size` places and wraps. The
// numbers of ranks at consecutive places differ by `stride`.
type partner struct{ size, stride, distance int }

// peer returns the rank that is the partner of the given rank.
func (x partner) peer(rank int) int {
	at := rank / x.stride % x.size
	return rank + ((at+x.distance)%x.size-at)*x.stride
}

// inverse returns the inverse relation, which leads from the partner back to the rank.
func (x partner) inverse() partner { return partner{x.size, x.stride, x.size - x.distance} }

// halvingStep is one step of a reduce-scatter, or the same step of an all-gather in the
// other direction. Blocks are numbered from the rank's own block, which is block 0. Before
// the step, the rank still has blocks 0 to high-1 to reduce. It sends blocks low to high-1
// to a partner, which numbers them from 0. It receives the same number of blocks, which
// become its blocks from 0 on.
//
// The last block is sent first. If both halves are equal, the blocks that are sent in a
// step are the blocks that arrived first in the previous step, in the same order.
type halvingStep struct {
	gathers   bool
	low, high int
	to, from  tl.Port
}

func (s *halvingStep) count() int { return s.high - s.low }

// block returns the number of the i-th block that the rank sends in the step. If `sends` is
// false, it returns the number of the i-th block that the rank receives.
func (s *halvingStep) block(i int, sends bool) int {
	if s.gathers == sends {
		return s.count() - 1 - i
	}
	return s.high - 1 - i
}

// halvingSteps returns the steps of a reduce-scatter, and all partners of a rank, in the
// order of ports.
//
// The ranks form a grid. The grid has a dimension of size two for each factor 2 of the
// number of ranks, and a last dimension of the remaining odd size. Each step halves the
// number s of places along a dimension whose blocks the rank still has to reduce. The half
// is rounded up, so h = ceil(s/2) places remain. The rank sends the blocks of the other s-h
// places to the rank that is h places further along the dimension. It receives the same
// number of blocks from the rank that is h places back. So every rank has a partner in
// every step, also if s is odd. For any number N of ranks there are ceil(log2 N) steps, in
// which a rank sends and receives N-1 blocks.
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
			distance := tl.CDiv(s, 2)
			to := partner{size, stride, distance}
			steps = append(steps, halvingStep{low: distance * rest, high: s * rest, to: port(to), from: port(to.inverse())})
		}
		stride *= size
	}
	return steps, partners
}

// halving is the list of steps of a rank in a collective.
type halving struct {
	rank     int
	list     []halvingStep
	reduce   []halvingStep // the steps of a reduce-scatter
	partners []partner
	early    bool // some messages are received early, because a round has more than a queue holds
}

// newHalving returns the steps of the given rank in collective c.
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

// partnerAt returns the partner that a port leads to.
func (h *halving) partnerAt(port tl.Port) partner { return h.partners[port-tl.Numbered(0)] }

// owner returns the rank that a block belongs to. Blocks are numbered from the rank's own
// block. In each step the blocks from `low` on move to the partner, which numbers them from
// 0.
func (h *halving) owner(number int) int {
	rank := h.rank
	for i := range h.reduce {
		if s := &h.reduce[i]; number >= s.low {
			rank = h.partnerAt(s.to).peer(rank)
			number -= s.low
		}
	}
	return rank
}

// maxHalvingTiles is the maximum number of messages of full size that a rank holds in TCM,
// over all segments in flight. It is less if TCM is smaller.
const maxHalvingTiles = 64

// newHalvingPipeline returns the pipeline of a rank. It has one flow, which is divided into
// segments and messages.
func newHalvingPipeline(m *member) *pipeline {
	h := newHalving(m.Collective, m.Ranks, m.Rank)
	f := &blockFlow{member: m, blockSteps: h, block: m.blocks()}
	l := &pipeline{member: m, interleaved: 1, spacing: 1}
	n, largest := m.halvingBlocks()
	f.largest = largest
	if m.Collective == AllReduce {
		l.busy = n
		all := block{m.In(0), m.Out(0), m.Count(0)}
		f.block = func(rank int) block { return all.slice(chunk(all.n, rank, largest)) }
	}
	if f.largest == 0 {
		return l
	}
	if m.Collective != AllGather {
		f.reduces = len(h.reduce)
	}
	// In a step, half of a segment's blocks arrive. All of them may wait in TCM, and the
	// same number again may arrive early. So messages are smaller if there are many ranks.
	steps, room := len(h.list), max(1, min(maxHalvingTiles, m.tiles()/2))
	f.cut = newCutInto(f.largest, max(1, m.Chunk*room/max(room, 2*m.Ranks)), max(1, min(room/(m.Ranks*steps), m.Ahead()/(m.Ranks/2))))
	f.last, l.flows, l.segments = steps-1, []flow{f}, f.segments
	if l.spacing = steps; f.segments > 1 {
		l.spacing = l.chooseSpacing(steps, max(m.Ahead(), f.messages(0), f.messages(steps-1)), tl.CDiv(steps*m.Ranks*f.pieces, room))
	}
	h.early = l.maxLoad(l.spacing, steps) > m.Slots
	return l
}

func (h *halving) steps() int                        { return len(h.list) }
func (h *halving) ports(step int) (to, from tl.Port) { return h.list[step].to, h.list[step].from }
func (h *halving) blocks(step int) int               { return h.list[step].count() }
func (h *halving) sentOwner(step, i int) int         { return h.owner(h.list[step].block(i, true)) }
func (h *halving) receivedOwner(step, i int) int     { return h.owner(h.list[step].block(i, false)) }

// needsAll reports whether a step must wait for all messages of the previous step, because
// they cannot be forwarded one by one. In a reduce-scatter this is so if some messages are
// received early: the blocks with which they are combined must have arrived in the previous
// step. In an all-gather it is so if the halves are not equal: the block that is sent first
// has arrived last.
func (h *halving) needsAll(step int) bool {
	s := &h.list[step]
	if !s.gathers {
		return h.early
	}
	return s.low != s.count()
}

// resends reports whether the i-th block that the rank receives in a step is sent again in
// a later step. Every block that is sent again is also sent in the last step.
func (h *halving) resends(step, i int) bool {
	return h.list[step].block(i, false) < h.list[len(h.list)-1].count()
}

// phases returns the steps of flow f as a schedule: one phase for each step. If there are
// few blocks, the steps along the odd dimension count as one phase.
func (h *halving) phases(f *blockFlow) (list []Phase) {
	blocks, _ := f.halvingBlocks()
	done := map[bool]bool{} // by gathers: the odd dimension has a phase already
	for i := range h.list {
		s := &h.list[i]
		x := h.partnerAt(s.to)
		if x.size > 2 && 2*blocks <= f.Ranks { // few blocks: each moves straight to its rank
			if done[s.gathers] {
				continue
			}
			done[s.gathers] = true
		}
		list = append(list, Phase{0, x.peer(h.rank), int(s.to), 1, tl.CDiv(s.count()*blocks, f.Ranks) * f.pieces, f.elems, f.mean(f.largest), !s.gathers})
	}
	return list
}
