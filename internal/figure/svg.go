package figure

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/printable"
)

// SVG is the diagram as a picture with title and legend, of 1600×900 unless it
// needs more. Boxes and wires carry the names of their components as tooltips.
func (d *Diagram) SVG() []byte {
	w, h := d.size()
	s := &svg{}
	s.page(w, h, d.title, d.subtitle(math.MaxInt))
	s.open("defs")
	s.arrow("arrow", paints[command].line, 8)
	if slices.ContainsFunc(d.wires, func(w wire) bool { return w.state == oneWay }) {
		s.arrow("left", alarm, 16)
	}
	s.close("defs")
	s.shape("rect", "width", w, "height", h, "fill", paper)
	s.labels(d.heading())
	s.open("g", "transform", fmt.Sprintf("translate(%d %d)", margin, header))
	for _, f := range d.frames {
		s.frame(f)
	}
	for _, w := range d.wires {
		if w.path != nil && w.state == asKind {
			s.wire(w)
		}
	}
	for _, w := range d.wires { // on top of the others
		if w.path != nil && w.state != asKind {
			s.wire(w)
		}
	}
	for _, b := range d.blocks {
		s.block(b)
	}
	s.labels(d.labels())
	s.close("g")
	s.legend(d)
	s.close("svg")
	return s.b.Bytes()
}

// size is that of the whole picture.
func (d *Diagram) size() (w, h int) {
	return max(slideW, d.w+legendW+3*margin), max(slideH, d.h+header+margin, d.legendHeight()+header+margin)
}

// area is what a view may draw in on a slide.
func area() (w, h int) { return slideW - legendW - 3*margin, slideH - header - margin }

func (d *Diagram) heading() []label {
	w, _ := d.size()
	return heading(d.title, d.subtitle(room(w-2*margin, sizeHead, false)))
}

// heading is the two lines at the top of every picture.
func heading(title, subtitle string) []label {
	return []label{
		{at: point{margin, 34}, text: title, size: sizeTitle, bold: true, left: true, colour: ink},
		{at: point{margin, 66}, text: subtitle, size: sizeHead, left: true, colour: faint},
	}
}

// labels is the text in the picture that belongs to no block.
func (d *Diagram) labels() []label {
	ls := append([]label{}, d.notes...)
	for _, f := range d.frames {
		if f.text != "" {
			ls = append(ls, f.label())
		}
	}
	for _, w := range d.wires {
		if w.label != nil {
			ls = append(ls, *w.label)
		}
	}
	return ls
}

func (f frame) label() label {
	return label{at: point{f.x + 12, f.y + 16}, text: f.text, size: sizeText, bold: true, left: true, colour: faint}
}

// svg writes elements.
type svg struct {
	b     bytes.Buffer
	depth int
}

// page starts a picture: its size, and its title and description for those who
// do not see it.
func (s *svg) page(w, h int, title, desc string) {
	s.open("svg", "xmlns", "http://www.w3.org/2000/svg", "viewBox", fmt.Sprintf("0 0 %d %d", w, h), "width", w, "height", h,
		"font-family", "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif")
	s.leaf("title", title)
	s.leaf("desc", desc)
}

// tag writes the start of an element, with attributes as names and values.
func (s *svg) tag(name string, attrs []any) {
	fmt.Fprintf(&s.b, "%s<%s", strings.Repeat(" ", s.depth), name)
	for i := 0; i < len(attrs); i += 2 {
		fmt.Fprintf(&s.b, " %s=\"", attrs[i])
		s.text(fmt.Sprint(attrs[i+1]))
		s.b.WriteByte('"')
	}
}

func (s *svg) text(t string) {
	if err := xml.EscapeText(&s.b, []byte(printable.Text(t))); err != nil {
		panic(err) // a buffer takes everything
	}
}

func (s *svg) shape(name string, attrs ...any) {
	s.tag(name, attrs)
	s.b.WriteString("/>\n")
}

func (s *svg) open(name string, attrs ...any) {
	s.tag(name, attrs)
	s.b.WriteString(">\n")
	s.depth++
}

func (s *svg) close(name string) {
	s.depth--
	fmt.Fprintf(&s.b, "%s</%s>\n", strings.Repeat(" ", s.depth), name)
}

