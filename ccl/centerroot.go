package ccl

import (
	"cmp"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// CenterRoot is a hierarchical all-reduce: within each device over the mesh of its cubes,
// and between devices over their fabric.
var CenterRoot = builtin(&Algorithm{
	Name:        "center_root",
	Tiles:       4,
	Summary:     "along rows and columns of cubes to a root in the middle of each device, between the roots over the fabric, and back",
	Collectives: []Collective{AllReduce},
	Neighbors:   centerRootNeighbors,
	Inbox:       func(p *Plan) int { return 2 * p.Count(0) },
	Divide: func(p *Plan) (elems, messages int) {
		l := p.hierarchy()
		if l.cubes() == 1 && p.usesRootRings() {
			return divideBlocks(p, rootPaths(p, 0))
		}
		return divideTree(p, l.CubeW+l.CubeH+l.W+l.H)
	},
	Schedule: centerRootSchedule,
}, (*member).centerRoot)

// hierarchy returns the layout of the ranks: which device and cube each rank is on. If the
// layout is not known, it returns one with all ranks on the cubes of a single device.
func (p *Plan) hierarchy() Layout {
	if p.Layout.known(p.Ranks) {
		return p.Layout
	}
	g := squareGrid(p.Ranks)
	return Layout{W: 1, H: 1, CubeW: g.w, CubeH: g.h}
}

// usesRootRings reports whether the root cubes of the devices exchange blocks around rings.
// If it returns false, the tree continues between devices. This is so if rows and columns
// of devices do not wrap, or if there is so little data that only the number of hops
// matters, and the tree has fewer.
func (p *Plan) usesRootRings() bool {
	const little = 16 << 10 // bytes
	l := p.hierarchy()
	if l.W*l.H == 1 || !l.wraps() {
		return false
	}
	ringHops, treeHops := l.W-1+l.H-1, l.W/2+l.H/2 // one way: reduce, or reduce-scatter
	return ringHops <= treeHops || p.Count(0)*p.DType.Size() > little
}

// gridTree is a tree over a grid. It goes along rows to the root's column, and along that
// column to the root.
type gridTree struct {
	w, h, root int  // size of the grid, and position of the root
	devices    bool // the grid consists of devices, not of cubes
}

// add adds to node n the edges of the grid position `at`. `rank` returns the rank at a
// position.
func (t gridTree) add(n *TreeNode, at int, rank func(at int) int) {
	x, y, rx, ry := at%t.w, at/t.w, t.root%t.w, t.root/t.w
	n.Root = at == t.root
	for _, e := range []struct {
		to            int // position on the grid
		port, peer    tl.Port
		parent, child bool
	}{
		{at - 1, tl.West, tl.East, x > rx, x <= rx && x > 0},
		{at + 1, tl.East, tl.West, x < rx, x >= rx && x < t.w-1},
		{at - t.w, tl.North, tl.South, x == rx && y > ry, x == rx && y <= ry && y > 0},
		{at + t.w, tl.South, tl.North, x == rx && y < ry, x == rx && y >= ry && y < t.h-1},
	} {
		if t.devices {
			e.port, e.peer = globalPort[e.port], globalPort[e.peer]
		}
		to := Neighbor{Port: e.port, Rank: rank(e.to), PeerPort: e.peer}
		switch {
		case e.parent:
			n.Parent = to
		case e.child:
			n.Children = append(n.Children, to)
		}
	}
}

// rootCube returns the index of the root cube of each device. p.RootCube gives it, counted
// from 1; without a valid RootCube it is the cube in the middle.
func (p *Plan) rootCube(l Layout) int {
	if p.RootCube == 0 || p.RootCube > l.cubes() {
		return middle(l.CubeW, l.CubeH)
	}
	return p.RootCube - 1
}

// centerTree returns the edges of a rank in the tree of center_root.
func centerTree(p *Plan, rank int) (b TreeNode) {
	l := p.hierarchy()
	n, root := l.cubes(), p.rootCube(l)
	gridTree{l.CubeW, l.CubeH, root, false}.add(&b, rank%n, func(at int) int { return rank/n*n + at })
	if b.Root && l.W*l.H > 1 && !p.usesRootRings() {
		gridTree{l.W, l.H, middle(l.W, l.H), true}.add(&b, rank/n, func(at int) int { return at*n + root })
	}
	return b
}

// middle returns the index of the position in the middle of a grid of w columns and h rows.
func middle(w, h int) int { return h/2*w + w/2 }

// rootPlan returns the plan of the all-reduce between the root cubes of the devices. Each
// root contributes the sum over all ranks of its device.
func (p *Plan) rootPlan() *Plan {
	l := p.hierarchy()
	q := *p
	q.ringOrder, q.ringPlaces = nil, nil
	q.Ranks, q.Divisor = l.W*l.H, cmp.Or(p.Divisor, p.Ranks)
	q.Layout.CubeW, q.Layout.CubeH = 1, 1
	if p.Reduction == PremulSum && l.cubes() > 1 {
		q.Reduction = Sum // elements are multiplied only once, within the device
	}
	return &q
}

// rootPaths returns the paths between the root cubes, from the view of one device: around a
// ring, or around the rows and columns of a torus. Paths go in both directions at once,
// unless there is so little data that a root would take longer to handle the messages of
// several paths.
func rootPaths(p *Plan, device int) []path {
	list := bothDirections(onePath(p.ring(device)))
	if p.Layout.Fabric == topology.Torus2D {
		list = bothDirections(p.split(p.rowAndColumn(device), 2))
		if p.Count(0) < 64*p.Ranks {
			list = onePath(p.rowAndColumn(device)...)
		}
	}
	for _, path := range list {
		for k := range path.dims {
			d := &path.dims[k]
			d.next, d.previous = globalPort[d.next], globalPort[d.previous]
		}
	}
	return list
}

// globalPort maps each port within a device to the port between devices in the same
// direction.
var globalPort = map[tl.Port]tl.Port{tl.West: tl.GlobalWest, tl.East: tl.GlobalEast, tl.North: tl.GlobalNorth, tl.South: tl.GlobalSouth}

// centerRootNeighbors returns the neighbours of a rank in the tree. For a root, it adds the
// neighbours in the rings between the roots.
func centerRootNeighbors(p *Plan, rank int) []Neighbor {
	return withInboxes(rank, func(rank int) []Neighbor {
		list, l := centerTree(p, rank).neighbors(), p.hierarchy()
		device, cube := rank/l.cubes(), rank%l.cubes()
		if cube != p.rootCube(l) || !p.usesRootRings() {
			return list
		}
		neighbors := ringNeighbors
		if l.Fabric == topology.Torus2D {
			neighbors = meshNeighbors
		}
		for _, n := range neighbors(p.rootPlan(), device) {
			list = append(list, Neighbor{Port: globalPort[n.Port], Rank: n.Rank*l.cubes() + cube, PeerPort: globalPort[n.PeerPort]})
		}
		return list
	})
}

// centerRoot runs the kernel of center_root. If the roots use rings, the pipeline between
// the roots runs at the same time as the trees within devices. Otherwise there is one tree
// over all ranks.
func (m *member) centerRoot() {
	l := m.hierarchy()
	c := newTreeMember(m, centerTree)
	if !m.usesRootRings() {
		m.runTransfers(c.allReduce(m.treeChunks(0, m.Count(0)))...)
		return
	}
	sub := *m.Args
	sub.Plan, sub.Rank = m.rootPlan(), m.Rank/l.cubes()
	if l.cubes() > 1 {
		sub.In = m.Out // sums of the device
	}
	x := newRootPipeline(&member{Args: &sub, Transport: m.Transport}, rootPaths(sub.Plan, sub.Rank))
	switch {
	case l.cubes() == 1:
		x.run()
	case !c.node.Root:
		m.runTransfers(c.allReduce(x.chunks)...)
	default:
		x.runRoot(c)
	}
}

// centerRootSchedule returns the schedule of center_root: the trees, and the pipeline
// between the roots if they use rings.
func centerRootSchedule(p *Plan) (s Schedule) {
	if p.usesRootRings() {
		q := p.rootPlan()
		s = newPipelineSchedule(q, func(device int) *pipeline { return newBucketPipeline(q.withoutPE(device), rootPaths(q, device)) })
		if q.Ranks == p.Ranks {
			return s
		}
		for root := p.rootCube(p.hierarchy()); root < p.Ranks; root += p.Ranks / q.Ranks {
			s.Roots = append(s.Roots, root)
		}
	}
	s.Trees = treeShape(centerTree).schedule(p).Trees
	return s
}
