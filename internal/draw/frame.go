package draw

import (
	"slices"

	"github.com/kernbench/kernbench/internal/lists"
)

// entry is a line of a legend.
type entry struct {
	name   string
	width  float64                  // width of the sample
	sample func(c *canvas, in rect) // draws the line, mark or fill that the entry explains
}

// drawFrame draws the parts that all charts have: the title and subtitle at the top left,
// the legend below them, and the note at the bottom. It returns the area between the legend
// and the note.
func (c *canvas) drawFrame(title, subtitle, note string, legend []entry) rect {
	area := rect{0, 0, c.w, c.h}.inset(margin, margin, margin, margin)
	area = area.inset(0, c.paragraph(style{size: sizeTitle, bold: true}, area, title, 2), 0, 0)
	area = area.inset(0, c.paragraph(style{size: sizeNote, colour: faint}, area, subtitle, 2), 0, 0)
	area = area.inset(0, c.legend(legend, area)+gap, 0, 0)

	foot := style{size: sizeNote, colour: faint}
	if height := float64(len(foot.fold(note, area.w, 3))) * foot.lineHeight(); height > 0 {
		c.paragraph(foot, rect{area.x, area.bottom() - height + 4, area.w, height}, note, 3)
		area.h -= height + gap
	}
	return area
}

// paragraph writes a text in at most maxLines lines from the top of an area. It returns the
// height of these lines.
func (c *canvas) paragraph(s style, in rect, text string, maxLines int) float64 {
	lines := s.fold(text, in.w, maxLines)
	for i, line := range lines {
		c.text(s, point{in.x, in.y + s.size/2 + float64(i)*s.lineHeight()}, line)
	}
	return float64(len(lines)) * s.lineHeight()
}

// fold breaks a text into at most maxLines lines of at most the given width. It cuts text
// that does not fit.
func (s style) fold(text string, width float64, maxLines int) []string {
	lines := s.wrap(text, width, false)
	if len(lines) > maxLines {
		lines = lines[:maxLines]
		lines[maxLines-1] += " …"
	}
	return lists.Map(lines, func(line string) string { return s.cut(line, width) })
}

const (
	sampleH         = 14.0                                        // height of a sample in a legend
	legendColumnGap = 26.0                                        // space between columns of a legend
	maxEntryWidth   = (slideW - 2*margin - 2*legendColumnGap) / 3 // largest width of an entry if there are more than three
)

// legend draws a legend at the top of an area. It arranges the entries in columns, in as
// few rows as possible, and ignores entries without a name. It returns the height of the
// legend.
func (c *canvas) legend(entries []entry, in rect) float64 {
	entries = slices.DeleteFunc(slices.Clone(entries), func(e entry) bool { return e.name == "" })
	if len(entries) == 0 {
		return gap
	}
	text := style{size: sizeLegend}
	for i, e := range entries {
		most := in.w
		if len(entries) > 3 {
			most = min(in.w, maxEntryWidth)
		}
		entries[i].name = text.cut(e.name, most-e.width-gap)
	}
	widths := legendColumns(text, entries, in.w)
	for i, e := range entries {
		at := point{in.x, in.y + gap/2 + text.lineHeight()*(float64(i/len(widths))+0.5)}
		for _, w := range widths[:i%len(widths)] {
			at.x += w
		}
		e.sample(c, rect{at.x, at.y - sampleH/2, e.width, sampleH})
		c.text(text, point{at.x + e.width + gap, at.y}, e.name)
	}
	rows := (len(entries) + len(widths) - 1) / len(widths)
	return float64(rows)*text.lineHeight() + gap
}

// legendColumns chooses the columns of a legend so that it has as few rows as possible, and
// then as few columns as possible. It returns the widths of the columns.
func legendColumns(text style, entries []entry, maxWidth float64) []float64 {
	for rows := 1; ; rows++ {
		widths := make([]float64, (len(entries)+rows-1)/rows)
		for i, e := range entries {
			c := i % len(widths)
			widths[c] = max(widths[c], e.width+gap+text.width(e.name)+legendColumnGap)
		}
		total := 0.0
		for _, w := range widths {
			total += w
		}
		if total-legendColumnGap <= maxWidth || rows >= len(entries) {
			return widths
		}
	}
}
