package draw

import (
	"math"

	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/topology"
)

// routeFunc returns the path of a wire between SIPs a and b. The central switch, if there
// is one, has the number after the last SIP.
type routeFunc func(a, b int) []point

// gridCell is a position in a grid of SIPs.
type gridCell struct{ col, row int }

// Limits of the layout of SIPs.
const (
	minCell      = 16.0 // smallest pitch of a grid in pixels; the area grows to keep it
	maxBoxW      = 240.0
	maxBoxH      = 130.0
	maxChords    = 64  // fully connected systems with more SIPs are drawn without links
	maxOneRow    = 5   // a line with more SIPs is drawn in several rows
	maxTwoRows   = 16  // a ring with more SIPs is drawn in more than two rows
	maxSwitchRow = 8   // more SIPs on one side of a switch are drawn in several rows
	landscape    = 1.6 // ratio of columns to rows
)

// arrange places the SIPs in the area `in`, which it enlarges if necessary. It returns the
// boxes of the SIPs, in the order of SIPs, and a function that returns the path of each
// link. The function is nil if there are too many links to draw.
func (p *builder) arrange(in *rect) ([]rect, routeFunc) {
	sips := p.Spec().System.SIPs
	n := sips.Count
	var cells []gridCell
	var cols, rows int
	switch sips.Topology {
	case topology.FullyConnected:
		if n > maxChords {
			cols := ceilSqrt(float64(n) * landscape)
			return placeOnGrid(in, rowMajor(n, cols), cols, (n+cols-1)/cols), nil
		}
		return placeOnEllipse(*in, n)
	case topology.Switch:
		return p.placeAroundSwitch(in)
	case topology.Ring1D:
		cells, cols, rows = ringCells(n)
	case topology.Line:
		cells, cols, rows = snakeCells(n)
	default:
		cols, rows = p.SIPGrid()
		cells = rowMajor(n, cols)
	}
	boxes := placeOnGrid(in, cells, cols, rows)
	return boxes, func(a, b int) []point {
		dc, dr := cells[b].col-cells[a].col, cells[b].row-cells[a].row
		switch {
		case dc > 1:
			return wrapPath(boxes[a], boxes[b], *in, cols, rows)
		case dr > 1:
			return transposePath(wrapPath(transposeRect(boxes[a]), transposeRect(boxes[b]), transposeRect(*in), rows, cols))
		}
		return straightPath(boxes[a], boxes[b])
	}
}

// rowMajor returns the first n cells of a grid, row by row. `cols` is the number of columns
// of the grid.
func rowMajor(n, cols int) []gridCell {
	return lists.Make(n, func(i int) gridCell { return gridCell{i % cols, i / cols} })
}

// snakeCells arranges n SIPs that form a line in rows that alternate in direction. It
// returns the cell of each SIP and the size of the grid.
func snakeCells(n int) (cells []gridCell, cols, rows int) {
	cols = n
	if n > maxOneRow {
		cols = ceilSqrt(float64(n) * landscape)
	}
	cells = rowMajor(n, cols)
	for i, c := range cells {
		if c.row%2 == 1 {
			cells[i].col = cols - 1 - c.col
		}
	}
	return cells, cols, (n + cols - 1) / cols
}

// ringCells arranges n SIPs that form a ring on a grid, so that neighbours in the ring are
// adjacent. It returns the cell of each SIP and the size of the grid. The ring starts at
// the top left. It goes row by row, in alternating directions, and leaves out the first
// column. Then it returns upwards in the first column. If there are too few SIPs to fill
// the grid, the last row is shorter.
func ringCells(n int) (cells []gridCell, cols, rows int) {
	if n <= 2 {
		return rowMajor(n, n), n, 1
	}
	rows = 2
	if n > maxTwoRows {
		rows = 2 * ceilSqrt(float64(n)/landscape/4) // even, so that the last row ends at the left
	}
	cols = (n + rows - 1) / rows
	missing := cols*rows - n
	cells = append(cells, gridCell{0, 0})
	for row := range rows {
		for i := 1; i < cols; i++ {
			col := i
			if row%2 == 1 {
				col = cols - i
			}
			if row == rows-1 && col <= missing {
				continue
			}
			cells = append(cells, gridCell{col, row})
		}
	}
	for row := rows - 1; row > 0; row-- {
		cells = append(cells, gridCell{0, row})
	}
	return cells[:n], cols, rows
}

// pitch returns the width and height of a cell, in whole pixels, if the area `in` is
// divided into cols × rows cells.
func pitch(in rect, cols, rows int) (w, h float64) {
	return math.Floor(in.w / float64(cols)), math.Floor(in.h / float64(rows))
}

// placeOnGrid returns a box for each cell of a grid. It enlarges the area if cells would be
// smaller than minCell.
func placeOnGrid(in *rect, cells []gridCell, cols, rows int) []rect {
	in.w, in.h = max(in.w, float64(cols)*minCell), max(in.h, float64(rows)*minCell)
	cw, ch := pitch(*in, cols, rows)
	w, h := math.Floor(min(maxBoxW, cw*0.56)), math.Floor(min(maxBoxH, ch*0.58))
	h = min(h, max(w, 64))
	if n := len(cells); n > maxTwoRows {
		w, h = min(w, h*2), min(h, w) // closer to squares
	}
	return lists.Make(len(cells), func(i int) rect {
		return rect{in.x + float64(cells[i].col)*cw + math.Floor((cw-w)/2), in.y + float64(cells[i].row)*ch + math.Floor((ch-h)/2), w, h}
	})
}

