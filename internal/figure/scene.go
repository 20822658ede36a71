package figure

// Diagram is a laid-out picture.
type Diagram struct {
	name     string // of the picture, in a file
	title    string
	subtitle string
	w, h     int // of the area that views draw in

	frames []frame
	blocks []block
	wires  []wire
	notes  []label // text that belongs to no block
	legend []entry
}

type point struct{ x, y int }

type rect struct{ x, y, w, h int }

func (r rect) centre() point { return point{r.x + r.w/2, r.y + r.h/2} }
func (r rect) right() int    { return r.x + r.w }
func (r rect) bottom() int   { return r.y + r.h }
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
	at     point // middle of the line, or its left end
	text   string
	size   int
	bold   bool
	left   bool
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
	changed              // other numbers, or one direction absent
	absent
)
