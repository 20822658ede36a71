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
	received, sent stepBlock // the blocks of the messages that were received and sent last
	*member
	blockSteps
	block   func(rank int) block // the flow's share of a rank's block
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

// stepBlock is a block that a step of a segment receives or sends, with everything that its
// messages have in common. Successive messages are mostly of one block.
type stepBlock struct {
	// What every message uses, in one cache line.
	segment, step int
	first, end    int // indices of its messages in the step; end is 0 if the block is not known
	shift         int // what an index in the step must be increased by for an index in the block
	n             int // elements of the block
	elems         int // elements of a message
	port          tl.Port
	gathers       bool // the step belongs to the all-gather, not to the reduce-scatter
	forwards      bool // received: the next step forwards the block; sent: the previous step received it
	stores, holds bool // received: its tiles are stored in the output, or held in TCM for a later step

	rank    int // rank that the block belongs to
	in, out movingPtr
	_       uint64 // makes the size a multiple of a cache line
}

// movingPtr is a pointer that moves within a block.
type movingPtr struct {
	tl.Ptr
	start  int64 // address of the first element of the block
	stride int64 // bytes between neighbouring elements
}

func newMovingPtr(p tl.Ptr) movingPtr { return movingPtr{p, p.Addr, p.Add(1).Addr - p.Addr} }

// at returns the pointer to element i of the block.
func (p *movingPtr) at(i int) tl.Ptr {
	p.Addr = p.start + int64(i)*p.stride
	return p.Ptr
}

// has reports whether item `at` is a message of the block.
func (b *stepBlock) has(at item) bool {
	return b.step == at.step && b.segment == at.segment && b.first <= at.message && at.message < b.end
}

// part returns the offset and the length of a message of the block, by its index in the
// step.
func (b *stepBlock) part(message int) (from, n int) {
	return chunk(b.n, message+b.shift, b.elems)
}

// key returns the key under which a tile with the elements of a message may be held in TCM.
func (b *stepBlock) key(message int) heldBlock {
	return heldBlock{b.segment, b.rank, message - b.first}
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

// receivedBlock returns the block that this rank receives in item `at`.
func (f *blockFlow) receivedBlock(at item) *stepBlock {
	b := &f.received
	if b.has(at) {
		return b
	}
	i := f.index(at)
	f.find(b, at, i, f.receivedOwner(at.step, i))
	_, b.port = f.ports(at.step)
	next := at.step + 1
	complete := next >= f.reduces
	b.forwards = f.forwards(next, i)
	b.stores = complete || f.joined != nil && !b.forwards
	b.holds = next < f.steps() && f.joined == nil && (!complete || f.resends(at.step, i)) && !(b.forwards && (!complete || next >= f.last))
	return b
}

// sentBlock returns the block that this rank sends in item `at`.
func (f *blockFlow) sentBlock(at item) *stepBlock {
	b := &f.sent
	if b.has(at) {
		return b
	}
	i := f.index(at)
	f.find(b, at, i, f.sentOwner(at.step, i))
	b.port, _ = f.ports(at.step)
	b.forwards = f.forwards(at.step, i)
	return b
}

// index returns the index of the block that item `at` is part of. The blocks of each step
// are counted from 0.
func (f *blockFlow) index(at item) int {
	if f.joined != nil {
		return 0
	}
	return at.message / f.pieces
}

// find sets b to block i of the step of item `at`. The block belongs to the given rank.
func (f *blockFlow) find(b *stepBlock, at item, i, rank int) {
	*b = stepBlock{segment: at.segment, step: at.step, rank: rank, gathers: at.step >= f.reduces}
	var x block
	if f.joined != nil {
		x, b.end = f.joined(at.step, rank)
		b.elems = f.Chunk
	} else {
		x = f.block(rank)
		b.first, b.end = i*f.pieces, (i+1)*f.pieces
		b.shift, b.elems = at.segment*f.pieces-b.first, f.elems
	}
	b.n, b.in, b.out = x.n, newMovingPtr(x.in), newMovingPtr(x.out)
}

// forwards reports whether the i-th block that a step sends is the i-th block that the
// previous step received.
func (f *blockFlow) forwards(step, i int) bool {
	return step > 0 && step < f.steps() && !f.needsAll(step) &&
		i < min(f.blocks(step-1), f.blocks(step)) && f.receivedOwner(step-1, i) == f.sentOwner(step, i)
}

// ownTile returns a tile with this rank's own values of a message of block b, which the rank
// will combine with the values of other ranks. The message has n elements from offset `from`
// on. If TCM holds such a tile, ownTile returns it. Otherwise it loads the values from
// memory. The caller frees the tile.
func (f *blockFlow) ownTile(b *stepBlock, message, from, n int) tl.Tile {
	if len(f.held) > 0 {
		if tile, held := f.held[b.key(message)]; held {
			delete(f.held, b.key(message))
			return tile
		}
	}
	if f.joined != nil && b.step >= f.joinedFrom {
		return f.load(b.out.at(from), n)
	}
	return f.addend(f.load(b.in.at(from), n))
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
	b := f.receivedBlock(at)
	from, n := b.part(at.message)
	switch {
	case n == 0:
		return tl.Tile{}
	case b.gathers:
		return f.Recv(b.port, n)
	}
	own := f.ownTile(b, at.message, from, n) // loaded while the message is in flight
	sum := f.combine(f.Recv(b.port, n), own)
	if at.step == f.reduces-1 {
		sum = f.result(sum)
	}
	return sum
}

// send sends the message of item `at`: the given tile if the step forwards the tile that
// was just received, or otherwise the rank's own value.
func (f *blockFlow) send(at item, tile tl.Tile) {
	b := f.sentBlock(at)
	switch from, n := b.part(at.message); {
	case n == 0:
	case b.forwards:
		f.Send(b.port, tile)
	default:
		f.sendOwn(b, at.message, from, n)
	}
}

// sendOwn sends a message of block b with the rank's own value, from memory or from TCM. The
// message has n elements from offset `from` on.
func (f *blockFlow) sendOwn(b *stepBlock, message, from, n int) {
	var tile tl.Tile
	last := true
	switch {
	case !b.gathers:
		tile = f.ownTile(b, message, from, n)
	case b.step == 0:
		tile = f.load(b.in.at(from), n)
		if last = f.last == 0; !last {
			f.hold(b.key(message), tile)
		}
	case f.joined != nil:
		tile = f.load(b.out.at(from), n)
	default:
		key := b.key(message)
		tile = f.held[key]
		if last = b.step >= f.last; last {
			delete(f.held, key)
		}
	}
	f.Send(b.port, tile)
	if b.step == 0 && b.gathers {
		f.storeOwn(block{b.in.at(from), b.out.at(from), n}, tile)
	}
	if last {
		tile.Free()
	}
}

// store stores the tile of a received message in the output if the tile is final, or if
// blocks are joined and the tile is not forwarded. If a later step needs the tile again,
// store keeps the tile in TCM and reports true.
func (f *blockFlow) store(at item, tile tl.Tile) (held bool) {
	b := f.receivedBlock(at)
	from, n := b.part(at.message)
	if n == 0 {
		return false
	}
	if b.stores {
		f.t.Store(b.out.at(from), tile)
	}
	if b.holds {
		f.hold(b.key(at.message), tile)
	}
	return b.holds
}
