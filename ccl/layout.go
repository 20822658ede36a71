package ccl

import "github.com/kernbench/kernbench/topology"

// Layout is where the ranks of a group lie: on the devices of a fabric, row by row, and
// of each device on its cubes, row by row. Rank r is on cube r mod cubes of device
// r / cubes. The zero Layout says nothing.
type Layout struct {
	Fabric       topology.Shape
	W, H         int // devices
	CubeW, CubeH int // cubes of each that have a rank
}

// NewLayout returns the layout of ranks on some PEs of a system, if they are on all SIPs in
// order, and on the same PE of the same cubes each: one, or all of them.
func NewLayout(g *topology.Graph, pes []int) (l Layout) {
	s := g.Spec()
	sips, cubes := s.System.SIPs.Count, s.CubesPerSIP()
	switch len(pes) {
	case sips:
		l.CubeW, l.CubeH = 1, 1
	case sips * cubes:
		l.CubeW, l.CubeH = s.SIP.CubeMesh.W, s.SIP.CubeMesh.H
	default:
		return Layout{}
	}
	step := sips * cubes / len(pes) * s.PEsPerCube() // from one to the next
	for i, pe := range pes {
		if pe != pes[0]+i*step {
			return Layout{}
		}
	}
	l.Fabric = s.System.SIPs.Topology
	l.W, l.H = g.SIPGrid()
	return l
}

// cubes returns how many ranks a device has.
func (l *Layout) cubes() int { return l.CubeW * l.CubeH }

// known reports whether the layout says where a number of ranks are.
func (l *Layout) known(ranks int) bool {
	return l.W > 0 && l.H > 0 && l.cubes() > 0 && l.W*l.H*l.cubes() == ranks
}

// grid is a grid of ranks, row by row.
type grid struct {
	w, h int
	// wrap says that the ends of rows and columns are near each other.
	wrap bool
}

// grid returns the grid that the ranks lie on: that of the devices, if each has one rank. If
// that is not known it is the most square one, at least as wide as high; of a prime number
// of ranks that is one row.
func (p *Plan) grid() grid {
	if p.Layout.known(p.Ranks) && p.Layout.cubes() == 1 {
		return grid{p.Layout.W, p.Layout.H, p.Layout.wraps()}
	}
	return square(p.Ranks)
}

// wraps reports whether the first and the last device of a row are as near as any two.
func (l *Layout) wraps() bool {
	return l.Fabric != topology.Line && l.Fabric != topology.Mesh2DNoWrap
}

// square returns the most square grid of a number of ranks.
func square(ranks int) grid {
	w, h := topology.MostSquare(ranks)
	return grid{w, h, true}
}

// line returns the places of a row of n in the order of a ring through all of them. If the row
// does not wrap, the ring is folded: out over the even places and back over the odd ones, so
// that no hop is longer than two.
func (g grid) line(n int) []int {
	order := make([]int, n)
	for i := range order {
		switch {
		case g.wrap || n <= 2:
			order[i] = i
		case 2*i < n:
			order[i] = 2 * i
		default:
			order[i] = 2*(n-i) - 1
		}
	}
	return order
}

// ring returns a ring through all ranks of the grid, each next to the one before where that
// is possible: along a row or a column of a grid that is one, and else in alternating
// directions over all rows but for the first column, which leads back. It needs an even number
// of rows, or of columns; without either, one hop is long.
func (g grid) ring() []int {
	switch {
	case g.w == 1 || g.h == 1:
		return g.line(g.w * g.h)
	case g.h%2 == 1:
		order := grid{g.h, g.w, g.wrap}.snake()
		for i, at := range order { // of the transposed grid
			order[i] = at%g.h*g.w + at/g.h
		}
		return order
	}
	return g.snake()
}

// snake returns the ring of a grid with an even number of rows.
func (g grid) snake() (order []int) {
	order = append(order, 0)
	for row := range g.h {
		for i := range g.w - 1 {
			column := i + 1
			if row%2 == 1 {
				column = g.w - 1 - i
			}
			order = append(order, row*g.w+column)
		}
	}
	for row := g.h - 1; row > 0; row-- {
		order = append(order, row*g.w)
	}
	return order
}
