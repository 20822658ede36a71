package ccl

import "github.com/kernbench/kernbench/tl"

// Direct sends each message straight to its receiver. It is for fabrics on which all ranks
// are near each other.
var Direct = builtin(&Algorithm{
	Name:    "direct",
	Tiles:   4,
	Summary: "from each rank to every other rank; an all-reduce is a reduce-scatter and an all-gather",
	Collectives: []Collective{
		AllReduce, AllGather, ReduceScatter, AllToAll, SendRecv, Reduce, Broadcast, Gather, Scatter,
	},
	Neighbors: directNeighbors,
	Inbox:     directInbox,
	Divide: func(p *Plan) (elems, messages int) {
		if p.Collective.Rooted() {
			return divideTree(p, 1)
		}
		return directLargest(p), exchangeMessages
	},
	Schedule: directSchedule,
}, (*member).direct)

// exchangeMessages is the number of messages of a block that ranks exchange directly. The
// first and the last message do not overlap with others, so there are more messages than on
// a ring.
const exchangeMessages = 64

// directNeighbors returns the neighbours of a rank. In a rooted collective, the neighbours
// of the root are all other ranks, and every other rank has only the root as a neighbour.
// In SendRecv they are the partners of the rank's messages. Otherwise they are all other
// ranks, where port k leads to rank+k.
func directNeighbors(p *Plan, rank int) (list []Neighbor) {
	switch {
	case p.Collective.Rooted():
		return star(p, rank).neighbors()
	case p.Collective == SendRecv:
		return messageNeighbors(p, rank)
	}
	for k := 1; k < p.Ranks; k++ {
		back := p.Ranks - k
		list = append(list, Neighbor{Port: tl.Numbered(k), Rank: (rank + k) % p.Ranks, PeerPort: tl.Numbered(back), Inbox: back - 1})
	}
	return list
}

// directLargest returns the number of elements of the largest block that ranks exchange.
func directLargest(p *Plan) int {
	if p.Collective == AllReduce {
		return tl.CDiv(p.Count(0), p.Ranks)
	}
	return p.Largest()
}

// directInbox returns the largest number of elements that a rank can receive from one other
// rank in all steps together.
func directInbox(p *Plan) int { return directExchange(p).Steps * directLargest(p) }

// directExchange returns an Exchange with the number of steps of the collective, and the
// number of these steps whose messages are combined.
func directExchange(p *Plan) Exchange {
	switch {
	case p.Collective == AllReduce:
		return Exchange{Steps: 2, Combines: 1}
	case p.Collective == ReduceScatter:
		return Exchange{Steps: 1, Combines: 1}
	}
	return Exchange{Steps: 1}
}

// star returns the edges of a rank in a tree in which all other ranks are children of the
// root. The edges use the ports of the algorithm direct.
func star(p *Plan, rank int) (n TreeNode) {
	v := (rank - p.Root + p.Ranks) % p.Ranks
	if n.Root = v == 0; !n.Root {
		n.Parent = Neighbor{Port: tl.Numbered(p.Ranks - v), Rank: p.Root, PeerPort: tl.Numbered(v), Inbox: v - 1}
	}
	for k := 1; n.Root && k < p.Ranks; k++ {
		n.Children = append(n.Children, Neighbor{Port: tl.Numbered(k), Rank: (p.Root + k) % p.Ranks, PeerPort: tl.Numbered(p.Ranks - k)})
	}
	return n
}

// directSchedule returns the schedule of direct: a tree for rooted collectives, and an
// exchange for all other collectives.
func directSchedule(p *Plan) Schedule {
	if p.Collective.Rooted() {
		return treeShape(star).schedule(p)
	}
	return newExchange(p, directExchange(p), directLargest(p))
}

// direct runs the kernel of the algorithm direct.
func (m *member) direct() {
	switch m.Collective {
	case AllReduce, ReduceScatter, AllGather, AllToAll:
		d := newDirect(m, directLargest(m.Plan), m.blocks())
		if d.steps = directExchange(m.Plan).Steps; m.Collective == AllToAll {
			d.to = func(rank int) block { return block{in: m.In(rank), n: m.Between(m.Rank, rank)} }
			d.from = func(rank int) block { return block{out: m.Out(rank), n: m.Between(rank, m.Rank)} }
		}
		d.run(&d)
	case SendRecv:
		m.sendRecv()
	default:
		m.runTree(star)
	}
}

// port returns the port to the given rank.
func (m *member) port(rank int) tl.Port {
	return tl.Numbered((rank - m.Rank + m.Ranks) % m.Ranks)
}

