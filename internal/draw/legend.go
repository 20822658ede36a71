package draw

import (
	"reflect"
	"strings"

	"github.com/kernbench/kernbench/topology"
)

// Layout of the legend of a diagram: swatches, and text to their right.
const (
	legendW      = 330.0
	legendIndent = 44.0
	legendLine   = 20.0
	legendGap    = 12.0
)

// legendEntry explains a role.
type legendEntry struct {
	role  role
	line  bool // of a wire rather than a block
	state state
	text  string
	more  []string // numbers
}

func (d *Diagram) legendHeight() float64 {
	h := 0.0
	for _, e := range d.legend {
		h += e.height()
	}
	return h
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

// explain adds an entry for blocks of a role.
func (d *Diagram) explain(l role, text string, more ...string) {
	d.legend = append(d.legend, legendEntry{role: l, text: text, more: wrapLegend(more)})
}

// explainWire adds an entry for wires.
func (d *Diagram) explainWire(l role, text string, more ...string) {
	d.legend = append(d.legend, legendEntry{role: l, line: true, text: text, more: wrapLegend(more)})
}

// wrapLegend breaks lines that are too wide for the legend: at line breaks, which are spaces
// otherwise, then at spaces, and in names of links after the arrow.
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
			for _, l := range s.wrap(part, most, false) {
				out = append(out, s.cut(l, most))
			}
		}
	}
	return out
}

// quantity returns a value as topology.yaml writes it: "128 GB/s".
func quantity(v any) string { return topology.Scalars()[reflect.TypeOf(v)].Format(v) }
