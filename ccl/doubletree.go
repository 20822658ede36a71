package ccl

import (
	"math/bits"

	"github.com/kernbench/kernbench/tl"
)

// DoubleTree sends half of the data over each of two binary trees. It is for larger
// messages than Tree: a rank that has children in one tree has none in the other, so no
// rank sends the data more than twice.
var DoubleTree = builtin(&Algorithm{
	Name:        "double_tree",
	Tiles:       5,
	Summary:     "over two binary trees with half of the data each; inner ranks of one are leaves of the other",
	Collectives: []Collective{AllReduce},
	Neighbors:   doubleTreeNeighbors,
	Inbox:       treeInbox,
	Divide:      func(p *Plan) (elems, messages int) { return divideTree(p, 2*bits.Len(uint(p.Ranks))) }, // half of the elements
	Schedule: func(p *Plan) (s Schedule) {
		for _, tree := range halfTrees {
			s.Trees = append(s.Trees, treeShape(tree.node).schedule(p).Trees...)
		}
		return s
	},
}, func(m *member) {
	var down, up []*transfer
	for i, tree := range halfTrees {
		from, n := part(m.Count(0), i, len(halfTrees))
		s := newTreeMember(m, tree.node).allReduce(m.treeChunks(from, n))
		last := len(s) - 1
		down, up = append(down, s[:last]...), append(up, s[last])
	}
	m.runTransfers(append(down, up...)...)
})

// halfTree is one of the two trees of DoubleTree. second is set for the second tree.
type halfTree struct {
	parent   tl.Port
	children [2]tl.Port
	second   bool
}

var halfTrees = [2]halfTree{
	{tl.Parent, [2]tl.Port{tl.Child(0), tl.Child(1)}, false},
	{tl.Numbered(0), [2]tl.Port{tl.Numbered(1), tl.Numbered(2)}, true},
}

func doubleTreeNeighbors(p *Plan, rank int) []Neighbor {
	return withInboxes(rank, func(rank int) (list []Neighbor) {
		for _, tree := range halfTrees {
			list = append(list, tree.node(p, rank).neighbors()...)
		}
		return list
	})
}

// node returns the edges of a rank in the tree.
//
// Each rank is a vertex of the tree. Vertex 0 is the root. Its only child is the vertex in
// the middle of the others, and each further level halves the remaining ranges. So the
// parent of a vertex v is v with its lowest set bit cleared and the next higher bit set. If
// that vertex does not exist, the parent is v with its lowest set bit cleared. Odd vertices
// are leaves. The second tree numbers the vertices in reverse order. If odd ranks would
// then be leaves again, it shifts the ranks by one instead.
func (t halfTree) node(p *Plan, rank int) (n TreeNode) {
	ranks := p.Ranks
	place := func(v, shift int) int { // maps a rank to its vertex (shift -1), or a vertex to its rank (shift 1)
		switch {
		case !t.second:
			return v
		case ranks%2 == 0:
			return ranks - 1 - v
		}
		return (v + shift + ranks) % ranks
	}
	v := place(rank, -1)
	if n.Root = v == 0; !n.Root {
		parent := inOrderParent(ranks, v)
		which := 0
		if parent < v && parent != 0 {
			which = 1
		}
		n.Parent = Neighbor{Port: t.parent, Rank: place(parent, 1), PeerPort: t.children[which]}
	}
	below := 1 << bits.Len(uint(ranks-1)) // the smallest power of two that is at least ranks
	if v > 0 {
		below = v & -v
	}
	add := func(i, child int) {
		n.Children = append(n.Children, Neighbor{Port: t.children[i], Rank: place(child, 1), PeerPort: t.parent})
	}
	switch {
	case v == 0 && ranks > 1:
		add(0, below/2)
	case below > 1:
		add(0, v-below/2)
	}
	for d := below / 2; v > 0 && d > 0; d /= 2 {
		if v+d < ranks {
			add(1, v+d)
			break
		}
	}
	return n
}

// inOrderParent returns the parent of vertex v in the tree that the comment on
// halfTree.node describes. The tree has the given number of ranks, and v must not be the
// root, vertex 0.
func inOrderParent(ranks, v int) int {
	bit := v & -v
	if parent := v&^bit | bit<<1; parent < ranks {
		return parent
	}
	return v &^ bit
}
