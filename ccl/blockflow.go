package ccl

import "github.com/kernbench/kernbench/tl"

// blockFlow is a flow whose messages are blocks of ranks: a reduce-scatter, an all-gather, or
// an all-reduce, which is one after the other. Its steps say which blocks go where.
//
// In each step of a reduce-scatter a rank combines a block that it receives with what it has of
// the block: its own elements, and what it received before. After the last step each rank has
// the result of its own block. An all-gather hands blocks on as they are. A block that is needed
// again, and not sent on at once, is held in TCM.
type blockFlow struct {
	*member
	blockSteps
	block    func(rank int) block // the flow's share of a rank's block
	largest  int                  // elements of a block
	segments int
	pieces   int // messages of a segment of a block
	reduces  int // steps of the reduce-scatter
	last     int // the first step of the last phase, from which on no block is sent twice
	held     map[heldBlock]tl.Tile
	// joined is set for little data. It returns all blocks of a step, of which one belongs to a
	// rank, as one, and how many messages that is. Such blocks are kept in the memory of the
	// output instead of TCM, from step joinedFrom on.
	joined     func(step, rank int) (all block, messages int)
	joinedFrom int
}

// blockSteps is the steps of a rank, each of which sends blocks to one rank and receives as many
// from another.
type blockSteps interface {
	steps() int
	ports(step int) (to, from tl.Port)
	blocks(step int) int      // that are sent
	sent(step, i int) int     // the rank to which block i of those sent belongs
	received(step, i int) int // the same for those received
	needsAll(step int) bool   // see flow
	resends(step, i int) bool // whether block i of those received is sent in a later step
	phases(f *blockFlow) []Phase
}

// heldBlock identifies elements that are held between steps.
type heldBlock struct{ segment, rank, piece int }

func (f *blockFlow) channel(step int) int {
	to, _ := f.ports(step)
	return int(to)
}

func (f *blockFlow) messages(step int) int {
	if f.joined != nil {
		_, messages := f.joined(step, f.sent(step, 0))
		return messages
	}
	return f.blocks(step) * f.pieces
}

// gathers reports whether a step belongs to the all-gather.
func (f *blockFlow) gathers(step int) bool { return step >= f.reduces }

// index returns which block of its step an item is a part of.
func (f *blockFlow) index(at item) int {
	if f.joined != nil {
		return 0
	}
	return at.message / f.pieces
}

// message returns an item's elements of a rank's block.
func (f *blockFlow) message(at item, rank int) (block, heldBlock) {
	if f.joined != nil {
		x, messages := f.joined(at.step, rank)
		return x.slice(part(x.n, at.message, messages)), heldBlock{}
	}
	key := heldBlock{at.segment, rank, at.message % f.pieces}
	x := f.block(rank)
	return x.slice(part(x.n, at.segment*f.pieces+key.piece, f.segments*f.pieces)), key
}

// incoming returns the elements that a rank receives as an item.
func (f *blockFlow) incoming(at item) (block, heldBlock) {
	return f.message(at, f.received(at.step, f.index(at)))
}

// forwards reports whether block i that a step sends is block i that the step before received.
func (f *blockFlow) forwards(step, i int) bool {
	return step > 0 && step < f.steps() && !f.needsAll(step) &&
		i < min(f.blocks(step-1), f.blocks(step)) && f.received(step-1, i) == f.sent(step, i)
}

// own returns what the rank has of elements that are to be reduced, and whether they were held.
func (f *blockFlow) own(at item, x block, key heldBlock) (tile tl.Tile, held bool) {
	if tile, held = f.held[key]; held {
		delete(f.held, key)
		return tile, true
	}
	if f.joined != nil && at.step >= f.joinedFrom {
		return f.load(x.out, x.n), false
	}
	return f.addend(x.in, x.n), false
}

// hold keeps a tile for a later step.
func (f *blockFlow) hold(key heldBlock, tile tl.Tile) {
	if f.held == nil {
		f.held = map[heldBlock]tl.Tile{}
	}
	f.held[key] = tile.Pin()
}

func (f *blockFlow) receive(at item) tl.Tile {
	x, key := f.incoming(at)
	_, from := f.ports(at.step)
	switch {
	case x.n == 0:
		return tl.Tile{}
	case f.gathers(at.step):
		return f.Recv(from, x.n)
	}
	own, held := f.own(at, x, key) // loaded while the message is in flight
	sum := f.Combine(f.Recv(from, x.n), own)
	if at.step == f.reduces-1 {
		sum = f.Result(sum)
	}
	if held {
		f.freeLater(own)
	}
	return sum
}

func (f *blockFlow) send(at item, tile tl.Tile) {
	i := f.index(at)
	x, key := f.message(at, f.sent(at.step, i))
	gathers, held := f.gathers(at.step), false
	switch {
	case x.n == 0:
		return
	case f.forwards(at.step, i):
	case !gathers:
		tile, held = f.own(at, x, key)
	case at.step == 0:
		tile = f.load(x.in, x.n)
		if f.last > 0 {
			f.hold(key, tile)
		}
	case f.joined != nil:
		tile = f.load(x.out, x.n)
	default:
		tile = f.held[key]
		if held = at.step >= f.last; held {
			delete(f.held, key)
		}
	}
	to, _ := f.ports(at.step)
	f.Send(to, tile)
	if held {
		f.freeLater(tile)
	}
	if at.step == 0 && gathers {
		f.storeOwn(x, tile)
	}
}

func (f *blockFlow) store(at item, tile tl.Tile) (held bool) {
	x, key := f.incoming(at)
	if x.n == 0 {
		return false
	}
	i, next := f.index(at), at.step+1
	complete, forwards := next >= f.reduces, f.forwards(next, i)
	if complete || f.joined != nil && !forwards {
		f.t.Store(x.out, tile)
	}
	if next == f.steps() || f.joined != nil || complete && !f.resends(at.step, i) || forwards && (!complete || next >= f.last) {
		return false
	}
	f.hold(key, tile)
	return true
}
