package figure

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/topology"
)

// Layout of the legend: a swatch, and text to its right.
const (
	legendIndent = 44
	legendLine   = sizeText * 4 / 3
	legendGap    = 12
)

// legendChars is how many characters fit a line of the legend.
const legendChars = (legendW - legendIndent) * 1000 / (sizeText * 600)

// legendHeight is that of the whole legend.
func (d *Diagram) legendHeight() int {
	h := 0
	for _, e := range d.legend {
		h += (1+len(e.more))*legendLine + legendGap
	}
	return h
}

// legendLabels is the text of the legend, in the coordinates of the picture.
func (d *Diagram) legendLabels() []label {
	w, _ := d.size()
	x, y := w-legendW-margin+legendIndent, header+legendLine/2
	var ls []label
	for _, e := range d.legend {
		for i, text := range append([]string{e.text}, e.more...) {
			ls = append(ls, label{at: point{x, y}, text: text, size: sizeText, bold: i == 0 && len(e.more) > 0, left: true, colour: ink})
			y += legendLine
		}
		y += legendGap
	}
	return ls
}

// legend draws the swatches and the text.
func (s *svg) legend(d *Diagram) {
	w, _ := d.size()
	x, y := w-legendW-margin, header+legendLine/2
	for _, e := range d.legend {
		if e.line {
			s.shape("path", append([]any{"d", fmt.Sprintf("M%d %dh32", x, y)}, wire{look: e.look, state: e.state}.strokes()...)...)
		} else {
			p := paints[e.look]
			s.shape("rect", "x", x+2, "y", y-9, "width", 28, "height", 18, "rx", 4, "fill", p.fill, "stroke", p.line, "stroke-width", 2)
		}
		y += (1+len(e.more))*legendLine + legendGap
	}
	s.labels(d.legendLabels())
}

// explain adds an entry for blocks of a look.
func (d *Diagram) explain(l look, text string, more ...string) {
	d.legend = append(d.legend, entry{look: l, text: text, more: wrap(more)})
}

// explainWire adds an entry for wires.
func (d *Diagram) explainWire(l look, text string, more ...string) {
	d.legend = append(d.legend, entry{look: l, line: true, text: text, more: wrap(more)})
}

// wrap breaks lines that are too wide for the legend: at spaces, in long names of
// links behind the arrow, and where even that does not do, inside words.
func wrap(lines []string) []string {
	var out []string
	for _, line := range lines {
		current := ""
		words := strings.Fields(line)
		for i := 0; i < len(words); i++ {
			word := printable.Line(words[i])
			if from, to, ok := strings.Cut(word, "->"); ok && to != "" && len(word) > legendChars {
				word = from + "->"
				words = slices.Insert(words, i+1, to)
			}
			for {
				joined := strings.TrimSpace(current + " " + word)
				if len([]rune(joined)) <= legendChars {
					current = joined
					break
				}
				if current == "" {
					runes := []rune(word)
					out, word = append(out, string(runes[:legendChars])), string(runes[legendChars:])
					continue
				}
				out, current = append(out, current), ""
			}
		}
		out = append(out, current)
	}
	return out
}

// quantity is a value as topology.yaml would write it: "128 GB/s".
func quantity(v any) string { return topology.Scalars()[reflect.TypeOf(v)].Format(v) }

// count is a number of things: "1 link", "2 links".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
