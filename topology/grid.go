package topology

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