// sendOrder yields all other ranks in the order in which this rank sends to them: first the
// next rank, so that not all ranks send to the same rank at once.
func (m *member) sendOrder(yield func(rank int) bool) {
	for k := 1; k < m.Ranks && yield((m.Rank+k)%m.Ranks); k++ {
	}
}

// receiveOrder yields all other ranks in the order in which their messages arrive at this
// rank.
func (m *member) receiveOrder(yield func(rank int) bool) {
	for k := 1; k < m.Ranks && yield((m.Rank-k+m.Ranks)%m.Ranks); k++ {
	}
}

// direct exchanges messages with all other ranks. A reduce-scatter, an all-gather or an
// all-to-all takes one step. After a reduce-scatter each rank has the result of its own
// block. An all-reduce takes two steps: a reduce-scatter and an all-gather. An item of a
// step is one message to each of the other ranks. Blocks are combined in the order of
// ranks, from 0.
type direct struct {
	*member
	to, from func(rank int) block // the block sent to a rank, and the block received from it
	cut      cut
	steps    int
}

// newDirect returns the exchange of a collective. The function `block` returns the block of
// each rank, and `largest` is the number of elements of the largest block.
func newDirect(m *member, largest int, block func(rank int) block) direct {
	return direct{m, block, block, newCut(m.Plan, largest), 1}
}

// run exchanges the messages of all steps. It calls `with` to receive, send and store each
// message.
func (d *direct) run(with exchanger) {
	oneFlow{with, d.cut.segments, d.steps, d.cut.pieces}.run(d.member)
}

// gathers reports whether item `at` belongs to an all-gather, or to the second step of an
// all-reduce, which gathers the reduced blocks.
func (d *direct) gathers(at item) bool { return d.Collective == AllGather || at.step == 1 }

// piece returns the part of block b that item `at` carries.
func (d *direct) piece(at item, b block) block {
	return b.slice(d.cut.piece(b.n, at.segment, at.message))
}

// receive receives the messages of item `at` from all other ranks. In an all-to-all, and if
// the item gathers, it stores the messages. Otherwise it returns the reduction of all
// messages and of the rank's own piece. If there is no further step, it also stores the
// reduction.
func (d *direct) receive(at item) (x tl.Tile) {
	if d.Collective == AllToAll || d.gathers(at) {
		for rank := range d.receiveOrder {
			if b := d.piece(at, d.from(rank)); b.n > 0 {
				d.storeLast(b.out, d.Recv(d.port(rank), b.n))
			}
		}
		return x
	}
	b := d.piece(at, d.to(d.Rank))
	if b.n == 0 {
		return x
	}
	var own tl.Tile
	for rank := range d.Ranks {
		if rank == max(0, d.Rank-1) {
			own = d.addend(d.load(b.in, b.n)) // loaded while a message is in flight
		}
		y := own
		if rank != d.Rank {
			y = d.Recv(d.port(rank), b.n)
		}
		if rank > 0 {
			y = d.combine(x, y)
		}
		x = y
	}
	x = d.result(x)
	if d.steps == 1 {
		d.t.Store(b.out, x) // before further messages arrive, because the tile is not sent on
	}
	return x
}

// send sends the messages of item `at` to all other ranks. Each rank gets a piece of its
// own block. In an all-gather, all ranks get the same piece of this rank's block.
func (d *direct) send(at item, x tl.Tile) {
	if !d.gathers(at) {
		for rank := range d.sendOrder {
			if b := d.piece(at, d.to(rank)); b.n > 0 {
				x := d.load(b.in, b.n)
				if d.Collective != AllToAll {
					x = d.addend(x)
				}
				d.sendLast(d.port(rank), x)
			}
		}
		return
	}
	b := d.piece(at, d.to(d.Rank))
	if b.n == 0 {
		return
	}
	if d.Collective != AllGather {
		d.sendAll(x)
		return
	}
	x = d.load(b.in, b.n)
	d.sendAll(x)
	d.storeOwn(b, x)
	x.Free()
}

// sendAll sends a tile to all other ranks.
func (d *direct) sendAll(x tl.Tile) {
	for rank := range d.sendOrder {
		d.Send(d.port(rank), x)
	}
}

// store ends item `at`: it copies the rank's own piece in an all-to-all, and stores the
// reduced piece x in an all-reduce. It never keeps a tile, so it reports false.
func (d *direct) store(at item, x tl.Tile) bool {
	if d.Collective == AllToAll {
		d.copyPiece(d.cut, at)
	} else if b := d.piece(at, d.to(d.Rank)); b.n > 0 && d.steps == 2 && at.step == 0 {
		d.t.Store(b.out, x)
	}
	return false
}
