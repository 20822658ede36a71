package chart

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/plot/vg"
)

// Network is machines side by side: their nodes as boxes, their links as lines.
type Network struct {
	Title, Note string
	Panels      []Panel
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

func (n Network) heading() string { return n.Title }

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

var nodeFill = rgb(0xd5f0e7) // a tint of the colour of its outline

func (n Network) draw(p pen) {
	area := p.frame(n.Title, n.Note, nil)
	title := style{size: sizeLabel, bold: true, across: atMiddle}
	width := (area.Max.X - area.Min.X) / vg.Length(len(n.Panels))
	height := area.Max.Y - area.Min.Y - title.lineHeight() - gap
	step := width // all panels have the same
	for _, panel := range n.Panels {
		w, h := panel.span()
		step = min(step, width/vg.Length(w+nodeSide+2*linkBend), height/vg.Length(h+nodeSide+2*linkBend))
	}
	for i, panel := range n.Panels {
		x := area.Min.X + width*(vg.Length(i)+0.5)
		p.text(title, vg.Point{X: x, Y: area.Max.Y - title.size/2}, panel.Title)
		panel.draw(p, vg.Point{X: x, Y: area.Min.Y + height/2}, step)
	}
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
func (n Panel) draw(p pen, middle vg.Point, step vg.Length) {
	x, y := n.bounds()
	cx, cy := (x[0]+x[1])/2, (y[0]+y[1])/2
	on := func(x, y float64) vg.Point {
		return vg.Point{X: middle.X + vg.Length(x-cx)*step, Y: middle.Y - vg.Length(y-cy)*step}
	}
	p.SetColor(colour(0))
	p.SetLineWidth(lineWidth)
	p.SetLineDash(nil, 0)
	for _, l := range n.Links {
		a, b := n.Nodes[l[0]], n.Nodes[l[1]]
		var way vg.Path
		way.Move(on(a.X, a.Y))
		if n.obstructed(a, b) {
			bend := n.around(a, b)
			way.QuadTo(on(bend.X, bend.Y), on(b.X, b.Y))
		} else {
			way.Line(on(b.X, b.Y))
		}
		p.Stroke(way)
	}
	for _, node := range n.Nodes { // on top of the links
		n.box(p, node.Name, on(node.X, node.Y), step*nodeSide)
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
func (n Panel) box(p pen, name string, at vg.Point, side vg.Length) {
	r := vg.Rectangle{Min: vg.Point{X: at.X - side/2, Y: at.Y - side/2}, Max: vg.Point{X: at.X + side/2, Y: at.Y + side/2}}
	p.box(nodeFill, r)
	outline := append(corners(r), r.Min, vg.Point{X: r.Max.X, Y: r.Min.Y})
	p.line(colour(2), 2, nil, outline...)
	text := style{size: sizeTick, bold: true, across: atMiddle}
	if n.Cells[0] == 0 || n.Cells[1] == 0 {
		p.text(text, at, name)
		return
	}
	top := r.Max.Y - gap/2 - text.lineHeight()
	p.text(text, vg.Point{X: at.X, Y: (r.Max.Y - gap/2 + top) / 2}, name)
	pitch := min((side-gap)/vg.Length(n.Cells[0]), (top-r.Min.Y-gap/2)/vg.Length(n.Cells[1]))
	for row := range n.Cells[1] {
		for col := range n.Cells[0] {
			corner := vg.Point{X: at.X + pitch*(vg.Length(col)-vg.Length(n.Cells[0])/2), Y: top - pitch*vg.Length(row+1)}
			p.box(colour(2), vg.Rectangle{Min: corner.Add(vg.Point{X: pitch * 0.15, Y: pitch * 0.15}), Max: corner.Add(vg.Point{X: pitch * 0.85, Y: pitch * 0.85})})
		}
	}
}
