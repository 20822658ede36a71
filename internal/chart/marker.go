package chart

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
)

// markers differ in shape, for those who do not see colours.
var markers = []func(at vg.Point, r vg.Length) []vg.Point{
	polygon(24, 0, 1), // a circle
	polygon(4, math.Pi/4, 1.2),
	polygon(3, math.Pi/2, 1.35),
	polygon(4, 0, 1.3),
	polygon(3, -math.Pi/2, 1.35),
	polygon(5, math.Pi/2, 1.15),
	polygon(6, 0, 1.15),
	star,
}

// polygon is a regular one, larger by a factor so that all look alike in size.
func polygon(n int, start float64, factor vg.Length) func(vg.Point, vg.Length) []vg.Point {
	return func(at vg.Point, r vg.Length) []vg.Point {
		points := make([]vg.Point, n)
		for i := range points {
			points[i] = around(at, r*factor, start+2*math.Pi*float64(i)/float64(n))
		}
		return points
	}
}

func star(at vg.Point, r vg.Length) []vg.Point {
	points := make([]vg.Point, 8)
	for i := range points {
		points[i] = around(at, r*[]vg.Length{1.55, 0.6}[i%2], math.Pi*float64(i)/4)
	}
	return points
}

func around(at vg.Point, r vg.Length, angle float64) vg.Point {
	sin, cos := math.Sincos(angle)
	return vg.Point{X: at.X + r*vg.Length(cos), Y: at.Y + r*vg.Length(sin)}
}

// mark draws the marker of a series, with a light edge where it lies on others. When
// colours begin anew markers are hollow.
func (p pen) mark(series int, c color.Color, at vg.Point) {
	outline := markers[series%len(markers)](at, markSize)
	fill, edge, width := c, color.Color(paper), vg.Length(1)
	if series/len(palette)%2 == 1 {
		fill, edge, width = paper, c, 2
	}
	p.shape(fill, outline...)
	p.SetColor(edge)
	p.SetLineWidth(width)
	p.SetLineDash(nil, 0)
	p.Stroke(path(outline, true))
}
