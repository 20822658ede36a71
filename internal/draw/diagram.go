package draw

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/lists"
)

// Diagram is a laid-out view of a system: blocks in frames, connected by wires.
type Diagram struct {
	name         string // name of the graph in a Graphviz file
	title        string
	source, hash string  // of the configuration of the system
	prefix       string  // common prefix of the names of all components in the picture
	w, h         float64 // size of the area of the blocks; its origin is at the top left

	frames    []frame
	blocks    []*block
	wires     []*wire
	notes     []textLine // texts that belong to no block
	endBlocks []int      // first and last block, whose names are outside if blocks are too small for text
	legend    []legendEntry
}

// View is a level of a system, from the whole system down to a PE.
type View string

// The views.
const (
	ViewSystem View = "system"
	ViewSIP    View = "sip"
	ViewCube   View = "cube"
	ViewPE     View = "pe"
)

// Views lists the views from the outermost to the innermost.
var Views = []View{ViewSystem, ViewSIP, ViewCube, ViewPE}

// Place selects the SIP, the cube of that SIP and the PE of that cube that a view shows.
type Place struct{ SIP, Cube, PE int }

// role is the purpose of a block or wire, which determines its colour.
type role uint8

const (
	outside role = iota // the host, and neighbours of the parts that the view shows
	fabric              // links between SIPs
	die                 // links between dies (UCIe)
	onDie               // routers, switches and links on a die
	compute
	memory
	control
	command // a wire that carries no data
	numRoles
)

// roles holds the colours of lines, and of blocks, which are tints of the colours of lines.
var roles = [numRoles]struct{ line, fill colour }{
	outside: {axisLine, empty},
	fabric:  {hueBlue, 0xcfe3f1},
	die:     {hueOrange, 0xfdf0d2},
	onDie:   {hueBlack, paper},
	compute: {hueGreen, 0xd5f0e7},
	memory:  {hueSky, 0xe3f2fc},
	control: {huePurple, 0xf7e4ee},
	command: {0x8a8a8a, paper},
}

const (
	frameLine      colour = 0x9a9a9a
	frameFill      colour = 0xfafafa
	overrideColour        = hueVermilion // colour of overridden links
)

// frameStyle is the style of the text of frames.
var frameStyle = style{size: sizeText, bold: true, colour: faint}

// frameX and frameY are the distance of a frame's text from the top left corner.
const frameX, frameY = 12, 16

// frame is a box around blocks: a SIP, a die or a PE.
type frame struct {
	rect
	name string
	text string // text in the top left corner
	in   int    // index of the enclosing frame, -1 for none
}

// block is a component, or several components that a view shows as one.
type block struct {
	rect
	name       string   // name of the component, or names separated by spaces
	lines      []string // the first is in bold; lines that do not fit are only in the tooltip
	role       role
	in         int     // index of the enclosing frame, -1 for none
	shownLines int     // number of lines that fit
	size       float64 // text size at which they fit
}

// wire connects two blocks. It stands for all links between them, in both directions unless
// oneWay is set.
type wire struct {
	from, to int     // indices of blocks; from is -1 if the wire stands for other wires in the picture
	path     []point // nil if the wire is not drawn
	sharp    bool    // corners of the path are sharp instead of rounded
	role     role
	oneWay   bool
	state    state
	name     string    // text of the tooltip
	pairs    []pair    // the components that its links connect
	thick    float64   // width of the line; 0 for the default
	text     string    // bandwidth, or the effect of overrides
	label    *textLine // the placed text; nil if there was no space for it
}

// state is the effect of overrides on the links of a wire.
type state uint8

const (
	unchanged    state = iota // no override
	changed                   // different numbers, or some of several links are absent
	oneDirection              // one direction is absent; the wire points in the other direction
	absent
)

// states holds the names of states in data and in the legend, and the line styles in
// Graphviz.
var states = [...]struct{ data, legend, dot string }{
	unchanged:    {"usual", "", "solid"},
	changed:      {"changed", "changed by overrides", "bold"},
	oneDirection: {"one_way", "one direction absent", "dashed"},
	absent:       {"absent", "absent", "dotted"},
}

// addBlock adds a block and returns its index.
func (d *Diagram) addBlock(b block) int {
	d.blocks = append(d.blocks, &b)
	return len(d.blocks) - 1
}

// addFrame adds a frame and returns its index.
func (d *Diagram) addFrame(f frame) int {
	d.frames = append(d.frames, f)
	return len(d.frames) - 1
}

// areaW and areaH are the size of the area for the blocks of a view on a page.
const areaW, areaH = pageW - legendW - 3*pageMargin, pageH - pageHead - pageMargin

// draw draws the page: the heading, the picture, and the legend at the right. The page has
// 1600×900 pixels unless the view needs more.
func (d *Diagram) draw(c *canvas) error {
	legend := 0.0 // height of the legend
	for _, e := range d.legend {
		legend += e.height()
	}
	w, h := max(pageW, d.w+legendW+3*pageMargin), max(pageH, max(d.h, legend)+pageHead+pageMargin)
	c.heading(w, h, d.title, d.subtitle(w-2*pageMargin))
	c.desc = d.subtitle(math.Inf(1))
	d.paint(c, point{pageMargin, pageHead})
	d.drawLegend(c, point{w - legendW - pageMargin, pageHead})
	return nil
}

