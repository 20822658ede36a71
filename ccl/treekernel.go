package ccl

import (
	"slices"

	"github.com/kernbench/kernbench/tl"
)

// treeMember is a member with its edges in a tree. It forwards each message as the tile
// that it received, so it holds only the tiles that it combines.
type treeMember struct {
	*member
	shape treeShape
	node  TreeNode
}

// newTreeMember returns the member with its edges in a tree of the given shape.
//
//go:noinline
func newTreeMember(m *member, shape treeShape) *treeMember {
	return &treeMember{m, shape, shape(m.Plan, m.Rank)}
}

// runTree performs the collective over a tree of the given shape.
func (m *member) runTree(shape treeShape) {
	c := newTreeMember(m, shape)
	switch m.Collective {
	case Gather:
		c.gather()
	case Scatter:
		c.scatter()
	case Barrier:
		c.barrier()
	default:
		m.runTransfers(c.transfers()...)
	}
}

// transfers returns the transfers of an AllReduce, Reduce or Broadcast.
func (c *treeMember) transfers() []*transfer {
	list := c.treeChunks(0, c.Count(0))
	switch c.Collective {
	case AllReduce:
		return c.allReduce(list)
	case Broadcast:
		return []*transfer{c.downTransfer(list, c.In)}
	}
	return []*transfer{c.upTransfer(list, func(at int, x tl.Tile) {
		if c.node.Root {
			c.storeLast(c.Out(0).Add(at), c.result(x))
		} else {
			c.sendLast(c.node.Parent.Port, x)
		}
	})}
}

// allReduce returns two transfers: one sends chunks up the tree, the other sends complete
// chunks down again. The root has one transfer that does both. There is no deadlock,
// because the two transfers are independent. Chunks that go up wait for ranks below. Chunks
// that go down wait for ranks above. The root waits for ranks below and for free slots of
// these ranks. Only chunks that go down use these slots.
func (c *treeMember) allReduce(list chunks) []*transfer {
	if c.node.Root {
		return []*transfer{c.upTransfer(list, func(at int, x tl.Tile) {
			x = c.result(x)
			c.sendDown(x)
			c.storeLast(c.Out(0).Add(at), x)
		}, c.node.Children...)}
	}
	up := c.upTransfer(list, func(_ int, x tl.Tile) { c.sendLast(c.node.Parent.Port, x) }, c.node.Parent)
	return []*transfer{c.downTransfer(list, nil), up}
}

// upTransfer returns the transfer that combines each chunk of the rank with the same chunk
// of all children: first the rank's own chunk, then each child's in order. It calls
// `deliver` with each sum, after the neighbours in `to` have free slots for the sum.
// `deliver` frees the sum.
func (c *treeMember) upTransfer(list chunks, deliver func(at int, x tl.Tile), to ...Neighbor) *transfer {
	var own tl.Tile
	return list.transfer(func(cases []tl.Case, at, n int) []tl.Case {
		own = c.addend(c.t.Load(c.In(0).Add(at), tl.Shape{n}, c.DType)).Pin() // loaded while messages are in flight
		for _, child := range c.node.Children {
			cases = append(cases, c.CanRecv(child.Port))
		}
		return c.canSend(cases, n, to)
	}, func(at, n int) {
		x := own
		for _, child := range c.node.Children {
			x = c.combine(x, c.Recv(child.Port, n))
		}
		deliver(at, x)
	})
}

// downTransfer returns the transfer that sends each chunk to all children and stores it in
// the output. The root loads the chunks from in(0). Other ranks receive the chunks from
// their parent.
func (c *treeMember) downTransfer(list chunks, in func(block int) tl.Ptr) *transfer {
	return list.transfer(func(cases []tl.Case, _, n int) []tl.Case {
		if !c.node.Root {
			cases = append(cases, c.CanRecv(c.node.Parent.Port))
		}
		return c.canSend(cases, n, c.node.Children)
	}, func(at, n int) {
		var x tl.Tile
		if c.node.Root {
			x = c.load(in(0).Add(at), n)
		} else {
			x = c.Recv(c.node.Parent.Port, n)
		}
		c.sendDown(x)
		if !c.node.Root || in(0).Addr != c.Out(0).Addr {
			c.t.Store(c.Out(0).Add(at), x)
		}
		x.Free()
	})
}

// canSend appends to `cases`, for each neighbour in `to`, the case that n elements can be
// sent to the neighbour.
func (c *treeMember) canSend(cases []tl.Case, n int, to []Neighbor) []tl.Case {
	for _, neighbor := range to {
		cases = c.CanSend(cases, neighbor.Port, n)
	}
	return cases
}

// sendDown sends a tile to all children.
func (c *treeMember) sendDown(x tl.Tile) {
	for _, child := range c.node.Children {
		c.Send(child.Port, x)
	}
}

// gather sends the rank's own block to its parent, and then the blocks of the ranks below
// it, each rank before its children. The nearest blocks go first, so that the link to the
// parent is never idle. The root stores the blocks instead.
func (c *treeMember) gather() {
	for _, from := range c.subtree(nil, c.Rank, 0) {
		if from.rank == c.Rank && c.node.Root {
			c.copy(c.Out(c.Rank), c.In(0), c.Count(c.Rank))
			continue
		}
		for at, n := range c.messages(c.Count(from.rank)) {
			switch {
			case from.rank == c.Rank:
				c.sendLast(c.node.Parent.Port, c.load(c.In(0).Add(at), n))
			case c.node.Root:
				c.storeLast(c.Out(from.rank).Add(at), c.Recv(from.port, n))
			default:
				c.sendLast(c.node.Parent.Port, c.Recv(from.port, n))
			}
		}
	}
}

// scatter receives blocks from the parent and forwards them to the ranks below, in the
// reverse order of gather: the farthest block goes first, and the rank's own block comes
// last. The root loads the blocks from its input.
func (c *treeMember) scatter() {
	for _, to := range slices.Backward(c.subtree(nil, c.Rank, 0)) {
		if to.rank == c.Rank && c.node.Root {
			c.copy(c.Out(0), c.In(c.Rank), c.Count(c.Rank))
			continue
		}
		for at, n := range c.messages(c.Count(to.rank)) {
			switch {
			case to.rank == c.Rank:
				c.storeLast(c.Out(0).Add(at), c.Recv(c.node.Parent.Port, n))
			case c.node.Root:
				c.sendLast(to.port, c.load(c.In(to.rank).Add(at), n))
			default:
				c.sendLast(to.port, c.Recv(c.node.Parent.Port, n))
			}
		}
	}
}

// descendant is a rank of a subtree, and the port that leads to it.
type descendant struct {
	rank int
	port tl.Port
}

// subtree appends a rank and all ranks below it to `list`, and returns the list. Each rank
// comes before its own children. `port` is the port of c.Rank that leads towards the rank.
func (c *treeMember) subtree(list []descendant, rank int, port tl.Port) []descendant {
	list = append(list, descendant{rank, port})
	for _, child := range c.shape(c.Plan, rank).Children {
		if rank == c.Rank {
			port = child.Port
		}
		list = c.subtree(list, child.Rank, port)
	}
	return list
}

// barrier waits for a message of one element from each child and sends one to the parent.
// Then it waits for a message from the parent and sends one to each child. The root has no
// parent.
func (c *treeMember) barrier() {
	x := c.t.Zeros(tl.Shape{1}, c.DType)
	for _, child := range c.node.Children {
		c.Recv(child.Port, 1)
	}
	if !c.node.Root {
		c.Send(c.node.Parent.Port, x)
		c.Recv(c.node.Parent.Port, 1)
	}
	c.sendDown(x)
}
