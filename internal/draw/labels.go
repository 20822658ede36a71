package draw

import (
	"math"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/lists"
)

// maxLabelled limits the labels of wires. Up to this number of wires of a role, each wire
// has a label. If a role has more wires, only one has.
const maxLabelled = 12

// placeTexts finds space for all text in the picture: first inside blocks, then next to the
// first and the last block, and finally next to wires.
func (d *Diagram) placeTexts(sizes ...float64) {
	d.fitTexts()
	d.nameEnds()
	d.placeLabels(sizes)
}

// placeLabels puts the text of each wire next to the wire, in the first of the given sizes
// that fits. It places the texts of overridden wires first. If a role has more than
// [maxLabelled] other wires with text, only one of them gets a label.
func (d *Diagram) placeLabels(sizes []float64) {
	var many, done [numRoles]int
	for _, w := range d.wires {
		if w.state != unchanged {
			d.placeLabel(w, overrideColour, sizes)
		} else if w.path != nil && w.text != "" {
			many[w.role]++
		}
	}
	for _, w := range d.wires {
		if w.state == unchanged && (many[w.role] <= maxLabelled || done[w.role] == 0) && d.placeLabel(w, ink, sizes) {
			done[w.role]++
		}
	}
}

// placeLabel puts the text of a wire next to one of the straight parts of its path. It
// reports whether there was space.
func (d *Diagram) placeLabel(w *wire, with colour, sizes []float64) bool {
	if w.text == "" {
		return false
	}
	for _, size := range sizes {
		l := textLine{style: style{size: size, anchor: atMiddle, colour: with}, text: w.text}
		half := point{l.bounds().w / 2, l.bounds().h / 2}
		for i := 1; i < len(w.path); i++ {
			a, b := w.path[i-1], w.path[i]
			along := b.sub(a).scale(1 / max(a.distance(b), 1))
			if w.state == unchanged && 2*(math.Abs(along.x)*half.x+math.Abs(along.y)*half.y) > a.distance(b) {
				continue // longer than the straight part; an overridden wire is recognizable by its colour
			}
			normal := point{along.y, -along.x} // try above or to the right first
			if normal.y > 0 || normal.y == 0 && normal.x < 0 {
				normal = normal.scale(-1)
			}
			off := math.Abs(normal.x)*(half.x+9) + math.Abs(normal.y)*(half.y+4)
			for _, share := range []float64{0.5, 1. / 3, 2. / 3, 0.2, 0.8} {
				for _, by := range []float64{off, -off, off + 6, -off - 6} {
					l.at = a.lerp(b, share).add(normal.scale(by))
					if d.labelFits(l.bounds(), w) {
						w.label = &l
						return true
					}
				}
			}
		}
	}
	return false
}

// labelFits reports whether the label of the wire `own` fits at r. The label must be
// inside the area, must not cross the edge of a frame or touch a block or other text, and
// must be nearer to its wire than to other wires.
func (d *Diagram) labelFits(r rect, own *wire) bool {
	r = r.inset(-2, 0, -2, 0)
	across := func(f frame) bool { return f.overlaps(r) && !f.inset(2, 2, 2, 2).contains(r) }
	if !(rect{0, 0, d.w, d.h}).contains(r) || slices.ContainsFunc(d.frames, across) {
		return false
	}
	for _, w := range d.wires {
		off := 18.0
		switch {
		case w == own:
			off = 3
		case own.state != unchanged: // the colour shows which wire the label belongs to
			off = 6
		}
		for i := 1; i < len(w.path); i++ {
			if crosses(w.path[i-1], w.path[i], r.inset(-off, -off, -off, -off)) {
				return false
			}
		}
	}
	return !slices.ContainsFunc(d.blocks, func(b *block) bool { return b.overlaps(r) }) &&
		!slices.ContainsFunc(d.labels(), func(l textLine) bool { return l.bounds().inset(-4, -8, -4, -8).overlaps(r) })
}

