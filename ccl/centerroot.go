package ccl

import (
	"cmp"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// CenterRoot follows the machine: within a device over the mesh of its cubes, between
// devices over their fabric.
var CenterRoot = builtin(&Algorithm{
	Name:        "center_root",
	Tiles:       4,
	Summary:     "along rows and columns of cubes to a root in the middle of each device, between the roots over the fabric, and back",
	Collectives: []Collective{AllReduce},
	Neighbors:   centerRootNeighbors,
	Inbox:       func(p *Plan) int { return 2 * p.Count(0) },
	Schedule:    centerRootSchedule,
}, (*member).centerRoot)

// none is the device of ranks that are not the root of one.
const none = -1

// hierarchy is the layout of a plan's ranks, if it is known, and else one device with all
// of them.
func (p *Plan) hierarchy() Layout {
	if p.Layout.known(p.Ranks) {
		return p.Layout
	}
	g := square(p.Ranks)
	return Layout{W: 1, H: 1, CubeW: g.w, CubeH: g.h}
}

// trades reports whether the roots of devices trade blocks round rings. If rows and
// columns of devices do not wrap, or if there is little data, of which it is hops that take
// the time, the tree goes on there.
func (p *Plan) trades() bool {
	const little = 16 << 10 // bytes
	l := p.hierarchy()
	return l.W*l.H > 1 && l.wraps() && p.Count(0)*p.DType.Size() > little
}

// middle is the tree over a grid with the root somewhere: along rows to the root's column,
// and along that to the root.
type middle struct {
	w, h, root int
	devices    bool // the grid is one of devices, not of cubes
}

// add adds the edges of a place to those of a rank; rank is who is at a place.
func (t middle) add(n *TreeNode, at int, rank func(at int) int) {
	x, y, rx, ry := at%t.w, at/t.w, t.root%t.w, t.root/t.w
	n.Root = at == t.root
	for _, e := range []struct {
		to            int // a place
		port, peer    tl.Port
		parent, child bool
	}{
		{at - 1, tl.West, tl.East, x > rx, x <= rx && x > 0},
		{at + 1, tl.East, tl.West, x < rx, x >= rx && x < t.w-1},
		{at - t.w, tl.North, tl.South, x == rx && y > ry, x == rx && y <= ry && y > 0},
		{at + t.w, tl.South, tl.North, x == rx && y < ry, x == rx && y >= ry && y < t.h-1},
	} {
		if t.devices {
			e.port, e.peer = abroad[e.port], abroad[e.peer]
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

// centerTree is a rank's edges in the tree, and its device, if it is the root there.
func centerTree(p *Plan, rank int) (b TreeNode, device int) {
	l := p.hierarchy()
	n := l.cubes()
	device = rank / n
	root := cmp.Or(p.RootCube, middleOf(l.CubeW, l.CubeH)+1) - 1
	if root >= n {
		root = middleOf(l.CubeW, l.CubeH)
	}
	middle{l.CubeW, l.CubeH, root, false}.add(&b, rank%n, func(at int) int { return device*n + at })
	if !b.Root {
		return b, none
	}
	if l.W*l.H > 1 && !p.trades() {
		middle{l.W, l.H, middleOf(l.W, l.H), true}.add(&b, device, func(at int) int { return at*n + root })
	}
	return b, device
}

// middleOf is the place in the middle of a grid.
func middleOf(w, h int) int { return h/2*w + w/2 }

// roots is the plan of what the devices' roots do among themselves: each has the sum
// of its own ranks.
func (p *Plan) roots() *Plan {
	l := p.hierarchy()
	q := *p
	q.ring, q.places = nil, nil
	q.Ranks, q.Divisor = l.W*l.H, cmp.Or(p.Divisor, p.Ranks)
	q.Layout.CubeW, q.Layout.CubeH = 1, 1
	if p.Reduction == PremulSum && l.cubes() > 1 {
		q.Reduction = Sum // elements are multiplied once
	}
	return &q
}

// rootPaths is the paths of what the roots trade: round a ring, or round rows and columns
// of a torus, in both directions at once, unless there is so little data that messages of
// several paths take more of a root's time.
func rootPaths(p *Plan, device int) []path {
	list := bothWays(paths(round(p, device)))
	if p.Layout.Fabric == topology.Torus2D {
		list = bothWays(p.split(p.alongs(device), 2))
		if p.Count(0) < 64*p.Ranks {
			list = paths(p.alongs(device)...)
		}
	}
	for _, path := range list {
		for k := range path.dims {
			d := &path.dims[k]
			d.next, d.previous = abroad[d.next], abroad[d.previous]
		}
	}
	return list
}

// abroad is the ports between devices by those within.
var abroad = map[tl.Port]tl.Port{tl.West: tl.GlobalWest, tl.East: tl.GlobalEast, tl.North: tl.GlobalNorth, tl.South: tl.GlobalSouth}

func centerRootNeighbors(p *Plan, rank int) []Neighbor {
	return withInboxes(rank, func(rank int) []Neighbor {
		b, device := centerTree(p, rank)
		list := b.neighbors()
		l := p.hierarchy()
		if device == none || !p.trades() {
			return list
		}
		near := oneRing
		if l.Fabric == topology.Torus2D {
			near = rowsAndColumns
		}
		own := rank - device*l.cubes() // the same cube in each device
		for _, n := range near(p.roots(), device) {
			list = append(list, Neighbor{Port: abroad[n.Port], Rank: n.Rank*l.cubes() + own, PeerPort: abroad[n.PeerPort]})
		}
		return list
	})
}

func (m *member) centerRoot() {
	l := m.hierarchy()
	b, device := centerTree(m.Plan, m.Rank)
	c := newClimber(m, b)
	if !m.trades() {
		m.play(c.allReduce(m.linear(m.Count(0)))...)
		return
	}
	sub := *m.Args
	sub.Plan, sub.Rank = m.roots(), device
	if l.cubes() > 1 {
		sub.In = m.Out // sums of the device
	}
	x := newRootExchange(&member{Args: &sub, Transport: m.Transport}, rootPaths(sub.Plan, max(0, device)))
	switch {
	case l.cubes() == 1:
		x.weave.run()
	case device == none:
		m.play(c.downwards(x.chunks), c.upwards(x.chunks, func(_ int, y tl.Tile) { c.Send(c.up, y) }, c.up))
	default:
		x.between(c)
	}
}

// centerRootSchedule returns the tree, and what the roots exchange.
func centerRootSchedule(p *Plan) (s Schedule) {
	if p.trades() {
		q := p.roots()
		s = newPipelineSchedule(q, func(device int) *weave { return newWeave(q.withoutPE(device), rootPaths(q, device)) })
		if q.Ranks == p.Ranks {
			return s
		}
		for rank := range p.Ranks {
			if _, device := centerTree(p, rank); device != none {
				s.Roots = append(s.Roots, rank)
			}
		}
	}
	s.Trees = []func(int) TreeNode{func(rank int) TreeNode { n, _ := centerTree(p, rank); return n }}
	return s
}
