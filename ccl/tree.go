package ccl

import "github.com/kernbench/kernbench/tl"

// Tree is for small messages to and from all ranks: as many hops as a binary tree is high.
var Tree = treeAlgorithm("tree", "over a binary tree: up to the root, down from it, or both, chunk by chunk",
	4, binary, AllReduce, Reduce, Broadcast, Gather, Scatter, Barrier)

// treeAlgorithm registers an algorithm over trees of a shape.
func treeAlgorithm(name, summary string, tiles int, shape func(*Plan, int) tree, collectives ...Collective) *Algorithm {
	return builtin(&Algorithm{
		Name: name, Summary: summary, Tiles: tiles, Collectives: collectives,
		Neighbors: func(p *Plan, rank int) []Neighbor { return shape(p, rank).neighbors() },
		Inbox:     treeInbox,
		Schedule:  func(p *Plan) Schedule { return treeSchedule(p, shape) },
	}, func(m *member) { m.runTree(shape(m.Plan, m.Rank)) })
}

// treeSchedule returns the schedule of a tree of a shape.
func treeSchedule(p *Plan, shape func(*Plan, int) tree) Schedule {
	return Schedule{Trees: []func(int) TreeNode{func(rank int) TreeNode { return shape(p, rank).node() }}}
}

// tree is a vertex of a tree of ranks. Vertices are numbered from the root, 0, level by
// level: vertex v is rank root+v.
type tree struct {
	ranks, root int
	vertex      int
	arity       int
	// star is a tree of one level, whose ports are those of algorithm direct.
	star bool
}

// binary returns the place of a rank in a tree with two children for each vertex.
func binary(p *Plan, rank int) tree { return newTree(p, rank, tree{arity: 2}) }

// star returns the place of a rank in a tree with all ranks below the root.
func star(p *Plan, rank int) tree {
	return newTree(p, rank, tree{arity: max(1, p.Ranks-1), star: true})
}

// newTree returns the place of a rank in a tree of a shape.
func newTree(p *Plan, rank int, t tree) tree {
	if p.Collective.Rooted() {
		t.root = p.Root
	}
	t.ranks = p.Ranks
	t.vertex = (rank - t.root + t.ranks) % t.ranks
	return t
}

func (t tree) isRoot() bool { return t.vertex == 0 }

// rank returns the rank at a vertex.
func (t tree) rank(vertex int) int { return (t.root + vertex) % t.ranks }

// childrenOf returns the first child of a vertex, and the vertex behind its last.
func (t tree) childrenOf(vertex int) (first, end int) {
	first = min(t.arity*vertex+1, t.ranks)
	return first, min(first+t.arity, t.ranks)
}

// down returns the port to the i-th child of any vertex.
func (t tree) down(i int) tl.Port {
	if t.star {
		return tl.Numbered(1 + i)
	}
	return tl.Child(i)
}

// up returns the port to the parent of a vertex.
func (t tree) up(vertex int) tl.Port {
	if t.star {
		return tl.Numbered(t.ranks - vertex)
	}
	return tl.Parent
}

// subtree appends a vertex and all below it, each before its children.
func (t tree) subtree(list []int, vertex int) []int {
	list = append(list, vertex)
	for child, end := t.childrenOf(vertex); child < end; child++ {
		list = t.subtree(list, child)
	}
	return list
}

// node returns the edges of the vertex.
func (t tree) node() TreeNode {
	list := t.neighbors()
	if t.isRoot() {
		return TreeNode{Root: true, Children: list}
	}
	return TreeNode{Parent: list[0], Children: list[1:]}
}

// neighbors returns the parent, if there is one, and the children.
func (t tree) neighbors() (list []Neighbor) {
	if !t.isRoot() {
		parent, i := (t.vertex-1)/t.arity, (t.vertex-1)%t.arity
		inbox := i
		if parent > 0 {
			inbox++ // behind the parent's own parent
		}
		list = append(list, Neighbor{Port: t.up(t.vertex), Rank: t.rank(parent), PeerPort: t.down(i), Inbox: inbox})
	}
	first, end := t.childrenOf(t.vertex)
	for child := first; child < end; child++ {
		list = append(list, Neighbor{Port: t.down(child - first), Rank: t.rank(child), PeerPort: t.up(child)})
	}
	return list
}

func treeInbox(p *Plan) int {
	switch p.Collective {
	case Gather, Scatter:
		return p.total()
	case Barrier:
		return 1
	}
	return p.Count(0)
}