func (s *svg) leaf(name, text string, attrs ...any) {
	s.tag(name, attrs)
	s.b.WriteByte('>')
	s.text(text)
	fmt.Fprintf(&s.b, "</%s>\n", name)
}

// arrow defines the head of one-way wires: of those that are so by nature, or of
// those that overrides left so.
func (s *svg) arrow(id, colour string, size int) {
	s.open("marker", "id", id, "viewBox", "0 0 10 10", "refX", 9, "refY", 5, "markerWidth", size, "markerHeight", size,
		"markerUnits", "userSpaceOnUse", "orient", "auto")
	s.shape("path", "d", "M0 0L10 5L0 10z", "fill", colour)
	s.close("marker")
}

func (s *svg) label(l label) {
	anchor, weight := "middle", "normal"
	if l.left {
		anchor = "start"
	} else if l.right {
		anchor = "end"
	}
	if l.bold {
		weight = "bold"
	}
	// The baseline lies about a third of the size below the middle.
	s.leaf("text", l.text, "x", l.at.x, "y", l.at.y+l.size*35/100, "font-size", l.size, "font-weight", weight,
		"text-anchor", anchor, "fill", l.colour)
}

func (s *svg) labels(ls []label) {
	for _, l := range ls {
		s.label(l)
	}
}

func (s *svg) frame(f frame) {
	s.open("g")
	s.leaf("title", f.name)
	s.shape("rect", "x", f.x, "y", f.y, "width", f.w, "height", f.h, "rx", 12, "fill", frameFill, "stroke", frameLine, "stroke-width", 1.5)
	s.close("g")
}

func (s *svg) block(b block) {
	if b.w == 0 {
		return // too small to see
	}
	p := paints[b.look]
	s.open("g")
	s.leaf("title", strings.Join(append([]string{b.name}, b.lines...), "\n"))
	s.shape("rect", "x", b.x, "y", b.y, "width", b.w, "height", b.h, "rx", min(6, b.w/4, b.h/4), "fill", p.fill,
		"stroke", p.line, "stroke-width", stroke(b.h > 20 && b.w > 20))
	s.labels(b.labels())
	s.close("g")
}

// stroke is the width of an outline.
func stroke(large bool) float64 {
	if large {
		return 2
	}
	return 1
}

func (s *svg) wire(w wire) {
	attrs := append([]any{"d", pathData(w.path, w.rounded), "fill", "none"}, w.strokes()...)
	s.open("g")
	s.leaf("title", w.name)
	s.shape("path", attrs...)
	s.close("g")
}

// strokes is the look of a wire's line.
func (w wire) strokes() []any {
	colour, thick, dash := paints[w.look].line, 3.0, ""
	if w.look == command {
		thick, dash = 1.5, "5 4"
	}
	if w.thick > 0 {
		thick = w.thick
	}
	switch w.state {
	case changed:
		colour, thick = alarm, thick+1
	case oneWay:
		colour, dash = alarm, "10 4"
	case absent:
		colour, dash = alarm, "2 6"
	}
	attrs := []any{"stroke", colour, "stroke-width", thick}
	if dash != "" {
		attrs = append(attrs, "stroke-dasharray", dash)
	}
	switch {
	case w.state == oneWay:
		attrs = append(attrs, "marker-end", "url(#left)")
	case w.oneWay:
		attrs = append(attrs, "marker-end", "url(#arrow)")
	}
	return attrs
}

// pathData is the d attribute of a line through points.
func pathData(path []point, rounded bool) string {
	const radius = 12
	var b strings.Builder
	fmt.Fprintf(&b, "M%d %d", path[0].x, path[0].y)
	for i := 1; i < len(path); i++ {
		if i == len(path)-1 || !rounded {
			fmt.Fprintf(&b, "L%d %d", path[i].x, path[i].y)
			continue
		}
		in, out := toward(path[i], path[i-1], radius), toward(path[i], path[i+1], radius)
		fmt.Fprintf(&b, "L%d %dQ%d %d %d %d", in.x, in.y, path[i].x, path[i].y, out.x, out.y)
	}
	return b.String()
}

// toward is the point at most r from a in the direction of b, no more than half
// the way. One of the coordinates is equal.
func toward(a, b point, r int) point {
	step := func(from, to int) int {
		n := min(r, max(to-from, from-to)/2)
		if to < from {
			return from - n
		}
		return from + n
	}
	return point{step(a.x, b.x), step(a.y, b.y)}
}
