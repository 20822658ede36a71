package ccl

import "github.com/kernbench/kernbench/topology"

// Layout is the positions of the ranks of a group: on the devices of a fabric, row by row,
// and within each device on its cubes, row by row. Rank r is on cube r mod cubes of device
// r / cubes. The zero Layout means that the positions are not known.
type Layout struct {
	Fabric       topology.Shape
	W, H         int // columns and rows of devices
	CubeW, CubeH int // columns and rows of cubes with a rank on each device
}

// NewLayout returns the layout of a group whose rank i is PE pes[i] of the system. The
// layout is known if three conditions hold. First, all SIPs have ranks, and the ranks are
// in the order of the SIPs. Second, each SIP has either one rank, on the same cube of each
// SIP, or one rank on every cube. Third, all ranks are on the same PE of their cubes.
// Otherwise NewLayout returns the zero Layout.
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
	step := sips * cubes / len(pes) * s.PEsPerCube() // PEs from one rank to the next
	for i, pe := range pes {
		if pe != pes[0]+i*step {
			return Layout{}
		}
	}
	l.Fabric = s.System.SIPs.Topology
	l.W, l.H = g.SIPGrid()
	return l
}

// cubes returns how many cubes of each device have a rank.
func (l *Layout) cubes() int { return l.CubeW * l.CubeH }

// known reports whether the layout gives the positions of the given number of ranks.
func (l *Layout) known(ranks int) bool {
	return l.W > 0 && l.H > 0 && l.cubes() > 0 && l.W*l.H*l.cubes() == ranks
}

// grid is a grid of ranks, row by row.
type grid struct {
	w, h int
	// wrap is set if the ends of rows and columns are as near as other neighbours.
	wrap bool
}

// grid returns the grid of the ranks. If each device has one rank, it is the grid of the
// devices. Otherwise it is the most square grid, at least as wide as high; a prime number
// of ranks forms one row.
func (p *Plan) grid() grid {
	if p.Layout.known(p.Ranks) && p.Layout.cubes() == 1 {
		return grid{p.Layout.W, p.Layout.H, p.Layout.wraps()}
	}
	return squareGrid(p.Ranks)
}

// wraps reports whether rows of devices wrap: the first and the last device of a row are as
// near to each other as any two neighbours.
func (l *Layout) wraps() bool {
	return l.Fabric != topology.Line && l.Fabric != topology.Mesh2DNoWrap
}

// squareGrid returns the most square grid that has exactly the given number of ranks.
func squareGrid(ranks int) grid {
	w, h := topology.MostSquare(ranks)
	return grid{w, h, true}
}

// cycle returns the coordinates of a row of n ranks in the order of a ring through all of
// them. If the row does not wrap, the ring is folded: out over the even coordinates and
// back over the odd ones, so that no hop is longer than two links.
func (g grid) cycle(n int) []int {
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

// ring returns a ring through all ranks of the grid, in which consecutive ranks are
// neighbours where that is possible. If the grid is one row or one column, the ring follows
// it. Otherwise the ring goes through all rows in alternating directions and returns along
// the first column, which the rows leave out. That needs an even number of rows, or an even
// number of columns for the transposed grid. If both are odd, one hop is longer.
func (g grid) ring() []int {
	switch {
	case g.w == 1 || g.h == 1:
		return g.cycle(g.w * g.h)
	case g.h%2 == 1:
		order := grid{g.h, g.w, g.wrap}.snake()
		for i, at := range order { // convert from the transposed grid
			order[i] = at%g.h*g.w + at/g.h
		}
		return order
	}
	return g.snake()
}

// snake returns the ring through all ranks of a grid with an even number of rows (see
// ring).
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