// subtitle returns the source and the hash of the system. It shortens the source so that
// the subtitle fits in maxWidth.
func (d *Diagram) subtitle(maxWidth float64) string {
	s, hash := style{size: sizeHead}, fmt.Sprintf(" (hash %s)", d.hash)
	return s.cut(d.source, maxWidth-s.width(hash)) + hash
}

// paint draws everything except the heading and the legend. The point `at` is the top left
// corner of the area of blocks. Blocks and wires have tooltips. Overridden wires are
// painted over the others.
func (d *Diagram) paint(c *canvas, at point) {
	for _, f := range d.frames {
		c.group(f.name, func() {
			c.shape(box(f.translate(at), 12), paint{fill: frameFill, line: frameLine, width: 1.5})
		})
	}
	for _, overridden := range []bool{false, true} {
		for _, w := range d.wires {
			if w.path != nil && (w.state != unchanged) == overridden {
				c.group(w.name, func() { w.draw(c, at) })
			}
		}
	}
	for _, b := range d.blocks {
		if b.w > 0 { // otherwise the block is too small to see
			b.draw(c, at)
		}
	}
	for _, l := range d.labels() {
		c.text(l.style, l.at.add(at), l.text)
	}
}

// labels returns the texts in the picture that are outside of blocks.
func (d *Diagram) labels() []textLine {
	ls := slices.Clone(d.notes)
	for _, f := range d.frames {
		ls = append(ls, textLine{frameStyle, point{f.x + frameX, f.y + frameY}, f.text})
	}
	for _, w := range d.wires {
		if w.label != nil {
			ls = append(ls, *w.label)
		}
	}
	return ls
}

// draw draws the block with its texts and its tooltip. `at` is the position of the diagram
// on the canvas.
func (b block) draw(c *canvas, at point) {
	line := 1.0
	if min(b.w, b.h) > 20 {
		line = 2
	}
	c.group(strings.Join(append([]string{b.name}, b.lines...), "\n"), func() {
		with := roles[b.role]
		c.shape(box(b.translate(at), min(6, b.w/4, b.h/4)), paint{fill: with.fill, line: with.line, width: line})
		texts, _ := b.layoutLines(b.shownLines, b.size)
		for _, l := range texts {
			c.text(l.style, l.at.add(at), l.text)
		}
	})
}

// draw draws the line of the wire. `at` is the position of the diagram on the canvas.
func (w wire) draw(c *canvas, at point) {
	points := lists.Make(len(w.path), func(i int) point { return w.path[i].add(at) })
	if w.sharp {
		c.shape(line(points...), w.paint())
		return
	}
	c.shape(roundedLine(12, points...), w.paint())
}

// paint returns the line style of a wire.
func (w wire) paint() paint {
	p := paint{line: roles[w.role].line, width: 3}
	if w.role == command {
		p.width, p.dashes = 1.5, []float64{5, 4}
	}
	if w.thick > 0 {
		p.width = w.thick
	}
	if w.oneWay {
		p.arrow = 8
	}
	switch w.state {
	case changed:
		p.line, p.width = overrideColour, p.width+1
	case oneDirection:
		p.line, p.dashes, p.arrow = overrideColour, []float64{10, 4}, 16
	case absent:
		p.line, p.dashes = overrideColour, []float64{2, 6}
	}
	return p
}

// fitTexts chooses the text of each block: as many of its lines as fit, in the largest size
// that fits. Blocks with the same role, the same size and the same number of lines have the
// same text size.
func (d *Diagram) fitTexts() {
	type kind struct {
		role  role
		w, h  float64
		lines int
	}
	least := map[kind]float64{}
	for _, b := range d.blocks {
		b.shownLines, b.size = b.fit()
		k := kind{b.role, b.w, b.h, b.shownLines}
		least[k] = min(b.size, cmp.Or(least[k], b.size))
	}
	for _, b := range d.blocks {
		b.size = least[kind{b.role, b.w, b.h, b.shownLines}]
	}
}

// fit returns how many lines of a block fit and the largest text size at which they fit, or
// 0, 0 if no line fits.
func (b block) fit() (lines int, size float64) {
	for lines = len(b.lines); lines > 0; lines-- {
		least := sizeMin
		if lines > 1 {
			least = sizeDetail
		}
		for size := sizeHead; size >= least; size-- {
			if _, ok := b.layoutLines(lines, float64(size)); ok {
				return lines, float64(size)
			}
		}
	}
	return 0, 0
}

// layoutLines centres the given number of lines in the block. The first line has the given
// size, and the others are smaller. ok reports whether all these lines fit.
func (b block) layoutLines(lines int, size float64) (ws []textLine, ok bool) {
	small := style{size: max(size-2, sizeMin+1), anchor: atMiddle}
	first := style{size: size, bold: true, anchor: atMiddle}
	in, y := b.inset(4, 2, 4, 2), b.centre().y-(first.lineHeight()+float64(lines-1)*small.lineHeight())/2
	for i, text := range b.lines[:min(lines, len(b.lines))] {
		s := small
		if i == 0 {
			s = first
		}
		w := textLine{s, point{b.centre().x, y + s.lineHeight()/2}, text}
		if !in.contains(w.bounds()) {
			return nil, false
		}
		ws, y = append(ws, w), y+s.lineHeight()
	}
	return ws, true
}