// straightPath returns the line between the facing sides of two boxes.
func straightPath(a, b rect) []point {
	ca, cb := a.centre(), b.centre()
	switch {
	case ca.y == cb.y && ca.x < cb.x:
		return []point{{a.right(), ca.y}, {b.x, cb.y}}
	case ca.y == cb.y:
		return []point{{a.x, ca.y}, {b.right(), cb.y}}
	case ca.y < cb.y:
		return []point{{ca.x, a.bottom()}, {cb.x, b.y}}
	}
	return []point{{ca.x, a.y}, {cb.x, b.bottom()}}
}

// wrapPath returns the path of a wrap-around link from the first box of a row to the last.
// The path leaves the first box on the left, runs between this row and the next, and enters
// the last box from the right. The path is nearer to the sides of the boxes than to their
// lower edges. Therefore the wrap-around links of rows and of columns do not coincide where
// they cross.
func wrapPath(first, last, in rect, cols, rows int) []point {
	cw, ch := pitch(in, cols, rows)
	gapX, gapY := cw-first.w, ch-first.h
	left, right, under := first.x-max(gapX/10, 1), last.right()+max(gapX/10, 1), first.bottom()+max(gapY/4, 1)
	y := first.centre().y
	return []point{{first.x, y}, {left, y}, {left, under}, {right, under}, {right, y}, {last.right(), y}}
}

// transposeRect exchanges the x and y axes of a rectangle.
func transposeRect(r rect) rect { return rect{r.y, r.x, r.h, r.w} }

// transposePath exchanges the x and y axes of a path.
func transposePath(path []point) []point {
	return lists.Make(len(path), func(i int) point { return point{path[i].y, path[i].x} })
}

// placeOnEllipse places boxes around an ellipse. Each box is outside the tangent at its own
// point of the ellipse. Links are straight lines from box to box. If one of these lines
// would cross a third box, all links instead run as chords between the points of the
// ellipse, because chords cross no box.
func placeOnEllipse(in rect, n int) ([]rect, routeFunc) {
	part := float64(n + 4)
	w, h := max(min(maxBoxW, 2*in.w/part), 36), max(min(maxBoxH, 2*in.h/part), 18)
	rx, ry, c := in.w/2-w, in.h/2-h, in.centre()
	boxes, feet := make([]rect, n), make([]point, n)
	for i := range n {
		sin, cos := math.Sincos(2*math.Pi*float64(i)/float64(n) - math.Pi/2)
		feet[i] = point{c.x + rx*cos, c.y + ry*sin}
		// Move the box along the unit normal until it is clear of the tangent.
		normal := point{cos / rx, sin / ry}
		normal = normal.scale(1 / math.Hypot(normal.x, normal.y))
		middle := feet[i].add(normal.scale(math.Abs(normal.x)*w/2 + math.Abs(normal.y)*h/2))
		boxes[i] = rectAround(middle, w, h)
	}
	line := func(a, b int) []point {
		return []point{boxes[a].exitPoint(boxes[b].centre()), boxes[b].exitPoint(boxes[a].centre())}
	}
	if unobstructed(boxes, line) {
		return boxes, line
	}
	touch := func(i int) point {
		b := boxes[i]
		return point{max(b.x, min(feet[i].x, b.right())), max(b.y, min(feet[i].y, b.bottom()))}
	}
	return boxes, func(a, b int) []point { return []point{touch(a), feet[a], feet[b], touch(b)} }
}

// exitPoint returns the point where the line from the centre of the box to an outside point
// leaves the box.
func (r rect) exitPoint(to point) point {
	c := r.centre()
	return c.lerp(to, min(r.w/2/math.Abs(to.x-c.x), r.h/2/math.Abs(to.y-c.y)))
}

// unobstructed reports whether each two boxes can be joined by a straight line that crosses
// no third box.
func unobstructed(boxes []rect, line routeFunc) bool {
	for a := range boxes {
		for b := range a {
			l := line(a, b)
			for i, r := range boxes {
				if i != a && i != b && crosses(l[0], l[1], r) {
					return false
				}
			}
		}
	}
	return true
}

// placeAroundSwitch places the SIPs in rows above and below the bar of the switch. It
// returns the boxes of the SIPs, and a function that returns the path from a SIP to the
// bar.
func (p *builder) placeAroundSwitch(in *rect) ([]rect, routeFunc) {
	n := p.Spec().System.SIPs.Count
	cols, side := (n+1)/2, 1 // side: number of rows on each side
	if cols > maxSwitchRow {
		side = ceilSqrt(float64(n) / landscape / 4)
		cols = (n + 2*side - 1) / (2 * side)
	}
	rows := 2*side + 1 // one row is the bar
	cells := rowMajor(n, cols)
	for i, c := range cells {
		if c.row >= side {
			cells[i].row++
		}
	}
	boxes := placeOnGrid(in, cells, cols, rows)
	bar := p.switchBar(*in, boxes)
	cw, _ := pitch(*in, cols, rows)
	return boxes, func(a, _ int) []point {
		box := boxes[a]
		x, edge, from := box.centre().x, bar.y, box.bottom()
		if box.y > bar.y {
			edge, from = bar.bottom(), box.y
		}
		if row := cells[a].row; row == side-1 || row == side+1 {
			return []point{{x, from}, {x, edge}}
		}
		trunk := box.right() + max((cw-box.w)/3, 1) // between columns
		return []point{{box.right(), box.centre().y}, {trunk, box.centre().y}, {trunk, edge}}
	}
}

// switchBar returns the rectangle of the central switch: a bar at half height, as wide as
// the area.
func (p *builder) switchBar(in rect, boxes []rect) rect {
	h := min(64, max(boxes[0].h, 24))
	return rect{in.x, in.centre().y - h/2, in.w, h}
}

// ceilSqrt returns the square root of x, rounded up.
func ceilSqrt(x float64) int { return int(math.Ceil(math.Sqrt(x))) }