// crosses reports whether the line from a to b enters the interior of box r. The interior
// begins two pixels inside the edge of the box.
func crosses(a, b point, r rect) bool {
	r = r.inset(2, 2, 2, 2)
	if r.w <= 0 || r.h <= 0 || max(a.x, b.x) < r.x || min(a.x, b.x) > r.right() || max(a.y, b.y) < r.y || min(a.y, b.y) > r.bottom() {
		return false
	}
	side := func(x, y float64) float64 { return (b.x-a.x)*(y-a.y) - (b.y-a.y)*(x-a.x) }
	corners := []float64{side(r.x, r.y), side(r.right(), r.y), side(r.x, r.bottom()), side(r.right(), r.bottom())}
	return slices.Min(corners) <= 0 && slices.Max(corners) >= 0
}

// nameEnds writes the names of the first and the last block next to these blocks. It writes
// a name only if no text fits into the block and there is space next to the block.
func (d *Diagram) nameEnds() {
	for _, i := range d.endBlocks {
		b := d.blocks[i]
		if b.shownLines > 0 {
			continue
		}
		l := textLine{style: style{size: sizeDetail}, text: b.lines[0]}
		for _, x := range []float64{b.x - l.width(l.text) - 12, b.right() + 12} {
			l.at = point{x, b.centre().y}
			if (rect{0, 0, d.w, d.h}).contains(l.bounds()) && !slices.ContainsFunc(d.blocks, func(o *block) bool { return o.overlaps(l.bounds()) }) {
				d.notes = append(d.notes, l)
				break
			}
		}
	}
}

// Layout of the legend of a diagram: colour samples with text at their right.
const (
	legendW      = 330.0
	legendIndent = 44.0
	legendLine   = 20.0
	legendGap    = 12.0
)

// legendEntry explains a role or a state.
type legendEntry struct {
	role  role
	line  bool // explains wires instead of blocks
	state state
	text  string
	more  []string // lines with numbers, below the text
}

func (e legendEntry) height() float64 { return float64(1+len(e.more))*legendLine + legendGap }

// drawLegend draws the legend with its top left corner at a point.
func (d *Diagram) drawLegend(c *canvas, at point) {
	for _, e := range d.legend {
		mid := at.add(point{0, legendLine / 2})
		if e.line {
			c.shape(line(mid, mid.add(point{32, 0})), wire{role: e.role, state: e.state}.paint())
		} else {
			c.shape(box(rect{mid.x + 2, mid.y - 9, 28, 18}, 4), paint{fill: roles[e.role].fill, line: roles[e.role].line, width: 2})
		}
		for i, text := range append([]string{e.text}, e.more...) {
			c.text(style{size: sizeText, bold: i == 0 && len(e.more) > 0}, mid.add(point{legendIndent, float64(i) * legendLine}), text)
		}
		at.y += e.height()
	}
}

// explain adds a legend entry for blocks of a role.
func (d *Diagram) explain(l role, text string, more ...string) {
	d.legend = append(d.legend, legendEntry{role: l, text: text, more: wrapLegend(more)})
}

// explainWire adds a legend entry for wires of a role.
func (d *Diagram) explainWire(l role, text string, more ...string) {
	d.legend = append(d.legend, legendEntry{role: l, line: true, text: text, more: wrapLegend(more)})
}

// wrapLegend breaks lines that are too wide for the legend. It breaks at line breaks first,
// then at spaces, and in names of links after the arrow. In lines that fit, line breaks
// become spaces.
func wrapLegend(lines []string) []string {
	s, most := style{size: sizeText}, legendW-legendIndent
	var out []string
	for _, text := range lines {
		parts := strings.Split(text, "\n")
		if whole := strings.Join(parts, " "); s.width(whole) <= most {
			parts = []string{whole}
		}
		for _, part := range parts {
			if s.width(part) > most {
				part = strings.ReplaceAll(part, "->", "-> ")
			}
			out = append(out, lists.Map(s.wrap(part, most, false), func(l string) string { return s.cut(l, most) })...)
		}
	}
	return out
}
