package draw

// Sizes of diagrams and Gantt charts in pixels.
const (
	pageW, pageH = 1600.0, 900.0 // at least
	pageMargin   = 32.0
	pageHead     = 92.0 // title and subtitle

	sizeHeading = 30
	sizeHead    = 18
	sizeText    = 15
	sizeMore    = 12 // smallest text of several lines, and of wires
	sizeLeast   = 9  // smallest text
)

// heading sets the size of a page and writes its title and subtitle. Each is one line, cut
// to the width of the page.
func (c *canvas) heading(w, h float64, title, subtitle string) {
	c.page(w, h, title, subtitle)
	top, below := style{size: sizeHeading, bold: true}, style{size: sizeHead, colour: faint}
	c.text(top, point{pageMargin, 34}, top.cut(title, w-2*pageMargin))
	c.text(below, point{pageMargin, 66}, below.cut(subtitle, w-2*pageMargin))
}
