package topology

import (
	"math"
)

// sipGrid is the SIPs as a grid: a square when w and h are left open. Shapes of
// one dimension are one row; in those of none (fully_connected, switch) the row
// only numbers the SIPs.
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

// MostSquare returns the columns and rows of the most square grid of n, with at least as many
// columns as rows.
func MostSquare(n int) (w, h int) {
	w, h = n, 1
	for rows := 2; rows*rows <= n; rows++ {
		if n%rows == 0 {
			w, h = n/rows, rows
		}
	}
	return w, h
}

// SIPGrid is the number of columns and rows of SIPs: count and 1 unless the
// fabric has two dimensions.
func (g *Graph) SIPGrid() (w, h int) { return g.fabric.w, g.fabric.h }

// SIPAt is the column and row of a SIP in the grid.
func (g *Graph) SIPAt(sip int) (col, row int) { return g.fabric.at(sip) }

// SIPNeighbors is the SIPs next to one in the fabric, each once: north, east,
// south, west in a grid (so next, previous on a ring or line), and all others
// in rising order when fully connected or on a switch. It speaks of the shape:
// an absent link takes no neighbour away.
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

// outerLinks is the links that leave a SIP, by From and then To: between the
// host and every PCIe endpoint, and between the fabric switches. A neighbour
// pair, or a SIP and the central switch, has the given number of parallel
// links each way.
func (g *Graph) outerLinks() []Link {
	pcie, link := g.spec.Host.PCIe, g.spec.System.SIPs.Link
	var links []Link
	join := func(from, to NodeID) {
		for range link.Links {
			links = append(links, Link{From: from, To: to, Bandwidth: link.Bandwidth, Latency: link.Latency})
		}
	}
	for sip := range g.spec.System.SIPs.Count {
		links = append(links,
			Link{From: g.Host(), To: g.PCIe(sip), Bandwidth: pcie.Bandwidth, Latency: pcie.Latency},
			Link{From: g.PCIe(sip), To: g.Host(), Bandwidth: pcie.Bandwidth, Latency: pcie.Latency})
		if g.spec.System.SIPs.Topology == Switch {
			join(g.IOSwitch(sip), g.centralSwitch())
			join(g.centralSwitch(), g.IOSwitch(sip))
			continue
		}
		for _, other := range g.SIPNeighbors(sip) {
			join(g.IOSwitch(sip), g.IOSwitch(other))
		}
	}
	sortLinks(links)
	return links
}

// Direction is a side of a router, a cube or a SIP in its grid.
type Direction uint8

// The directions, in the order of ports and neighbour lists. North is the row
// above (row 0 is the top one), East the column to the right.
const (
	North Direction = iota
	East
	South
	West
	numDirections
)

// steps is the way to the neighbour on each side.
var steps = [numDirections]struct{ x, y int }{North: {0, -1}, East: {1, 0}, South: {0, 1}, West: {-1, 0}}

// opposite returns the side that a link leaving by d arrives at.
func (d Direction) opposite() Direction { return (d + 2) % numDirections }

// grid is w columns × h rows of vertices, numbered row·w + column. The NoC of
// a cube, the cubes of a SIP and the SIP fabrics with dimensions are all grids.
type grid struct {
	w, h int
	wrap bool // first and last of a row or column of three or more are joined
}

func (g grid) size() int { return g.w * g.h }

// at is the column and row of vertex i.
func (g grid) at(i int) (x, y int) { return i % g.w, i / g.w }

// neighbor is the vertex next to i on side d, if there is one. In a dimension
// of size 2 the wrap link is the direct link, so a pair is joined once.
func (g grid) neighbor(i int, d Direction) (int, bool) {
	x, y := g.at(i)
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

// toward is the side by which dimension order leaves a vertex for another one:
// along the row until the column is right, then along the column.
func (g grid) toward(from, to int) Direction {
	x, y := g.at(from)
	tx, ty := g.at(to)
	switch {
	case x != tx && g.ahead(x, tx, g.w):
		return East
	case x != tx:
		return West
	case g.ahead(y, ty, g.h):
		return South
	}
	return North
}

// ahead reports whether the way from a to b in a dimension of size n is in the
// positive direction: with wrap the shorter way round, the positive at a tie.
func (g grid) ahead(a, b, n int) bool {
	if !g.wrap || n <= 2 {
		return b > a
	}
	up := (b - a + n) % n
	return up <= n-up
}
