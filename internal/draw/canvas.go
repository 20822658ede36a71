package draw

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
)

// Figure is a picture: [Lines], [Bars], [HeatMap], [Gantt], [Diagram] or [Systems].
type Figure interface {
	// draw lays the figure out on a canvas. It returns an error if the data cannot be drawn.
	draw(c *canvas) error
}

// SVG returns a figure as SVG. Text becomes text elements, and tooltips become title
// elements of groups.
func SVG(f Figure) ([]byte, error) {
	c, err := newCanvas(f)
	if err != nil {
		return nil, err
	}
	return c.svg(), nil
}

// PNG returns a figure as PNG, at least 1280 pixels wide.
func PNG(f Figure) ([]byte, error) {
	c, err := newCanvas(f)
	if err != nil {
		return nil, err
	}
	return c.png()
}

// CheckName returns an error if a file name does not end in .svg or .png.
func CheckName(name string) error {
	if ext := strings.ToLower(filepath.Ext(name)); ext != ".svg" && ext != ".png" {
		return fmt.Errorf("%s: pictures end in .svg or .png", name)
	}
	return nil
}

// Encode returns a figure in the format that the extension of a file name selects.
func Encode(name string, f Figure) ([]byte, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	if strings.EqualFold(filepath.Ext(name), ".png") {
		return PNG(f)
	}
	return SVG(f)
}

// canvas is a list of items in the order of painting.
type canvas struct {
	w, h        float64
	title, desc string // of the whole picture, for screen readers
	items       []item
}

// item is a [shape], a [textLine] or a [group].
type item interface {
	svg(*svgWriter)
	png(*raster)
}

// shape is a painted path.
type shape struct {
	path path
	paint
}

// textLine is a line of text. The anchor is at half the height of capital letters.
type textLine struct {
	style
	at   point
	text string
}

// group is a list of items with a common tooltip.
type group struct {
	tooltip string // may have several lines
	items   []item
}

// paint describes how a path looks. Parts with a zero value are not painted.
type paint struct {
	fill   colour
	hatch  hatch  // pattern over the fill
	over   colour // colour of the hatch
	line   colour
	width  float64   // width of the line
	dashes []float64 // alternating lengths of dashes and gaps; nil for a solid line
	arrow  float64   // length of an arrow head at the end of the path
}

// newCanvas draws a figure on a new canvas and returns the canvas.
func newCanvas(f Figure) (*canvas, error) {
	if f == nil {
		return nil, errors.New("no figure to draw")
	}
	c := &canvas{}
	if err := f.draw(c); err != nil {
		return nil, fmt.Errorf("figure %q: %w", c.title, err)
	}
	return c, nil
}

// startPage resets the canvas and sets its size, title and background.
func (c *canvas) startPage(w, h float64, title, desc string) {
	*c = canvas{w: w, h: h, title: title, desc: desc}
	c.box(rect{0, 0, w, h}, paper)
}

// shape adds a painted path to the canvas. It ignores a path with a coordinate that is not
// a finite number.
func (c *canvas) shape(p path, with paint) {
	if len(p) == 0 || slices.ContainsFunc(p, func(s segment) bool { return !s.at[0].finite() || !s.at[1].finite() }) {
		return
	}
	if with.arrow > 0 {
		p = c.addArrowHead(p, with)
		with.arrow = 0
	}
	c.items = append(c.items, shape{p, with})
}

// addArrowHead adds an arrow head at the end of a path, whose last segment must be a line.
// It returns the path without the part that the head covers.
func (c *canvas) addArrowHead(p path, with paint) path {
	last := len(p) - 1
	from, tip := p[last-1].at[0], p[last].at[0]
	if p[last-1].verb == quadTo {
		from = p[last-1].at[1]
	}
	length := tip.distance(from)
	if length == 0 {
		return p
	}
	back := from.sub(tip).scale(with.arrow / length)
	side := point{-back.y, back.x}.scale(0.5)
	base := tip.add(back)
	c.shape(polygon(tip, base.add(side), base.sub(side)), paint{fill: with.line})
	// The line ends inside the head, so that its blunt end is not visible at the tip.
	short := slices.Clone(p)
	short[last].at[0] = tip.add(back.scale(min(0.8, length/with.arrow)))
	return short
}

// lines draws a line through points, with a colour and a width.
func (c *canvas) lines(with colour, width float64, points ...point) {
	c.shape(line(points...), paint{line: with, width: width})
}

// box fills a rectangle.
func (c *canvas) box(r rect, fill colour) { c.shape(box(r, 0), paint{fill: fill}) }

// text adds a line of text. It ignores an empty text, and one whose position or size cannot
// be drawn.
func (c *canvas) text(s style, at point, text string) {
	if text == "" || !at.finite() || s.size <= 0 || math.IsNaN(s.turn-s.turn) {
		return
	}
	if s.colour == 0 {
		s.colour = ink
	}
	c.items = append(c.items, textLine{s, at, text})
}

// group calls the function `draw`. Everything that `draw` adds to the canvas becomes one
// group, whose tooltip is `tip`.
func (c *canvas) group(tip string, draw func()) {
	outer := c.items
	c.items = nil
	draw()
	c.items = append(outer, group{tip, c.items})
}

// Sizes of diagrams and Gantt charts in pixels.
const (
	pageW, pageH = 1600.0, 900.0 // minimum size
	pageMargin   = 32.0
	pageHead     = 92.0 // height of title and subtitle

	sizeHeading = 30
	sizeHead    = 18
	sizeText    = 15
	sizeDetail  = 12 // smallest text with several lines, and labels of wires
	sizeMin     = 9  // smallest text of all
)

// heading starts a page of w×h pixels and writes its title and subtitle. Both are one line,
// cut to the width of the page.
func (c *canvas) heading(w, h float64, title, subtitle string) {
	c.startPage(w, h, title, subtitle)
	top, below := style{size: sizeHeading, bold: true}, style{size: sizeHead, colour: faint}
	c.text(top, point{pageMargin, 34}, top.cut(title, w-2*pageMargin))
	c.text(below, point{pageMargin, 66}, below.cut(subtitle, w-2*pageMargin))
}
