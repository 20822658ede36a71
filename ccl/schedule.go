package ccl

import (
	"iter"

	"github.com/kernbench/kernbench/tl"
)

// part is the elements of part i of n that are cut into so many parts, as equal as
// they can be.
func part(n, i, parts int) (from, count int) {
	from = i * n / parts
	return from, (i+1)*n/parts - from
}

// messages cuts n elements into messages: where each begins, and its length.
func (p *Plan) messages(n int) iter.Seq2[int, int] {
	return func(yield func(from, count int) bool) {
		parts := tl.CDiv(n, p.Chunk)
		for i := range parts {
			if !yield(part(n, i, parts)) {
				return
			}
		}
	}
}

// cut is how all blocks of a collective are cut into messages: each one into the same
// number of segments, and these into the same number of pieces.
type cut struct{ segments, pieces int }

// newCut finds the fewest segments that have no more pieces than may be sent ahead.
func newCut(p *Plan, largest int) cut {
	messages := tl.CDiv(largest, p.Chunk)
	if messages == 0 {
		return cut{}
	}
	segments := tl.CDiv(messages, p.ahead())
	return cut{segments, tl.CDiv(messages, segments)}
}

// ahead is how many messages a rank sends ahead of those that it receives. A queue may
// hold more: with w of Slots sent ahead, a hop takes w messages in the time of a message,
// and Slots-w+1 in that of a credit on its way back, because whoever waits for a credit
// returns none. A message takes longer, say twice as long.
func (p *Plan) ahead() int { return max(1, 2*(p.Slots+1)/3) }

// piece is the elements of one piece of a block of n.
func (c cut) piece(n, segment, piece int) (from, count int) {
	return part(n, segment*c.pieces+piece, c.segments*c.pieces)
}

// item is a place in a schedule.
type item struct{ segment, step, piece int }

// schedule is a sequence of items: all pieces of a step, step by step, segment by
// segment. Each is a message to a neighbour, or one to several of them, or empty.
type schedule struct{ segments, steps, pieces int }

// exchange is what a rank does with the items of a schedule.
type exchange interface {
	// take receives an item, if it is not empty, and combines it with what the rank has.
	take(item) tl.Tile
	// pass sends an item: in the first step what the rank has, in the others the tile
	// that it took as the same piece of the step before.
	pass(item, tl.Tile)
	// keep stores what was taken, if it is wanted here. That comes last, because a
	// message is not seen before the stores in front of it have ended.
	keep(item, tl.Tile)
}

// run walks through a schedule, sending as many items ahead of what is received as a
// step has pieces. So what is to be sent is always what has just been received: it
// need not be stored, and steps and segments follow each other without a pause.
//
// Nobody waits forever if a queue holds that many messages. Whoever waits for room to
// send item i, or for item i, waits for somebody who has not received item i - pieces,
// or not sent item i. That one is at an earlier place in the sequence of receives and
// sends, which is the same for everyone, and whoever is furthest back waits for
// nobody.
func (s schedule) run(x exchange) {
	items := s.segments * s.steps * s.pieces
	for i := range items + s.pieces {
		var tile tl.Tile
		if i >= s.pieces {
			tile = x.take(s.item(i - s.pieces))
		}
		if i < items {
			x.pass(s.item(i), tile)
		}
		if i >= s.pieces {
			x.keep(s.item(i-s.pieces), tile)
		}
	}
}

func (s schedule) item(i int) item {
	step := i / s.pieces
	return item{step / s.steps, step % s.steps, i % s.pieces}
}
