package draw

import "math"

// hatch is a pattern over a fill.
type hatch uint8

const (
	plain hatch = iota
	rising
	falling
	crossed
	dotted
	level
	upright
	checked
	hatches // how many there are
)

// hatchings say what a hatch is made of: lines at angles, in degrees clockwise, and dots, at
// steps in pixels. A step repeats in both directions.
var hatchings = [hatches]struct {
	angles      []float64
	dots        float64 // radius
	step, width float64
}{
	rising:  {angles: []float64{-45}, step: 10, width: 2},
	falling: {angles: []float64{45}, step: 10, width: 2},
	crossed: {angles: []float64{-45, 45}, step: 10, width: 1.6},
	dotted:  {dots: 1.9, step: 7},
	level:   {angles: []float64{0}, step: 7, width: 2},
	upright: {angles: []float64{90}, step: 7, width: 2},
	checked: {angles: []float64{0, 90}, step: 8, width: 1.6},
}

// cover returns the lines and the dots of the hatch over at least an area. They are at the
// same places whatever the area is.
func (h hatch) cover(in rect) (lines, dots path) {
	of := hatchings[h]
	first := func(v float64) float64 { return (math.Floor(v/of.step) - 1) * of.step }
	for _, angle := range of.angles {
		switch angle {
		case 0:
			for y := first(in.y) + of.step/2; y < in.bottom()+of.step; y += of.step {
				lines = append(lines, line(point{in.x - of.step, y}, point{in.right() + of.step, y})...)
			}
		case 90:
			for x := first(in.x) + of.step/2; x < in.right()+of.step; x += of.step {
				lines = append(lines, line(point{x, in.y - of.step}, point{x, in.bottom() + of.step})...)
			}
		default: // 45 or -45: y = ±x + k steps
			slope := math.Copysign(1, angle)
			from, to := in.x-of.step, in.right()+of.step
			low, high := min(-slope*from, -slope*to), max(-slope*from, -slope*to)
			for k := first(in.y + low); k < in.bottom()+high+of.step; k += of.step {
				lines = append(lines, line(point{from, slope*from + k}, point{to, slope*to + k})...)
			}
		}
	}
	if of.dots > 0 {
		for y := first(in.y) + of.step/2; y < in.bottom()+of.step; y += of.step {
			for x := first(in.x) + of.step/2; x < in.right()+of.step; x += of.step {
				dots = append(dots, circle(point{x, y}, of.dots)...)
			}
		}
	}
	return lines, dots
}

// paint paints the hatch over an area of a canvas.
func (h hatch) paint(c *canvas, in rect, over colour) {
	lines, dots := h.cover(in)
	c.shape(lines, paint{line: over, width: hatchings[h].width})
	c.shape(dots, paint{fill: over})
}
