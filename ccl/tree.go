package ccl

import (
	"math/bits"

	"github.com/kernbench/kernbench/tl"
)

// Tree sends data over a binary tree of all ranks. It is for small messages, because the
// number of hops is the height of the tree.
var Tree = treeAlgorithm("tree", "over a binary tree: up to the root, down from it, or both, chunk by chunk",
	4, binaryTree, func(p *Plan) int { return bits.Len(uint(p.Ranks)) }, AllReduce, Reduce, Broadcast, Gather, Scatter, Barrier)

// treeAlgorithm registers an algorithm that moves chunks over a tree of the given shape.
// `height` returns the number of levels of the tree below the root.
func treeAlgorithm(name, summary string, tiles int, shape treeShape, height func(p *Plan) int, collectives ...Collective) *Algorithm {
	return builtin(&Algorithm{
		Name: name, Summary: summary, Tiles: tiles, Collectives: collectives,
		Neighbors: func(p *Plan, rank int) []Neighbor { return shape(p, rank).neighbors() },
		Inbox:     treeInbox,
		Divide:    func(p *Plan) (elems, messages int) { return divideTree(p, height(p)) },
		Schedule:  shape.schedule,
	}, func(m *member) { m.runTree(shape) })
}

// divideTree returns the elements that pass through the root of a tree, and the number of
// their messages. There are 128 messages for each hop of the first message, up and down, so
// that the time of this message adds at most 1 %.
func divideTree(p *Plan, height int) (elems, messages int) {
	elems = p.Count(0)
	if p.Collective == Gather || p.Collective == Scatter {
		elems = p.total()
	}
	return elems, 2 * 128 * height
}

// treeShape is a function that returns the edges of a rank in a tree of all ranks.
type treeShape func(p *Plan, rank int) TreeNode

// schedule returns a schedule whose only tree has this shape.
func (s treeShape) schedule(p *Plan) Schedule {
	return Schedule{Trees: []func(int) TreeNode{func(rank int) TreeNode { return s(p, rank) }}}
}

// binaryTree returns the edges of a rank in a tree in which each rank has at most two
// children.
func binaryTree(p *Plan, rank int) TreeNode { return newTreeNode(p, rank, 2) }

// newTreeNode returns the edges of a rank in a tree in which each rank has at most
// `children` children. Vertices are numbered level by level from the root, vertex 0. Vertex
// v is rank root+v.
func newTreeNode(p *Plan, rank, children int) (n TreeNode) {
	root := 0
	if p.Collective.Rooted() {
		root = p.Root
	}
	at := func(vertex int) int { return (root + vertex) % p.Ranks }
	v := (rank - root + p.Ranks) % p.Ranks
	if n.Root = v == 0; !n.Root {
		parent, i := (v-1)/children, (v-1)%children
		n.Parent = Neighbor{Port: tl.Parent, Rank: at(parent), PeerPort: tl.Child(i), Inbox: i}
		if parent > 0 {
			n.Parent.Inbox++ // the first neighbour of the parent is its own parent
		}
	}
	if count := min(children, p.Ranks-1-children*v); count > 0 {
		n.Children = make([]Neighbor, count)
		for i := range n.Children {
			n.Children[i] = Neighbor{Port: tl.Child(i), Rank: at(children*v + 1 + i), PeerPort: tl.Parent}
		}
	}
	return n
}

// treeInbox returns the maximum number of elements that a rank receives from its parent or
// from one child.
func treeInbox(p *Plan) int {
	switch p.Collective {
	case Gather, Scatter:
		return p.total()
	case Barrier:
		return 1
	}
	return p.Count(0)
}
