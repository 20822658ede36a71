package ccl

import (
	"slices"

	"github.com/kernbench/kernbench/tl"
)

// climber is a rank at work on a tree. What it gets from one side it passes to the
// other message by message, as the very tile: it holds as many of them as it combines.
type climber struct {
	*member
	root bool // there is nothing above
	up   tl.Port
	down []tl.Port
	tree tree // if it is one of those forms
}

func newClimber(m *member, n TreeNode) *climber {
	c := &climber{member: m, root: n.Root, up: n.Parent.Port}
	for _, child := range n.Children {
		c.down = append(c.down, child.Port)
	}
	return c
}

// climb does a collective over a tree in which the member is at a place.
func (m *member) climb(place tree) {
	c := newClimber(m, place.node())
	c.tree = place
	switch m.Collective {
	case AllReduce:
		m.play(c.allReduce(m.linear(m.Count(0)))...)
	case Reduce:
		c.reduce()
	case Broadcast:
		c.broadcast()
	case Gather:
		c.gather()
	case Scatter:
		c.scatter()
	case Barrier:
		c.barrier()
	}
}

// reduce combines the elements of the rank with those of all below it: first its own, then
// each child's in order. The root stores them, the others pass them up.
func (c *climber) reduce() {
	for at, n := range c.inParts(c.Count(0)) {
		x := c.addend(c.In(0).Add(at), n)
		for _, child := range c.down {
			x = c.Combine(x, c.Recv(child, n))
		}
		if c.root {
			c.t.Store(c.Out(0).Add(at), c.Result(x))
		} else {
			c.Send(c.up, x)
		}
	}
}

// pass sends a tile to all children.
func (c *climber) pass(x tl.Tile) {
	for _, child := range c.down {
		c.Send(child, x)
	}
}

func (c *climber) broadcast() {
	for at, n := range c.inParts(c.Count(0)) {
		var x tl.Tile
		if c.root {
			x = c.load(c.In(0).Add(at), n)
		} else {
			x = c.Recv(c.up, n)
		}
		c.pass(x)
		if !c.root || c.In(0).Addr != c.Out(0).Addr {
			c.t.Store(c.Out(0).Add(at), x)
		}
	}
}

// gather sends up the rank's own block, and then those below it, a vertex before its
// children: the nearest first, so that the way up is never idle.
func (c *climber) gather() {
	if c.root {
		c.copy(c.Out(c.Rank), c.In(0), c.Count(c.Rank))
	} else {
		for at, n := range c.messages(c.Count(c.Rank)) {
			c.Send(c.up, c.load(c.In(0).Add(at), n))
		}
	}
	for _, from := range c.below() {
		for at, n := range c.messages(c.Count(from.rank)) {
			x := c.Recv(from.port, n)
			if c.root {
				c.t.Store(c.Out(from.rank).Add(at), x)
			} else {
				c.Send(c.up, x)
			}
		}
	}
}

// scatter is gather in reverse: the farthest block goes first, the own one comes last.
func (c *climber) scatter() {
	for _, to := range slices.Backward(c.below()) {
		for at, n := range c.messages(c.Count(to.rank)) {
			if c.root {
				c.Send(to.port, c.load(c.In(to.rank).Add(at), n))
			} else {
				c.Send(to.port, c.Recv(c.up, n))
			}
		}
	}
	if c.root {
		c.copy(c.Out(0), c.In(c.Rank), c.Count(c.Rank))
		return
	}
	for at, n := range c.messages(c.Count(c.Rank)) {
		c.t.Store(c.Out(0).Add(at), c.Recv(c.up, n))
	}
}

// descendant is a rank below another, and the port on the way to it.
type descendant struct {
	rank int
	port tl.Port
}

// below is all ranks below this one, child by child, each before its own children.
func (c *climber) below() (list []descendant) {
	first, _ := c.tree.childrenOf(c.tree.vertex)
	for i, port := range c.down {
		for _, vertex := range c.tree.subtree(nil, first+i) {
			list = append(list, descendant{c.tree.rank(vertex), port})
		}
	}
	return list
}

// barrier is a message of one element from everyone to the root, and one back.
func (c *climber) barrier() {
	x := c.t.Zeros(tl.Shape{1}, c.DType)
	for _, child := range c.down {
		c.Recv(child, 1)
	}
	if !c.root {
		c.Send(c.up, x)
		c.Recv(c.up, 1)
	}
	c.pass(x)
}
