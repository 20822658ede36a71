package draw

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/internal/printable"
)

// svgWriter writes items as SVG elements.
type svgWriter struct {
	bytes.Buffer
	patterns []paint // hatched fills, without duplicates
}

// svg returns the picture as SVG.
func (c *canvas) svg() []byte {
	body := &svgWriter{}
	body.writeItems(c.items)
	w := &svgWriter{}
	width, height := formatNumber(c.w), formatNumber(c.h)
	w.openTag("svg", "xmlns", "http://www.w3.org/2000/svg", "viewBox", "0 0 "+width+" "+height, "width", width, "height", height,
		"role", "img", "font-family", fontFamilies, "stroke-linejoin", "round")
	w.WriteString(">\n")
	w.writeElement("title", c.title)
	if c.desc != "" {
		w.writeElement("desc", c.desc)
	}
	w.writePatterns(body.patterns)
	w.Write(body.Bytes())
	w.WriteString("</svg>\n")
	return w.Bytes()
}

// writePatterns writes a pattern element for each hatched fill.
func (w *svgWriter) writePatterns(patterns []paint) {
	if len(patterns) == 0 {
		return
	}
	w.WriteString("<defs>\n")
	for _, p := range patterns {
		step := hatchPatterns[p.hatch].step // the pattern repeats in both directions
		w.openTag("pattern", "id", p.id(), "patternUnits", "userSpaceOnUse", "width", formatNumber(step), "height", formatNumber(step))
		w.WriteString(">\n")
		tile := &canvas{}
		tile.box(rect{0, 0, step, step}, p.fill)
		p.hatch.paint(tile, rect{0, 0, step, step}, p.over)
		w.writeItems(tile.items)
		w.WriteString("</pattern>\n")
	}
	w.WriteString("</defs>\n")
}

// id returns the name of the pattern of a hatched fill. The name depends only on the fill,
// so that two pictures on one page never use the same name for different patterns.
func (p paint) id() string {
	return fmt.Sprintf("hatch%d-%06x-%06x", p.hatch, uint32(p.fill), uint32(p.over))
}

// openTag writes the start of an element: its name and its attributes, but no closing
// bracket. attrs holds the names and values of the attributes in turn. openTag leaves out
// attributes with an empty value.
func (w *svgWriter) openTag(name string, attrs ...string) {
	w.WriteString("<" + name)
	for i := 0; i < len(attrs); i += 2 {
		if attrs[i+1] != "" {
			w.WriteString(" " + attrs[i] + `="` + attrs[i+1] + `"`)
		}
	}
}

// writeElement writes an element that contains text.
func (w *svgWriter) writeElement(name, text string, attrs ...string) {
	w.openTag(name, attrs...)
	w.WriteByte('>')
	if err := xml.EscapeText(w, []byte(printable.Text(text))); err != nil {
		panic(err) // writing to a buffer does not fail
	}
	w.WriteString("</" + name + ">\n")
}

// svg writes the shape as a path element.
func (s shape) svg(w *svgWriter) {
	fill, line, width := "none", "", ""
	switch {
	case s.hatch != plain && s.fill != 0:
		key := paint{fill: s.fill, hatch: s.hatch, over: s.over}
		if !slices.ContainsFunc(w.patterns, func(p paint) bool { return p.id() == key.id() }) {
			w.patterns = append(w.patterns, key)
		}
		fill = "url(#" + key.id() + ")"
	case s.fill != 0:
		fill = s.fill.String()
	}
	if s.line != 0 {
		line, width = s.line.String(), formatNumber(s.width)
	}
	w.openTag("path", "d", s.path.data(), "fill", fill, "stroke", line, "stroke-width", width,
		"stroke-dasharray", strings.Join(lists.Map(s.dashes, formatNumber), " "))
	w.WriteString("/>\n")
}

// svg writes the text as a text element.
func (t textLine) svg(w *svgWriter) {
	turn := ""
	at := t.at.add(point{0, t.size * capHeight / 2})
	if t.turn != 0 {
		at = point{0, t.size * capHeight / 2}
		turn = fmt.Sprintf("translate(%s %s) rotate(%s)", formatNumber(t.at.x), formatNumber(t.at.y), formatNumber(t.turn))
	}
	w.writeElement("text", printable.Line(t.text), "x", formatNumber(at.x), "y", formatNumber(at.y), "transform", turn, "font-size", formatNumber(t.size),
		"font-weight", map[bool]string{true: "bold"}[t.bold],
		"text-anchor", [...]string{atStart: "", atMiddle: "middle", atEnd: "end"}[t.anchor], "fill", t.colour.String())
}

// svg writes the items as a g element, with the tooltip as its title element.
func (g group) svg(w *svgWriter) {
	w.WriteString("<g>\n")
	w.writeElement("title", g.tooltip)
	w.writeItems(g.items)
	w.WriteString("</g>\n")
}

// writeItems writes items in order.
func (w *svgWriter) writeItems(items []item) {
	for _, it := range items {
		it.svg(w)
	}
}

// data returns the path in the notation of SVG, as the value of a d attribute.
func (p path) data() string {
	var b strings.Builder
	var now point
	to := func(letter string, points ...point) {
		b.WriteString(letter)
		for i, at := range points {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(formatNumber(at.x) + " " + formatNumber(at.y))
			now = at
		}
	}
	for _, s := range p {
		switch s.verb {
		case moveTo:
			to("M", s.at[0])
		case lineTo:
			switch at := s.at[0]; {
			case at.y == now.y:
				b.WriteString("H" + formatNumber(at.x))
			case at.x == now.x:
				b.WriteString("V" + formatNumber(at.y))
			default:
				to("L", at)
			}
			now = s.at[0]
		case quadTo:
			to("Q", s.at[:]...)
		case closePath:
			b.WriteByte('Z')
			now = point{math.NaN(), math.NaN()} // not known here: the start of the closed part
		case circleAt:
			r := formatNumber(s.at[1].x - s.at[0].x)
			left := s.at[0].lerp(s.at[1], -1)
			to("M", left)
			to("A"+r+" "+r+" 0 1 1 ", s.at[1])
			to("A"+r+" "+r+" 0 1 1 ", left)
			b.WriteByte('Z')
		}
	}
	return b.String()
}

// formatNumber formats a number with at most two decimals.
func formatNumber(v float64) string {
	return strconv.FormatFloat(math.Round(v*100)/100+0, 'f', -1, 64)
}
