package figure

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/internal/printable"
)

// Diagram is a laid-out picture.
type Diagram struct {
	name   string // of the picture, in a file
	title  string
	source string // of the system
	hash   string
	prefix string // of the names of what is in the picture
	w, h   int    // of the area that views draw in

	frames []frame
	blocks []block
	wires  []wire
	notes  []label // text that belongs to no block
	legend []entry
}

// subtitle says which system it is, in at most a number of characters: a source
// with many changes is cut.
func (d *Diagram) subtitle(most int) string {
	hash, source := fmt.Sprintf(" (hash %s)", d.hash), []rune(printable.Line(d.source))
	if room := most - len(hash); len(source) > room {
		source = append(source[:room-1:room-1], '…')
	}
	return string(source) + hash
}

type point struct{ x, y int }

type rect struct{ x, y, w, h int }

func (r rect) centre() point { return point{r.x + r.w/2, r.y + r.h/2} }
func (r rect) right() int    { return r.x + r.w }
func (r rect) bottom() int   { return r.y + r.h }

// edge is where the line from the middle to a point outside leaves the box.
func (r rect) edge(to point) point {
	c := r.centre()
	dx, dy := to.x-c.x, to.y-c.y
	// The nearer of the sides that the line meets, as a fraction of the way.
	n, of := r.w, 2*max(dx, -dx)
	if m, f := r.h, 2*max(dy, -dy); of == 0 || f != 0 && m*of < n*f {
		n, of = m, f
	}
	return point{c.x + dx*n/of, c.y + dy*n/of}
}

func (r rect) overlaps(s rect) bool {
	return r.x < s.right() && s.x < r.right() && r.y < s.bottom() && s.y < r.bottom()
}
func (r rect) holds(s rect) bool {
	return r.x <= s.x && r.y <= s.y && s.right() <= r.right() && s.bottom() <= r.bottom()
}

// frame is a box around others: a SIP, a die, a PE.
type frame struct {
	rect
	name string
	text string // in its top left corner
	in   int    // frame around it, -1 for none
}

// block is a component, or several that a view shows as one.
type block struct {
	rect
	name  string   // of the component; of several, separated by spaces
	lines []string // the first is in bold; what does not fit is left to the tooltip
	look  look
	in    int // frame around it, -1 for none
}

// wire joins two blocks: all links between them, both ways unless it says oneWay.
type wire struct {
	from, to int     // blocks
	path     []point // nil: too many to draw, told by a note instead
	rounded  bool    // corners of the path
	look     look
	oneWay   bool
	state    state
	name     string  // tooltip
	pairs    []pair  // the components that its links join
	thick    float64 // of the line; 0 is usual
	label    *label
}

// label is a line of text around a point.
type label struct {
	at     point // middle of the line, or its left or right end
	text   string
	size   int
	bold   bool
	left   bool
	right  bool
	colour string
}

// entry is a line of the legend.
type entry struct {
	look  look
	line  bool // a wire rather than a block
	state state
	text  string
	more  []string // numbers
}

// block adds a block and is its index.
func (d *Diagram) block(b block) int {
	d.blocks = append(d.blocks, b)
	return len(d.blocks) - 1
}

func (d *Diagram) frame(f frame) int {
	d.frames = append(d.frames, f)
	return len(d.frames) - 1
}

// View is a level of a system.
type View string

// The views.
const (
	ViewSystem View = "system"
	ViewSIP    View = "sip"
	ViewCube   View = "cube"
	ViewPE     View = "pe"
)

// Views lists the views from the outermost in.
var Views = []View{ViewSystem, ViewSIP, ViewCube, ViewPE}

// Place is which SIP, cube in it and PE in that a view shows.
type Place struct{ SIP, Cube, PE int }

// state is what overrides did to the links of a wire.
type state uint8

const (
	asKind  state = iota // like others of its kind
	changed              // other numbers, or some of several links absent
	oneWay               // one direction is absent; the wire runs in the other
	absent
)

// crosses reports whether a line enters the inside of a box, two pixels from its
// edge.
func crosses(a, b point, r rect) bool {
	r = rect{r.x + 2, r.y + 2, r.w - 4, r.h - 4}
	if r.w <= 0 || r.h <= 0 || max(a.x, b.x) < r.x || min(a.x, b.x) > r.right() || max(a.y, b.y) < r.y || min(a.y, b.y) > r.bottom() {
		return false
	}
	side := func(x, y int) int { return (b.x-a.x)*(y-a.y) - (b.y-a.y)*(x-a.x) }
	corners := []int{side(r.x, r.y), side(r.right(), r.y), side(r.x, r.bottom()), side(r.right(), r.bottom())}
	low, high := min(corners[0], corners[1], corners[2], corners[3]), max(corners[0], corners[1], corners[2], corners[3])
	return low <= 0 && high >= 0
}

// nameEnds puts the names of two blocks beside them, where they are too small for
// text inside and there is room.
func (d *Diagram) nameEnds(blocks ...int) {
	for _, i := range blocks {
		b := d.blocks[i]
		if b.labels() != nil {
			continue
		}
		l := label{text: b.lines[0], size: sizeMore, left: true, colour: ink}
		w, y := width(l.text, l.size, false), b.centre().y
		for _, at := range []point{{b.x - w - 12, y}, {b.right() + 12, y}} {
			l.at = at
			if (rect{0, 0, d.w, d.h}).holds(l.bounds()) && !slices.ContainsFunc(d.blocks, func(o block) bool { return o.overlaps(l.bounds()) }) {
				d.notes = append(d.notes, l)
				break
			}
		}
	}
}
