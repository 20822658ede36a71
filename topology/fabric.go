package topology

import (
	"math"
)

// sipGrid returns the grid of SIPs. If the shape has two dimensions, the grid has w columns
// and h rows, or is a square if w and h are not given. All other shapes are one row; for
// fully_connected and switch, the row only gives the SIPs their numbers. sipGrid returns an
// error if the SIPs do not fill the grid.
func (s *Spec) sipGrid() (grid, error) {
	sips := s.System.SIPs
	if !sips.Topology.Grid() {
		return grid{w: sips.Count, h: 1, wrap: sips.Topology == Ring1D}, nil
	}
	w, h := sips.W, sips.H
	if w == 0 && h == 0 {
		w = int(math.Round(math.Sqrt(float64(sips.Count))))
		h = w
	}
	if w*h != sips.Count {
		return grid{}, s.origin.Errorf("system.sips.count", "%d SIPs do not fill a grid of %d×%d: set w and h with w·h = %d", sips.Count, w, h, sips.Count)
	}
	return grid{w: w, h: h, wrap: sips.Topology == Torus2D}, nil
}

// MostSquare returns the columns and rows of the most square grid of n vertices that has
// at least as many columns as rows.
func MostSquare(n int) (w, h int) {
	w, h = n, 1
	for rows := 2; rows*rows <= n; rows++ {
		if n%rows == 0 {
			w, h = n/rows, rows
		}
	}
	return w, h
}

// SIPGrid returns the number of columns and rows of SIPs. If the fabric is not a grid, all
// SIPs are in one row.
func (g *Graph) SIPGrid() (w, h int) { return g.fabric.w, g.fabric.h }

// SIPAt returns the column and row of a SIP in the grid.
func (g *Graph) SIPAt(sip int) (col, row int) { return g.fabric.position(sip) }

// SIPNeighbors returns the neighbours of a SIP in the fabric, each once. In a grid the
// order is north, east, south, west. On a ring or line the next SIP comes before the
// previous SIP. In a fully connected fabric or on a switch, the neighbours are all other
// SIPs in ascending order. Neighbours follow from the shape of the fabric; absent links
// make no difference.
func (g *Graph) SIPNeighbors(sip int) []int {
	var near []int
	switch g.spec.System.SIPs.Topology {
	case FullyConnected, Switch:
		for other := range g.fabric.size() {
			if other != sip {
				near = append(near, other)
			}
		}
	default:
		for d := North; d < numDirections; d++ {
			if other, ok := g.fabric.neighbor(sip, d); ok {
				near = append(near, other)
			}
		}
	}
	return near
}

// outerLinks returns the links outside of SIPs, ordered by From and then To. These are the
// links between the host and every PCIe endpoint, and the links between the fabric
// switches. Neighbouring SIPs, or a SIP and the central switch, have the specified number
// of parallel links in each direction.
func (g *Graph) outerLinks() []Link {
	pcie, link := g.spec.Host.PCIe, g.spec.System.SIPs.Link
	var links []Link
	connect := func(from, to NodeID) {
		for range link.Links {
			links = append(links, Link{From: from, To: to, Bandwidth: link.Bandwidth, Latency: link.Latency})
		}
	}
	for sip := range g.spec.System.SIPs.Count {
		links = append(links,
			Link{From: g.Host(), To: g.PCIe(sip), Bandwidth: pcie.Bandwidth, Latency: pcie.Latency},
			Link{From: g.PCIe(sip), To: g.Host(), Bandwidth: pcie.Bandwidth, Latency: pcie.Latency})
		if g.spec.System.SIPs.Topology == Switch {
			connect(g.IOSwitch(sip), g.centralSwitch())
			connect(g.centralSwitch(), g.IOSwitch(sip))
			continue
		}
		for _, other := range g.SIPNeighbors(sip) {
			connect(g.IOSwitch(sip), g.IOSwitch(other))
		}
	}
	sortLinks(links)
	return links
}

// Direction is a side of a router, a cube or a SIP in its grid.
type Direction uint8

// The directions, in the order of ports and neighbour lists. North is the row above (row
// 0 is the top row), East the column to the right.
const (
	North Direction = iota
	East
	South
	West
	numDirections
)

// steps is the offset in columns and rows of the neighbour on each side.
var steps = [numDirections]struct{ x, y int }{North: {0, -1}, East: {1, 0}, South: {0, 1}, West: {-1, 0}}

// opposite returns the side at which a link that leaves on side d arrives.
func (d Direction) opposite() Direction { return (d + 2) % numDirections }

// grid is a grid of w columns × h rows of vertices, numbered row·w + column. The NoC of a
// cube, the cubes of a SIP and the SIP fabrics with dimensions are grids.
type grid struct {
	w, h int
	wrap bool // connect the first and last vertex of rows and columns of three or more
}

func (g grid) size() int { return g.w * g.h }

// position returns the column and row of vertex i.
func (g grid) position(i int) (x, y int) { return i % g.w, i / g.w }

// neighbor returns the vertex next to i on side d, and reports whether there is one. In a
// dimension of size 2 the wrap link would repeat the direct link, so there is only the
// direct link.
func (g grid) neighbor(i int, d Direction) (int, bool) {
	x, y := g.position(i)
	x, y = x+steps[d].x, y+steps[d].y
	if g.wrap && g.w > 2 {
		x = (x + g.w) % g.w
	}
	if g.wrap && g.h > 2 {
		y = (y + g.h) % g.h
	}
	if x < 0 || x >= g.w || y < 0 || y >= g.h {
		return 0, false
	}
	return y*g.w + x, true
}

// nextSide returns the side on which dimension-order routing leaves a vertex on the way to
// another vertex. The route first follows the row to the column of the other vertex, then
// that column.
func (g grid) nextSide(from, to int) Direction {
	x, y := g.position(from)
	tx, ty := g.position(to)
	switch {
	case x != tx && g.goesForward(x, tx, g.w):
		return East
	case x != tx:
		return West
	case g.goesForward(y, ty, g.h):
		return South
	}
	return North
}

// goesForward reports whether the route from a to b in a dimension of size n goes in the
// positive direction. With wrap links the route takes the shorter way round, and the
// positive direction at a tie.
func (g grid) goesForward(a, b, n int) bool {
	if !g.wrap || n <= 2 {
		return b > a
	}
	up := (b - a + n) % n
	return up <= n-up
}
