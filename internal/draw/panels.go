package draw

import "slices"

const (
	mostLines   = 12 // of one panel, if there are no others
	panelLines  = 4  // of one of several panels, if they are not too many
	mostPanels  = 12
	panelHeight = 120.0 // of the plot of a panel, at least
)

// panels returns the series of each panel. Each has its bounds, or all if they belong to no line.
func (l Lines) panels() [][]Series {
	lines, bounds, paired := l.split()
	if len(lines) <= mostLines {
		return [][]Series{l.Series}
	}
	panels := make([][]Series, min((len(lines)+panelLines-1)/panelLines, mostPanels))
	for i := range panels {
		from, end := len(lines)*i/len(panels), len(lines)*(i+1)/len(panels)
		own := bounds
		if paired {
			own = bounds[from:end]
		}
		panels[i] = slices.Concat(lines[from:end], own)
	}
	return panels
}

// multiples draws panels with the same axes, each with a legend. Numbers are at the outer panels
// only. The picture is as high as the panels need.
func (l Lines) multiples(c *canvas, panels [][]Series) {
	const between = 4 * gap
	columns := 2 + min(len(panels)/5, 1)
	rows := (len(panels) + columns - 1) / columns
	x, y := l.rulers()
	y.fitUp(rect{h: panelHeight}, mostSteps)
	left, below := y.leftWidth(), bottomHeight(l.X.text())
	w := (slideW - 2*margin - left + between) / float64(columns)
	legends, heights := make([][]entry, len(panels)), make([]float64, len(panels))
	for i, series := range panels {
		for k, look := range l.looks(series) {
			legends[i] = append(legends[i], entry{series[k].Name, nameSample, look.sample})
		}
		heights[i] = (&canvas{}).legend(legends[i], rect{w: w - between})
	}
	most := slices.Max(heights)
	c.page(slideW, max(slideH, 160+float64(rows)*(most+panelHeight+gap)), l.Title, l.Subtitle)
	area := c.frame(l.Title, l.Subtitle, l.Note, nil).inset(left, 0, 0, below)
	h := (area.h + gap) / float64(rows)
	for i, series := range panels {
		at := rect{area.x + w*float64(i%columns), area.y + h*float64(i/columns), w - between, h - gap}
		c.legend(legends[i], at.inset(0, most-heights[i], 0, 0))
		last := i+columns >= len(panels) // nothing is below
		l.plot(c, at.inset(0, most, 0, 0), x, y, series, last, i%columns == 0)
	}
	c.labelBottom(l.X.text(), area, below)
	c.labelLeft(l.Y.text(), area, left)
}
