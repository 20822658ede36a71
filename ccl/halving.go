package ccl

import (
	"slices"

	"github.com/kernbench/kernbench/tl"
)

// HalvingDoubling needs the fewest steps of those that move no more than they must: as
// many as the ranks can be halved, and as many back.
var HalvingDoubling = builtin(&Algorithm{
	Name:        "halving_doubling",
	Tiles:       3,
	Summary:     "in pairs: half of what is left to reduce in each step, near ranks first, and twice as much in each step back",
	Collectives: []Collective{AllReduce, AllGather, ReduceScatter},
	Neighbors:   partnerNeighbors,
	Inbox:       halvingInbox,
	Schedule: func(p *Plan) Schedule {
		return newPipelineSchedule(p, func(rank int) *weave { return halved(p.withoutPE(rank)) })
	},
}, func(m *member) { halved(m).run() })

func partnerNeighbors(p *Plan, rank int) (list []Neighbor) {
	_, partners := halves(p.Ranks)
	for i, x := range partners {
		back := slices.Index(partners, x.back())
		list = append(list, Neighbor{Port: tl.Numbered(i), Rank: x.of(rank), PeerPort: tl.Numbered(back), Inbox: back})
	}
	return list
}

// halvingInbox is what comes from a partner: half of the ranks' blocks at most, and of an
// all-reduce as many in the all-gather.
func halvingInbox(p *Plan) int {
	if p.Collective == AllReduce {
		blocks := p.halvedBlocks()
		return 2 * min(blocks, p.Ranks/2) * tl.CDiv(p.Count(0), blocks)
	}
	return p.total()
}

// leastBlock is the elements of a block below which an all-reduce has fewer blocks than
// ranks: many small messages take longer than a few.
const leastBlock = 256

// halvedBlocks is how many blocks an all-reduce has. They are the first ranks'.
func (p *Plan) halvedBlocks() int { return max(1, min(p.Ranks, p.Count(0)/leastBlock)) }

// halving is a rank at work: a strand whose steps are halves. What has come and is not
// sent on at once waits in TCM.
//
// What becomes of a block is formed on the rank that it belongs to: in each step what came
// is combined with what the rank has, which is its own elements and what came before.
//
// Nobody waits forever, see weave: a way is a partner, and as many places behind a rank
// is the one that sends over the same way.
type halving struct {
	*member
	list     []half
	reduces  int   // steps of the reduce-scatter
	owner    []int // ranks, by block
	block    func(rank int) block
	segments int
	pieces   int  // of a segment of a block
	early    bool // a queue holds less than a round's messages
	held     map[holding]tl.Tile
}

// mostHalved is the most messages of the largest size that a rank has in TCM, of all
// segments that are under way, if there is room.
const mostHalved = 64

// halved is a collective by halves, cut into segments and messages.
func halved(m *member) *weave {
	h := newHalving(m)
	w := &weave{member: m, abreast: 1, spacing: 1}
	largest := h.largest()
	if largest == 0 {
		return w
	}
	// In a step half of a segment's blocks come, and all of them may wait in TCM, as may
	// as many that come early: of many ranks, messages are smaller.
	steps, room := len(h.list), max(1, min(mostHalved, m.tiles()/2))
	messages := tl.CDiv(largest, max(1, m.Chunk*room/max(room, 2*m.Ranks)))
	h.pieces = max(1, min(room/(m.Ranks*steps), m.Ahead()/(m.Ranks/2)))
	h.segments = tl.CDiv(messages, h.pieces)
	h.pieces = tl.CDiv(messages, h.segments)
	w.strands, w.segments = []strand{h}, h.segments
	if w.spacing = steps; h.segments > 1 {
		w.spacing = w.space(steps, max(m.Ahead(), h.messages(0), h.messages(steps-1)), tl.CDiv(steps*m.Ranks*h.pieces, room))
	}
	h.early = w.busiest(w.spacing, steps) > m.Slots
	if m.Collective == AllReduce {
		w.busy = m.halvedBlocks()
	}
	return w
}

func newHalving(m *member) *halving {
	h := &halving{member: m, block: m.blocks(), held: map[holding]tl.Tile{}}
	reduce, _ := halves(m.Ranks)
	if m.Collective != AllGather {
		h.list, h.reduces = reduce, len(reduce)
	}
	if m.Collective != ReduceScatter {
		for _, s := range slices.Backward(reduce) {
			h.list = append(h.list, half{gathers: true, low: s.low, high: s.high, to: s.from, from: s.to})
		}
	}
	if m.Collective == AllReduce {
		n := m.halvedBlocks()
		of := blocks(m.In(0), m.Out(0), m.Count(0), n)
		h.block = func(rank int) (none block) {
			if rank < n {
				return of(rank)
			}
			return none
		}
	}
	return h
}

