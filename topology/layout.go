package topology

// layout computes the positions of components in the plane of a SIP. The IO chiplet is a
// strip along the top, one pitch high. The dies of the cube mesh are below it, with a gap
// between them. A router is in the centre of its cell of a die. Components connected to a
// router are a quarter pitch away from it, each kind on its own side, so no wire has
// length zero.
type layout struct {
	pitch, gap Micrometres
	noc, mesh  grid
}

// offsets is the distance of components from their router, in sixteenths of the pitch. Of
// the units of a PE, the CPU, DMA and IPCQ are nearest to the router. Each unit is next to
// the units that it feeds.
var offsets = [...]struct{ x, y int }{
	KindCubeCPU: {4, 0}, KindSRAM: {-4, 0}, KindHBM: {0, 4},
	KindPECPU: {-1, -4}, KindDMA: {0, -4}, KindIPCQ: {1, -4},
	KindScheduler: {-1, -5}, KindTCM: {0, -5}, KindFetchStore: {1, -5},
	KindGEMM: {0, -6}, KindMath: {1, -6},
}

// offset returns the point that is x sixteenths of the pitch to the right of p and y
// sixteenths below p.
func (l layout) offset(p Point, x, y int) Point {
	return Point{p.X + Micrometres(x)*l.pitch/16, p.Y + Micrometres(y)*l.pitch/16}
}

// die returns the position of the top left corner of a cube's die.
func (l layout) die(cube int) Point {
	x, y := l.mesh.position(cube)
	return Point{
		X: Micrometres(x) * (Micrometres(l.noc.w)*l.pitch + l.gap),
		Y: l.pitch + l.gap + Micrometres(y)*(Micrometres(l.noc.h)*l.pitch+l.gap),
	}
}

func (l layout) router(cube, index int) Point {
	x, y := l.noc.position(index)
	return l.offset(l.die(cube), 16*x+8, 16*y+8)
}

// component returns the position of a component that is connected to a router.
func (l layout) component(cube, router int, kind Kind) Point {
	return l.offset(l.router(cube, router), offsets[kind].x, offsets[kind].y)
}

// port returns the position of a UCIe port: at the die edge, half a pitch from its router.
func (l layout) port(cube int, d Direction) Point {
	return l.offset(l.router(cube, portRouter(l.noc, d)), 8*steps[d].x, 8*steps[d].y)
}

// ioSwitch returns the position of the fabric switch: the centre of the IO chiplet.
func (l layout) ioSwitch() Point {
	last := l.die(l.mesh.w - 1)
	return l.offset(Point{X: (last.X + Micrometres(l.noc.w)*l.pitch) / 2}, 0, 8)
}

// ioUCIe returns the position of the port of the IO chiplet in column col. The port is
// above the north port of the cube in that column.
func (l layout) ioUCIe(col int) Point { return Point{l.port(col, North).X, l.pitch} }

// portRouter returns the router that the UCIe port of a side is connected to: the router
// in the middle of that edge of the NoC.
func portRouter(noc grid, d Direction) int {
	along := func(n, step int) int { return min(max((n-1)/2+step*n, 0), n-1) }
	return along(noc.h, steps[d].y)*noc.w + along(noc.w, steps[d].x)
}

// peSites returns the router of each PE of a cube. The NoC is divided into blocks, one for
// each corner, in the order NW, NE, SW, SE. With one corner, the block is the whole NoC;
// with two corners, the blocks are its left and right halves; with four, its quadrants. The
// PEs of a corner use the routers of the block row by row, from the outer corner inwards.
// If there are more PEs than routers, the PEs start again at the first router.
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

// half returns the range of the first half of n rows or columns if `which` is 0, and of the
// second half if `which` is 1. If n is odd, the first half is larger.
func half(n, which int) (from, to int) {
	mid := (n + 1) / 2
	if which == 0 {
		return 0, mid
	}
	return mid, n
}

// Half returns 0 for a PE in the left half of its cube, and 1 for a PE in the right half.
// It divides the columns of routers into halves; the left half is larger if their number is
// odd.
func (g *Graph) Half(pe int) int {
	col, _ := g.noc.position(g.sites[pe])
	_, mid := half(g.noc.w, 0)
	return col / mid
}
