package draw

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/lists"
)

// Diagram is a laid-out view of a system: blocks in frames, joined by wires.
type Diagram struct {
	name         string // of a Graphviz file
	title        string
	source, hash string  // of the system
	prefix       string  // common to the names of all components in the picture
	w, h         float64 // area of the blocks, with its origin at the top left

	frames    []frame
	blocks    []*block
	wires     []*wire
	notes     []textLine // text that belongs to no block
	endBlocks []int      // blocks whose names are next to them, if blocks are too small for text
	legend    []legendEntry
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

// Place selects the SIP, its cube and the PE of that cube that a view shows.
type Place struct{ SIP, Cube, PE int }

// role is the purpose of a block or wire, which decides its colour.
type role uint8

const (
	outside role = iota // the host, and parts that the view does not show
	fabric              // between SIPs
	die                 // between dies: UCIe
	onDie               // routers, switches and links of a die
	compute
	memory
	control
	command // a wire that carries no data
	numRoles
)

// roles holds the colours of lines, and of blocks: tints of the lines.
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
	overrideColour        = hueVermilion // overridden links
)

// frameStyle is the text of frames, and frameX and frameY its place in the corner.
var frameStyle = style{size: sizeText, bold: true, colour: faint}

const frameX, frameY = 12, 16

// frame is a box around blocks: a SIP, a die, a PE.
type frame struct {
	rect
	name string
	text string // in its top left corner
	in   int    // frame around it, -1 for none
}

// block is a component, or several that a view shows as one.
type block struct {
	rect
	name       string   // of the component; of several, separated by spaces
	lines      []string // the first is in bold; lines that do not fit are in the tooltip alone
	role       role
	in         int     // frame around it, -1 for none
	shownLines int     // lines that fit,
	size       float64 // at this size
}

// wire joins two blocks: all links between them, in both directions unless oneWay.
type wire struct {
	from, to int     // blocks
	path     []point // nil if it is not drawn
	sharp    bool    // corners of the path, else round
	role     role
	oneWay   bool
	state    state
	name     string    // tooltip
	pairs    []pair    // the components that its links join
	thick    float64   // width of the line; 0 for the usual
	text     string    // bandwidth, for a label
	label    *textLine // the text, where there was room for it
}

// state is the effect of overrides on the links of a wire.
type state uint8

const (
	unchanged    state = iota // none
	changed                   // other numbers, or some of several links absent
	oneDirection              // one direction is absent; the wire runs in the other
	absent
)

// states holds the names of states as data, in the legend, and the style of their lines in
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

// areaW and areaH are the size of the area that a view may use on a page.
const areaW, areaH = pageW - legendW - 3*pageMargin, pageH - pageHead - pageMargin

// draw draws the page: heading, picture, and legend to the right. The page has 1600×900
// pixels unless the view needs more.
func (d *Diagram) draw(c *canvas) error {
	legend := 0.0 // its height
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

// subtitle returns the source and the hash of the system, with the source cut to a width.
func (d *Diagram) subtitle(maxWidth float64) string {
	s, hash := style{size: sizeHead}, fmt.Sprintf(" (hash %s)", d.hash)
	return s.cut(d.source, maxWidth-s.width(hash)) + hash
}

// paint draws everything but heading and legend, with the origin of the area at a point.
// Blocks and wires have tooltips. Overridden wires lie on top of the others.
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
		if b.w > 0 { // else too small to see
			b.draw(c, at)
		}
	}
	for _, l := range d.labels() {
		c.text(l.style, l.at.add(at), l.text)
	}
}

// labels returns the text in the picture outside of blocks.
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

func (w wire) draw(c *canvas, at point) {
	points := lists.Make(len(w.path), func(i int) point { return w.path[i].add(at) })
	if w.sharp {
		c.shape(line(points...), w.paint())
		return
	}
	c.shape(roundedLine(12, points...), w.paint())
}

// paint returns the line of a wire.
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

// fitTexts chooses the text of blocks: as many of their lines as fit, at the largest size that
// holds them. Blocks of one role, one size and one number of lines have text of one size.
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

// fit returns how many lines of a block fit, and at which size; 0 if none does.
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

// layoutLines centres the first lines in the block, those after the first in smaller text, and reports
// whether they fit.
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
