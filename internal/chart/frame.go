package chart

import (
	"image/color"
	"slices"

	"gonum.org/v1/plot/vg"
)

// entry is a line of the legend.
type entry struct {
	name   string
	width  vg.Length                    // of the sample
	sample func(p pen, in vg.Rectangle) // draws what it looks like
}

// frame draws what all figures have around them: the title at the top left, the
// legend below it, and the note at the bottom. It is the area left between them.
func (p pen) frame(title, note string, legend []entry) vg.Rectangle {
	area := vg.Rectangle{Min: vg.Point{X: margin, Y: margin}, Max: vg.Point{X: slideW - margin, Y: slideH - margin}}
	p.box(paper, vg.Rectangle{Max: vg.Point{X: slideW, Y: slideH}})
	width := area.Max.X - area.Min.X

	head := style{size: sizeTitle, bold: true}
	for _, line := range head.wrap(title, width, false) {
		p.text(head, vg.Point{X: area.Min.X, Y: area.Max.Y - head.size/2}, line)
		area.Max.Y -= head.lineHeight()
	}
	area.Max.Y = p.legend(legend, area)

	foot := style{size: sizeNote, colour: faint}
	lines := foot.wrap(note, width, false)
	for i, line := range lines {
		up := vg.Length(len(lines)-1-i) * foot.lineHeight()
		p.text(foot, vg.Point{X: area.Min.X, Y: area.Min.Y + up + foot.size/2 - 4}, line)
	}
	if len(lines) > 0 {
		area.Min.Y += vg.Length(len(lines))*foot.lineHeight() + gap
	}
	return area
}

// sampleH is the height of a sample.
const sampleH vg.Length = 14

// legend writes entries from the top of an area, in columns and as few rows as it
// takes, and is where the rest of the area begins. Entries without a name say
// nothing.
func (p pen) legend(entries []entry, in vg.Rectangle) vg.Length {
	entries = slices.DeleteFunc(slices.Clone(entries), func(e entry) bool { return e.name == "" })
	if len(entries) == 0 {
		return in.Max.Y - 2*gap
	}
	text := style{size: sizeLegend}
	for i, e := range entries {
		entries[i].name = text.cut(e.name, in.Max.X-in.Min.X-e.width-gap)
	}
	columns := legendColumns(text, entries, in.Max.X-in.Min.X)
	rows := (len(entries) + len(columns) - 1) / len(columns)
	for i, e := range entries {
		at := vg.Point{X: in.Min.X, Y: in.Max.Y - gap/2 - text.lineHeight()*(vg.Length(i/len(columns))+0.5)}
		for _, w := range columns[:i%len(columns)] {
			at.X += w
		}
		e.sample(p, vg.Rectangle{Min: vg.Point{X: at.X, Y: at.Y - sampleH/2}, Max: vg.Point{X: at.X + e.width, Y: at.Y + sampleH/2}})
		p.text(text, vg.Point{X: at.X + e.width + gap, Y: at.Y}, e.name)
	}
	return in.Max.Y - vg.Length(rows)*text.lineHeight() - 2*gap
}

// legendColumns is the widths of columns that hold entries in the fewest rows, and
// of as few columns as those need.
func legendColumns(text style, entries []entry, most vg.Length) []vg.Length {
	const apart = 26
	for rows := 1; ; rows++ {
		widths := make([]vg.Length, (len(entries)+rows-1)/rows)
		for i, e := range entries {
			c := i % len(widths)
			widths[c] = max(widths[c], e.width+gap+text.width(e.name)+apart)
		}
		var total vg.Length
		for _, w := range widths {
			total += w
		}
		if total-apart <= most || rows >= len(entries) {
			return widths
		}
	}
}

// swatch is the entry of a filled colour.
func swatch(name string, c color.Color) entry {
	return entry{name, sampleH, func(p pen, in vg.Rectangle) { p.box(c, in) }}
}
