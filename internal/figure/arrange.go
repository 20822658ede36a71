package figure

import (
	"math"

	"github.com/kernbench/kernbench/topology"
)

// routes is the way of a wire between two SIPs, or a SIP and the switch, which
// counts as the one after the last.
type routes func(a, b int) []point

// cell is a place in a grid of SIPs.
type cell struct{ col, row int }

// Limits of drawing SIPs.
const (
	minCell      = 16 // pixels of a box and the gap beside it; more makes the picture grow
	maxBoxW      = 240
	maxBoxH      = 130
	mostChords   = 64  // SIPs fully connected that are drawn with their links
	oneRow       = 5   // SIPs of a line in one row
	racetrack    = 16  // SIPs of a ring in two rows
	switchOneRow = 8   // SIPs on either side of a switch in one row
	landscape    = 1.6 // of columns to rows
)

// arrange places the SIPs in an area, which grows if it must, and says how links
// run. Boxes are in the order of SIPs; routes is nil where links are too many.
func (p *plan) arrange(in *rect) ([]rect, routes) {
	sips := p.Spec().System.SIPs
	n := sips.Count
	switch sips.Topology {
	case topology.FullyConnected:
		if n > mostChords {
			cols := isqrt(float64(n) * landscape)
			boxes := grid(in, rowMajor(n, cols), cols, (n+cols-1)/cols)
			return boxes, nil
		}
		return circle(*in, n)
	case topology.Switch:
		return p.besideSwitch(in)
	case topology.Ring1D:
		cells, cols, rows := ringCells(n)
		boxes := grid(in, cells, cols, rows)
		return boxes, func(a, b int) []point { return straight(boxes[a], boxes[b]) }
	case topology.Line:
		cells, cols, rows := snake(n)
		boxes := grid(in, cells, cols, rows)
		return boxes, func(a, b int) []point { return straight(boxes[a], boxes[b]) }
	}
	cols, rows := p.SIPGrid()
	cells := rowMajor(n, cols)
	boxes := grid(in, cells, cols, rows)
	return boxes, func(a, b int) []point {
		dc, dr := cells[b].col-cells[a].col, cells[b].row-cells[a].row
		switch {
		case dc > 1:
			return around(boxes[a], boxes[b], *in, cols, rows)
		case dr > 1:
			return transpose(around(flip(boxes[a]), flip(boxes[b]), flip(*in), rows, cols))
		}
		return straight(boxes[a], boxes[b])
	}
}

func rowMajor(n, cols int) []cell {
	cells := make([]cell, n)
	for i := range cells {
		cells[i] = cell{i % cols, i / cols}
	}
	return cells
}

// snake lays a line in rows that run to and fro.
func snake(n int) (cells []cell, cols, rows int) {
	cols = n
	if n > oneRow {
		cols = isqrt(float64(n) * landscape)
	}
	cells = rowMajor(n, cols)
	for i, c := range cells {
		if c.row%2 == 1 {
			cells[i].col = cols - 1 - c.col
		}
	}
	return cells, cols, (n + cols - 1) / cols
}

// ringCells lays a ring on a grid so that neighbours are next to each other: from
// the top left in rows that run to and fro beside the first column, and back up
// that. If SIPs are too few to fill the grid, the last row is shorter.
func ringCells(n int) (cells []cell, cols, rows int) {
	if n <= 2 {
		return rowMajor(n, n), n, 1
	}
	rows = 2
	if n > racetrack {
		rows = 2 * isqrt(float64(n)/landscape/4) // even, or the last row would end at the right
	}
	cols = (n + rows - 1) / rows
	missing := cols*rows - n
	cells = append(cells, cell{0, 0})
	for row := range rows {
		for i := 1; i < cols; i++ {
			col := i
			if row%2 == 1 {
				col = cols - i
			}
			if row == rows-1 && col <= missing {
				continue
			}
			cells = append(cells, cell{col, row})
		}
	}
	for row := rows - 1; row > 0; row-- {
		cells = append(cells, cell{0, row})
	}
	return cells[:n], cols, rows
}

