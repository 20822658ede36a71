package topology

// layout places components in the plane of a SIP. The IO chiplet is a strip
// one pitch high along the top; the dies of the cube mesh lie below it, a gap
// apart; a router is in the centre of its cell of a die. What hangs on a
// router sits a quarter pitch off it, each kind on its own side, so that no
// wire has zero length.
type layout struct {
	pitch, gap Micrometres
	noc, mesh  grid
}

// offsets places what hangs on a router, in sixteenths of the pitch from it. Of the units of
// a PE the DMA and the CPU are nearest to the router, each unit beside those it feeds.
var offsets = [...]struct{ x, y int }{
	KindCubeCPU: {4, 0}, KindSRAM: {-4, 0}, KindHBM: {0, 4},
	KindPECPU: {-1, -4}, KindDMA: {0, -4}, KindIPCQ: {1, -4},
	KindScheduler: {-1, -5}, KindTCM: {0, -5}, KindFetchStore: {1, -5},
	KindGEMM: {0, -6}, KindMath: {1, -6},
}

// off is the point a number of sixteenths of the pitch from p.
func (l layout) off(p Point, x, y int) Point {
	return Point{p.X + Micrometres(x)*l.pitch/16, p.Y + Micrometres(y)*l.pitch/16}
}

// die is the top left corner of a cube.
func (l layout) die(cube int) Point {
	x, y := l.mesh.at(cube)
	return Point{
		X: Micrometres(x) * (Micrometres(l.noc.w)*l.pitch + l.gap),
		Y: l.pitch + l.gap + Micrometres(y)*(Micrometres(l.noc.h)*l.pitch+l.gap),
	}
}

func (l layout) router(cube, index int) Point {
	x, y := l.noc.at(index)
	return l.off(l.die(cube), 16*x+8, 16*y+8)
}

// on returns the place of a component that hangs on a router.
func (l layout) on(cube, router int, kind Kind) Point {
	return l.off(l.router(cube, router), offsets[kind].x, offsets[kind].y)
}

// port is at the die edge, half a pitch from its router.
func (l layout) port(cube int, d Direction) Point {
	return l.off(l.router(cube, portRouter(l.noc, d)), 8*steps[d].x, 8*steps[d].y)
}

// ioSwitch is in the centre of the IO chiplet.
func (l layout) ioSwitch() Point {
	last := l.die(l.mesh.w - 1)
	return l.off(Point{X: (last.X + Micrometres(l.noc.w)*l.pitch) / 2}, 0, 8)
}

// ioUCIe faces the north port of the cube below it.
func (l layout) ioUCIe(col int) Point { return Point{l.port(col, North).X, l.pitch} }

// portRouter returns the router that the UCIe port of a side hangs on, in the
// middle of its edge: as far from the middle of the NoC as a row or column goes.
func portRouter(noc grid, d Direction) int {
	along := func(n, step int) int { return min(max((n-1)/2+step*n, 0), n-1) }
	return along(noc.h, steps[d].y)*noc.w + along(noc.w, steps[d].x)
}

// peSites is the router of each PE of a cube. Corner blocks come in the order
// NW, NE, SW, SE: one corner is the whole mesh, two are its left and right
// halves, four its quadrants. The PEs of a corner take the routers of its block
// row by row from the outer corner inwards, round and round.
func peSites(layout PELayout, noc grid) []int {
	var sites []int
	for corner := range layout.Corners {
		left, right, top, bottom := 0, noc.w, 0, noc.h
		if layout.Corners > 1 {
			left, right = half(noc.w, corner%2)
		}
		if layout.Corners > 2 {
			top, bottom = half(noc.h, corner/2)
		}
		w, h := right-left, bottom-top
		for i := range layout.PEPerCorner {
			r := i % (w * h)
			row, col := top+r/w, left+r%w
			if corner%2 == 1 { // eastern
				col = right - 1 - r%w
			}
			if corner/2 == 1 { // southern
				row = bottom - 1 - r/w
			}
			sites = append(sites, row*noc.w+col)
		}
	}
	return sites
}

// half is the first or second half of n rows or columns; the first has the odd
// one.
func half(n, which int) (from, to int) {
	mid := (n + 1) / 2
	if which == 0 {
		return 0, mid
	}
	return mid, n
}

// Half returns the half of its cube that a PE is in, by router columns: 0 is the
// left one, 1 the right one.
func (g *Graph) Half(pe int) int {
	col, _ := g.noc.at(g.sites[pe])
	_, mid := half(g.noc.w, 0)
	return col / mid
}
