package draw

import (
	"errors"
	"fmt"
	"math"
)

// Network is machines side by side: their nodes as boxes, their links as lines.
type Network struct {
	Title, Subtitle, Note string
	Panels                []Panel
}

// Panel is one machine of a [Network].
type Panel struct {
	Title string // above it
	Nodes []Node
	Links [][2]int // indexes of nodes
	Cells [2]int   // columns and rows of small boxes in each node; zero for none
}

// Node is a place in steps between neighbours, to the right and down.
type Node struct {
	Name string
	X, Y float64
}

func (n Network) check() error {
	if len(n.Panels) == 0 {
		return errors.New("no panels: give at least one")
	}
	for _, p := range n.Panels {
		if len(p.Nodes) == 0 {
			return fmt.Errorf("panel %q has no nodes: give at least one", p.Title)
		}
		for _, l := range p.Links {
			if a, b := l[0], l[1]; a < 0 || b < 0 || a >= len(p.Nodes) || b >= len(p.Nodes) || a == b {
				return fmt.Errorf("panel %q: a link from node %d to %d: there are 0 to %d", p.Title, a, b, len(p.Nodes)-1)
			}
		}
	}
	return nil
}

// Sizes in steps between neighbours.
const (
	nodeSide = 0.62
	linkBend = 0.22 // beyond the box that a link goes round
)

const nodeFill colour = 0xd5f0e7 // a tint of the colour of its outline

func (n Network) draw(c *canvas) error {
	c.page(slideW, slideH, n.Title, n.Subtitle)
	if err := n.check(); err != nil {
		return err
	}
	title := style{size: sizeLabel, bold: true, anchor: atMiddle}
	area := c.frame(n.Title, n.Subtitle, n.Note, nil).inset(0, title.lineHeight()+gap, 0, 0)
	width := area.w / float64(len(n.Panels))
	step := width // all panels have the same
	for _, panel := range n.Panels {
		w, h := panel.span()
		step = min(step, width/(w+nodeSide+2*linkBend), area.h/(h+nodeSide+2*linkBend))
	}
	for i, panel := range n.Panels {
		x := area.x + width*(float64(i)+0.5)
		c.text(title, point{x, area.y - gap - title.lineHeight() + title.size/2}, panel.Title)
		panel.draw(c, point{x, area.centre().y}, step)
	}
	return nil
}

// span is how many steps nodes are apart at most.
func (n Panel) span() (w, h float64) {
	x, y := n.bounds()
	return x[1] - x[0], y[1] - y[0]
}

func (n Panel) bounds() (x, y [2]float64) {
	x, y = [2]float64{n.Nodes[0].X, n.Nodes[0].X}, [2]float64{n.Nodes[0].Y, n.Nodes[0].Y}
	for _, node := range n.Nodes {
		x, y = [2]float64{min(x[0], node.X), max(x[1], node.X)}, [2]float64{min(y[0], node.Y), max(y[1], node.Y)}
	}
	return x, y
}

// draw puts the middle of the panel at a point.
func (n Panel) draw(c *canvas, middle point, step float64) {
	x, y := n.bounds()
	cx, cy := (x[0]+x[1])/2, (y[0]+y[1])/2
	on := func(n Node) point { return middle.add(point{n.X - cx, n.Y - cy}.scale(step)) }
	for _, l := range n.Links {
		a, b := n.Nodes[l[0]], n.Nodes[l[1]]
		var way path
		way.move(on(a))
		if n.obstructed(a, b) {
			way.quad(on(n.around(a, b)), on(b))
		} else {
			way.line(on(b))
		}
		c.shape(way, paint{line: seriesColour(0), width: lineWidth})
	}
	for _, node := range n.Nodes { // on top of the links
		n.box(c, node.Name, on(node), step*nodeSide)
	}
}

// obstructed reports whether the line between two nodes passes a third.
func (n Panel) obstructed(a, b Node) bool {
	length := math.Hypot(b.X-a.X, b.Y-a.Y)
	for _, c := range n.Nodes {
		along := ((c.X-a.X)*(b.X-a.X) + (c.Y-a.Y)*(b.Y-a.Y)) / length
		off := math.Abs((c.X-a.X)*(b.Y-a.Y)-(c.Y-a.Y)*(b.X-a.X)) / length
		if along > nodeSide/2 && along < length-nodeSide/2 && off < nodeSide/2 {
			return true
		}
	}
	return false
}

// around is the point that draws a link between two nodes away from the line, on the
// side that is away from the middle of the panel.
func (n Panel) around(a, b Node) Node {
	x, y := n.bounds()
	length := math.Hypot(b.X-a.X, b.Y-a.Y)
	side := Node{X: (b.Y - a.Y) / length, Y: (a.X - b.X) / length}
	middle := Node{X: (a.X + b.X) / 2, Y: (a.Y + b.Y) / 2}
	if (middle.X-(x[0]+x[1])/2)*side.X+(middle.Y-(y[0]+y[1])/2)*side.Y < 0 {
		side.X, side.Y = -side.X, -side.Y
	}
	const off = 2 * (nodeSide/2 + linkBend) // the curve goes half as far
	return Node{X: middle.X + off*side.X, Y: middle.Y + off*side.Y}
}

// box draws a node: its name, and small boxes below it.
func (n Panel) box(c *canvas, name string, at point, side float64) {
	r := rect{at.x - side/2, at.y - side/2, side, side}
	c.shape(box(r, 0), paint{fill: nodeFill, line: seriesColour(2), width: 2})
	text := style{size: sizeTick, bold: true, anchor: atMiddle}
	if n.Cells[0] == 0 || n.Cells[1] == 0 {
		c.text(text, at, name)
		return
	}
	c.text(text, point{at.x, r.y + gap/2 + text.lineHeight()/2}, name)
	r = r.inset(gap/2, gap/2+text.lineHeight(), gap/2, gap/2)
	pitch := min(r.w/float64(n.Cells[0]), r.h/float64(n.Cells[1]))
	for row := range n.Cells[1] {
		for col := range n.Cells[0] {
			cell := rect{at.x + pitch*(float64(col)-float64(n.Cells[0])/2), r.y + pitch*float64(row), pitch, pitch}
			c.box(cell.inset(pitch*0.15, pitch*0.15, pitch*0.15, pitch*0.15), seriesColour(2))
		}
	}
}