// largest is the elements of the largest block.
func (h *halving) largest() int {
	n := h.Largest()
	if h.Collective == AllReduce {
		n = tl.CDiv(n, h.halvedBlocks())
	}
	return n
}

func (h *halving) phases() (list []Phase) {
	_, partners := halves(h.Ranks)
	blocks := h.Ranks
	if h.Collective == AllReduce {
		blocks = h.halvedBlocks()
	}
	again := map[bool]bool{} // in the odd dimension, of a half
	for i := range h.list {
		s := &h.list[i]
		x := partners[s.to-tl.Numbered(0)]
		to := x.of(h.Rank)
		if x.size > 2 && 2*blocks <= h.Ranks { // few blocks: each goes straight to its rank
			if again[s.gathers] {
				continue
			}
			again[s.gathers] = true
		}
		list = append(list, Phase{to, int(s.to), 1, tl.CDiv(s.count()*blocks, h.Ranks) * h.pieces, tl.CDiv(h.largest(), h.segments*h.pieces), !s.gathers})
	}
	return list
}

func (h *halving) steps() int            { return len(h.list) }
func (h *halving) messages(step int) int { return h.list[step].count() * h.pieces }
func (h *halving) way(step int) int      { return int(h.list[step].to) }

// turns is where a message cannot go on at once. In a reduce-scatter that is if some are
// taken early: what they are combined with has to have come in the step before. In an
// all-gather it is if the halves are not equal: what goes first has come last.
func (h *halving) turns(step int) bool {
	if step < h.reduces {
		return h.early
	}
	s := &h.list[step]
	return s.low != s.count()
}

// goesOn reports whether the i-th block of a step is what just came in the step before.
func (h *halving) goesOn(step, i int) bool {
	if step == 0 || step == len(h.list) || h.turns(step) {
		return false
	}
	before, s := &h.list[step-1], &h.list[step]
	return i < min(before.count(), s.count()) && before.received(i) == s.sent(i)
}

// message is an item's elements of a block.
func (h *halving) message(at item, number int) (block, holding) {
	if h.owner == nil {
		h.owner = owners(h.Ranks, h.Rank)
	}
	key := holding{at.segment, h.owner[number], at.message % h.pieces}
	x := h.block(key.rank)
	return x.slice(part(x.n, at.segment*h.pieces+key.piece, h.segments*h.pieces)), key
}

// own is what the rank has of a message that is to be reduced, and whether that is more
// than its own elements.
func (h *halving) own(x block, key holding) (tile tl.Tile, held bool) {
	if tile, held = h.held[key]; held {
		delete(h.held, key)
		return tile, true
	}
	return h.addend(x.in, x.n), false
}

func (h *halving) take(at item) tl.Tile {
	s := &h.list[at.step]
	x, key := h.message(at, s.received(at.message/h.pieces))
	switch {
	case x.n == 0:
		return tl.Tile{}
	case s.gathers:
		return h.Recv(s.from, x.n)
	}
	own, held := h.own(x, key) // on its way while the message is
	sum := h.Combine(h.Recv(s.from, x.n), own)
	if held {
		h.spend(own)
	}
	if at.step == h.reduces-1 {
		sum = h.Result(sum)
	}
	return sum
}

func (h *halving) pass(at item, tile tl.Tile) {
	s := &h.list[at.step]
	i := at.message / h.pieces
	x, key := h.message(at, s.sent(i))
	last := at.step == len(h.list)-1
	held := false
	switch {
	case x.n == 0:
		return
	case h.goesOn(at.step, i):
	case !s.gathers:
		tile, held = h.own(x, key)
	case at.step == 0:
		tile = h.load(x.in, x.n)
		if !last {
			h.held[key] = tile.Pin()
		}
	default:
		tile = h.held[key]
		if held = last; held {
			delete(h.held, key)
		}
	}
	h.Send(s.to, tile)
	if held {
		h.spend(tile)
	}
	if at.step == 0 && s.gathers {
		h.stay(x, tile)
	}
}

func (h *halving) keep(at item, tile tl.Tile) (held bool) {
	i := at.message / h.pieces
	number := h.list[at.step].received(i)
	x, key := h.message(at, number)
	if x.n == 0 {
		return false
	}
	complete := at.step >= h.reduces-1
	if complete {
		h.t.Store(x.out, tile)
	}
	last := len(h.list) - 1
	switch {
	case at.step == last:
		return false
	case complete && number >= h.list[last].count(): // nobody gets it from here
		return false
	case h.goesOn(at.step+1, i) && (!complete || at.step+1 == last):
		return false
	}
	h.held[key] = tile.Pin()
	return true
}
