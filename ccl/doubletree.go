package ccl

import (
	"math/bits"

	"github.com/kernbench/kernbench/tl"
)

// DoubleTree is Tree for large messages, too: a rank with children in one tree has none in the
// other, so that no rank sends the data more than twice.
var DoubleTree = builtin(&Algorithm{
	Name:        "double_tree",
	Tiles:       5,
	Summary:     "over two binary trees with half of the data each, the inner ranks of one being leaves of the other",
	Collectives: []Collective{AllReduce},
	Neighbors:   doubleTreeNeighbors,
	Inbox:       treeInbox,
	Schedule: func(p *Plan) (s Schedule) {
		for i := range halfTrees {
			s.Trees = append(s.Trees, func(rank int) TreeNode { return halfTrees[i].node(p.Ranks, rank) })
		}
		return s
	},
}, func(m *member) {
	var down, up []*transfer
	for i := range halfTrees {
		from, n := part(m.Count(0), i, len(halfTrees))
		s := newTreeMember(m, halfTrees[i].node(m.Ranks, m.Rank)).allReduce(m.treeChunks(from, n))
		last := len(s) - 1
		down, up = append(down, s[:last]...), append(up, s[last])
	}
	m.runTransfers(append(down, up...)...)
})

// halfTree is one of the two trees: its ports, and whether it is the second.
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
		for i := range halfTrees {
			list = append(list, halfTrees[i].node(p.Ranks, rank).neighbors()...)
		}
		return list
	})
}

// node returns a rank's parent and its children.
//
// Vertex 0 is the root, and the vertex below it the middle; from there on each level
// halves what is left. So the parent of a vertex has its lowest bit cleared and the next
// one set, or, if there is no such vertex, just the first; and odd ones are leaves. The
// second tree has the vertices in the other order, or, if that would have odd ranks as
// leaves again, one rank further on.
func (t *halfTree) node(ranks, rank int) (n TreeNode) {
	place := func(v int) int { // and its own inverse, but for the sign of the shift
		switch {
		case !t.second:
			return v
		case ranks%2 == 0:
			return ranks - 1 - v
		}
		return (v + 1) % ranks
	}
	v := place(rank)
	if t.second && ranks%2 == 1 {
		v = (rank + ranks - 1) % ranks
	}
	if n.Root = v == 0; !n.Root {
		parent := inOrderParent(ranks, v)
		which := 0
		if parent < v && parent != 0 {
			which = 1
		}
		n.Parent = Neighbor{Port: t.parent, Rank: place(parent), PeerPort: t.children[which]}
	}
	below := 1 << bits.Len(uint(ranks-1)) // the least power of two that is not below ranks
	if v > 0 {
		below = v & -v
	}
	for i, step := range [2]int{-1, 1} {
		if v == 0 { // it has one child
			step = 1 - 2*i
		}
		for d := below / 2; d > 0; d /= 2 {
			if child := v + step*d; child > 0 && child < ranks && inOrderParent(ranks, child) == v {
				n.Children = append(n.Children, Neighbor{Port: t.children[i], Rank: place(child), PeerPort: t.parent})
				break
			}
		}
	}
	return n
}

// inOrderParent returns the parent of a vertex other than 0.
func inOrderParent(ranks, v int) int {
	bit := v & -v
	if parent := v&^bit | bit<<1; parent < ranks {
		return parent
	}
	return v &^ bit
}
