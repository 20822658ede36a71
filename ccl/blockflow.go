package ccl

import "github.com/kernbench/kernbench/tl"

// blockFlow is a flow whose messages are blocks of ranks: a reduce-scatter, an all-gather,
// or an all-reduce, which is a reduce-scatter followed by an all-gather. Its blockSteps
// determine which blocks are sent to which rank.
//
// In each step of a reduce-scatter, a rank combines the block that it receives with its own
// elements and with what it received before. After the last step, each rank has the result
// of its own block. An all-gather forwards blocks unchanged. A block that is needed again,
// and that is not forwarded at once, is held in TCM.
type blockFlow struct {
	*member
	blockSteps
	block   func(rank int) block // the flow's share of a rank's block
	recent  recentBlock          // the results of the last calls of block and message
	largest int                  // elements of a block
	cut
	reduces int                   // number of steps of the reduce-scatter, which come first
	last    int                   // first step of the last phase, in which no block is sent twice
	held    map[heldBlock]tl.Tile // blocks that are held in TCM
	// joined is set if there is little data. It joins all blocks of a step into one, given
	// the rank of the first of them, and returns the joined block and its number of
	// messages. From step joinedFrom on, such blocks are kept in the memory of the output
	// instead of TCM.
	joined     func(step, rank int) (all block, messages int)
	joinedFrom int
}

// blockSteps describes the steps of a rank. Each step sends blocks to one rank and receives
// the same number of blocks from one rank.
type blockSteps interface {
	steps() int
	ports(step int) (to, from tl.Port)
	blocks(step int) int           // number of blocks sent
	sentOwner(step, i int) int     // rank that block i of the blocks sent belongs to
	receivedOwner(step, i int) int // rank that block i of the blocks received belongs to
	needsAll(step int) bool        // see flow
	resends(step, i int) bool      // whether block i of the blocks received is sent in a later step
	phases(f *blockFlow) []Phase
}

// recentBlock is the block of a rank, and the part of it that a message carries. Successive
// messages are mostly of one block. A rank that receives, forwards and stores a message asks
// for its part three times.
type recentBlock struct {
	rank int
	block
	key  heldBlock // of part
	part block     // without elements if not known
}

// heldBlock identifies the elements of a message that are held between steps.
type heldBlock struct{ segment, rank, piece int }

func (f *blockFlow) channel(step int) int {
	to, _ := f.ports(step)
	return int(to)
}

func (f *blockFlow) messages(step int) int {
	if f.joined != nil {
		_, messages := f.joined(step, f.sentOwner(step, 0))
		return messages
	}
	return f.blocks(step) * f.pieces
}

// gathers reports whether a step belongs to the all-gather, not to the reduce-scatter.
func (f *blockFlow) gathers(step int) bool { return step >= f.reduces }

// index returns the index of the block that item `at` is part of. The blocks of each step
// are counted from 0.
func (f *blockFlow) index(at item) int {
	if f.joined != nil {
		return 0
	}
	return at.message / f.pieces
}

// message returns the part of the given rank's block that item `at` carries, and the key
// under which a tile with these elements may be held in TCM.
func (f *blockFlow) message(at item, rank int) (block, heldBlock) {
	if f.joined != nil {
		x, _ := f.joined(at.step, rank)
		return x.slice(chunk(x.n, at.message, f.Chunk)), heldBlock{}
	}
	key := heldBlock{at.segment, rank, at.message % f.pieces}
	r := &f.recent
	if r.part.n > 0 && r.key == key {
		return r.part, key
	}
	if r.n == 0 || r.rank != rank {
		r.rank, r.block = rank, f.block(rank)
	}
	r.key, r.part = key, r.slice(f.piece(r.n, at.segment, key.piece))
	return r.part, key
}

// receivedMessage returns the elements that this rank receives in item `at`, and the key
// under which a tile with these elements may be held in TCM.
func (f *blockFlow) receivedMessage(at item) (block, heldBlock) {
	return f.message(at, f.receivedOwner(at.step, f.index(at)))
}

// forwards reports whether the i-th block that a step sends is the i-th block that the
// previous step received.
func (f *blockFlow) forwards(step, i int) bool {
	return step > 0 && step < f.steps() && !f.needsAll(step) &&
		i < min(f.blocks(step-1), f.blocks(step)) && f.receivedOwner(step-1, i) == f.sentOwner(step, i)
}

// ownTile returns a tile with this rank's own values of the elements x, which the rank will
// combine with the values of other ranks. If TCM holds such a tile under `key`, ownTile
// returns it. Otherwise it loads the values from memory. The caller frees the tile.
func (f *blockFlow) ownTile(at item, x block, key heldBlock) tl.Tile {
	if tile, held := f.held[key]; held {
		delete(f.held, key)
		return tile
	}
	if f.joined != nil && at.step >= f.joinedFrom {
		return f.load(x.out, x.n)
	}
	return f.addend(x.in, x.n)
}

// hold pins a tile in TCM under a key, for a later step.
func (f *blockFlow) hold(key heldBlock, tile tl.Tile) {
	if f.held == nil {
		f.held = map[heldBlock]tl.Tile{}
	}
	f.held[key] = tile.Pin()
}

// receive receives the message of item `at`. In the reduce-scatter it returns the message
// combined with the rank's own value, and in the all-gather the message itself.
func (f *blockFlow) receive(at item) tl.Tile {
	x, key := f.receivedMessage(at)
	_, from := f.ports(at.step)
	switch {
	case x.n == 0:
		return tl.Tile{}
	case f.gathers(at.step):
		return f.Recv(from, x.n)
	}
	own := f.ownTile(at, x, key) // loaded while the message is in flight
	sum := f.combine(f.Recv(from, x.n), own)
	if at.step == f.reduces-1 {
		sum = f.result(sum)
	}
	return sum
}

// send sends the message of item `at`: the given tile if the step forwards the tile that
// was just received, or otherwise the rank's own value, from memory or from TCM.
func (f *blockFlow) send(at item, tile tl.Tile) {
	i := f.index(at)
	x, key := f.message(at, f.sentOwner(at.step, i))
	gathers, last := f.gathers(at.step), false
	switch {
	case x.n == 0:
		return
	case f.forwards(at.step, i):
	case !gathers:
		tile, last = f.ownTile(at, x, key), true
	case at.step == 0:
		tile = f.load(x.in, x.n)
		if last = f.last == 0; !last {
			f.hold(key, tile)
		}
	case f.joined != nil:
		tile, last = f.load(x.out, x.n), true
	default:
		tile = f.held[key]
		if last = at.step >= f.last; last {
			delete(f.held, key)
		}
	}
	to, _ := f.ports(at.step)
	f.Send(to, tile)
	if at.step == 0 && gathers {
		f.storeOwn(x, tile)
	}
	if last {
		tile.Free()
	}
}

// store stores the tile of a received message in the output if the tile is final, or if
// blocks are joined and the tile is not forwarded. If a later step needs the tile again,
// store keeps the tile in TCM and reports true.
func (f *blockFlow) store(at item, tile tl.Tile) (held bool) {
	x, key := f.receivedMessage(at)
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
