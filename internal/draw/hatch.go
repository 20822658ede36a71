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
	horizontal
	vertical
	checked
	numHatches // number of hatches
)

// hatchPatterns defines each hatch: lines at angles, in degrees clockwise, or dots. step is
// the distance of lines or dots in pixels; the pattern repeats after a step in both
// directions.
var hatchPatterns = [numHatches]struct {
	angles      []float64
	dots        float64 // radius
	step, width float64
}{
	rising:     {angles: []float64{-45}, step: 10, width: 2},
	falling:    {angles: []float64{45}, step: 10, width: 2},
	crossed:    {angles: []float64{-45, 45}, step: 10, width: 1.6},
	dotted:     {dots: 1.9, step: 7},
	horizontal: {angles: []float64{0}, step: 7, width: 2},
	vertical:   {angles: []float64{90}, step: 7, width: 2},
	checked:    {angles: []float64{0, 90}, step: 8, width: 1.6},
}

// cover returns the lines and the dots of the hatch that are needed to cover an area. Their
// positions do not depend on the area.
func (h hatch) cover(in rect) (lines, dots path) {
	pattern := hatchPatterns[h]
	first := func(v float64) float64 { return (math.Floor(v/pattern.step) - 1) * pattern.step }
	for _, angle := range pattern.angles {
		switch angle {
		case 0:
			for y := first(in.y) + pattern.step/2; y < in.bottom()+pattern.step; y += pattern.step {
				lines = append(lines, line(point{in.x - pattern.step, y}, point{in.right() + pattern.step, y})...)
			}
		case 90:
			for x := first(in.x) + pattern.step/2; x < in.right()+pattern.step; x += pattern.step {
				lines = append(lines, line(point{x, in.y - pattern.step}, point{x, in.bottom() + pattern.step})...)
			}
		default: // 45 or -45: y = ±x + k steps
			slope := math.Copysign(1, angle)
			from, to := in.x-pattern.step, in.right()+pattern.step
			low, high := min(-slope*from, -slope*to), max(-slope*from, -slope*to)
			for k := first(in.y + low); k < in.bottom()+high+pattern.step; k += pattern.step {
				lines = append(lines, line(point{from, slope*from + k}, point{to, slope*to + k})...)
			}
		}
	}
	if pattern.dots > 0 {
		for y := first(in.y) + pattern.step/2; y < in.bottom()+pattern.step; y += pattern.step {
			for x := first(in.x) + pattern.step/2; x < in.right()+pattern.step; x += pattern.step {
				dots = append(dots, circle(point{x, y}, pattern.dots)...)
			}
		}
	}
	return lines, dots
}

// paint paints the hatch over an area of a canvas.
func (h hatch) paint(c *canvas, in rect, over colour) {
	lines, dots := h.cover(in)
	c.shape(lines, paint{line: over, width: hatchPatterns[h].width})
	c.shape(dots, paint{fill: over})
}