// grid places boxes in the cells of an area.
func grid(in *rect, cells []cell, cols, rows int) []rect {
	in.w, in.h = max(in.w, cols*minCell), max(in.h, rows*minCell)
	cw, ch := in.w/cols, in.h/rows
	w, h := min(maxBoxW, cw*62/100), min(maxBoxH, ch*58/100)
	if n := len(cells); n > racetrack {
		w, h = min(w, h*2), min(h, w) // squarer
	}
	boxes := make([]rect, len(cells))
	for i, c := range cells {
		boxes[i] = rect{in.x + c.col*cw + (cw-w)/2, in.y + c.row*ch + (ch-h)/2, w, h}
	}
	return boxes
}

// straight is the line between the facing sides of two boxes.
func straight(a, b rect) []point {
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

// around is the way of a wrap link from the first box of a row to the last: out
// on the left, under the row between it and the next, and in from the right. It
// leaves a row close to it and runs under it further off, so that the wraps of
// rows and of columns keep apart where they pass each other.
func around(first, last, in rect, cols, rows int) []point {
	gapX, gapY := in.w/cols-first.w, in.h/rows-first.h
	left, right, under := first.x-max(gapX/10, 1), last.right()+max(gapX/10, 1), first.bottom()+max(gapY/4, 1)
	y := first.centre().y
	return []point{{first.x, y}, {left, y}, {left, under}, {right, under}, {right, y}, {last.right(), y}}
}

// flip and transpose exchange rows and columns.
func flip(r rect) rect { return rect{r.y, r.x, r.h, r.w} }

func transpose(path []point) []point {
	for i, q := range path {
		path[i] = point{q.y, q.x}
	}
	return path
}

// circle places boxes around an ellipse, beyond its tangents. Links run straight
// from box to box; where such a line would cross a third box, they all run between
// the feet of the boxes on the ellipse, whose chords cross none.
func circle(in rect, n int) ([]rect, routes) {
	w, h := max(min(maxBoxW, 2*in.w/(n+4)), 36), max(min(maxBoxH, 2*in.h/(n+4)), 18)
	rx, ry, c := float64(in.w/2-w), float64(in.h/2-h), in.centre()
	boxes, feet := make([]rect, n), make([]point, n)
	for i := range n {
		sin, cos := math.Sincos(2*math.Pi*float64(i)/float64(n) - math.Pi/2)
		feet[i] = point{c.x + int(math.Round(rx*cos)), c.y + int(math.Round(ry*sin))}
		// The unit normal, and how far along it a box clears the tangent.
		nx, ny := cos/rx, sin/ry
		length := math.Hypot(nx, ny)
		nx, ny = nx/length, ny/length
		away := math.Abs(nx)*float64(w)/2 + math.Abs(ny)*float64(h)/2
		boxes[i] = rect{feet[i].x + int(math.Round(nx*away)) - w/2, feet[i].y + int(math.Round(ny*away)) - h/2, w, h}
	}
	line := func(a, b int) []point {
		return []point{boxes[a].edge(boxes[b].centre()), boxes[b].edge(boxes[a].centre())}
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

// unobstructed reports whether the lines between boxes stay out of all others.
func unobstructed(boxes []rect, line routes) bool {
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

// besideSwitch places the SIPs in rows above and below a bar.
func (p *plan) besideSwitch(in *rect) ([]rect, routes) {
	n := p.Spec().System.SIPs.Count
	cols, side := (n+1)/2, 1 // rows on either side
	if cols > switchOneRow {
		side = isqrt(float64(n) / landscape / 4)
		cols = (n + 2*side - 1) / (2 * side)
	}
	rows := 2*side + 1 // and one for the bar
	cells := rowMajor(n, cols)
	for i, c := range cells {
		if c.row >= side {
			cells[i].row++
		}
	}
	boxes := grid(in, cells, cols, rows)
	bar := p.switchBar(*in, boxes)
	return boxes, func(a, _ int) []point {
		box := boxes[a]
		x, edge, from := box.centre().x, bar.y, box.bottom()
		if box.y > bar.y {
			edge, from = bar.bottom(), box.y
		}
		if row := cells[a].row; row == side-1 || row == side+1 {
			return []point{{x, from}, {x, edge}}
		}
		trunk := box.right() + max((in.w/cols-box.w)/3, 1) // between columns
		return []point{{box.right(), box.centre().y}, {trunk, box.centre().y}, {trunk, edge}}
	}
}

// switchBar is the central switch: a bar in the middle, as wide as the area.
func (p *plan) switchBar(in rect, boxes []rect) rect {
	h := min(64, max(boxes[0].h, 24))
	return rect{in.x, in.centre().y - h/2, in.w, h}
}
