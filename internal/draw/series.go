package draw

import "math"

// seriesColour returns the colour of a series. Colours repeat, so series are told apart without
// them: lines by marks and dashes, bars by hatches.
func seriesColour(i int) colour { return palette[i%len(palette)] }

// filled is how many marks have a hollow form too.
const filled = 6

// marks are outlines around the origin, of about the same size. The first are drawn filled and
// then hollow; the last two are lines.
var marks = []path{
	circle(point{}, 1),
	regular(4, math.Pi/4, 1.2, 1.2),
	regular(3, -math.Pi/2, 1.35, 1.35),
	regular(4, 0, 1.35, 1.35),
	regular(3, math.Pi/2, 1.35, 1.35),
	regular(8, -math.Pi/2, 1.6, 0.6), // a star
	append(line(point{-1, -1}, point{1, 1}), line(point{-1, 1}, point{1, -1})...),
	append(line(point{-1.2, 0}, point{1.2, 0}), line(point{0, -1.2}, point{0, 1.2})...),
}

// regular returns a polygon with n corners, which are by turns at the distances r and s.
func regular(n int, start, r, s float64) path {
	points := make([]point, n)
	for i := range points {
		sin, cos := math.Sincos(start + 2*math.Pi*float64(i)/float64(n))
		points[i] = point{cos, sin}.scale([]float64{r, s}[i%2])
	}
	return polygon(points...)
}

// mark draws the mark of a series, with a light edge that tells it from others below.
func (c *canvas) mark(series int, with colour, at point) {
	kind := series % (filled + len(marks))
	look := paint{fill: with, line: paper, width: 1}
	if kind >= filled {
		kind -= filled
		look = paint{fill: paper, line: with, width: 2}
	}
	if kind >= filled {
		look.fill = 0
	}
	c.shape(marks[kind].moved(func(p point) point { return p.scale(markSize).add(at) }), look)
}

// seriesDashes returns the dashes of a measured line: none until colours repeat.
func seriesDashes(i int) []float64 {
	return [][]float64{nil, {11, 3}, {7, 2, 2, 2}}[i/len(palette)%3]
}

// boundDashes tell bounds of one colour apart.
var boundDashes = [][]float64{{9, 5}, {3, 4}, {14, 4, 3, 4}, {14, 4, 3, 4, 3, 4}}

// barFills are the fills of bars where there are more than two series: hatches on the colour
// of the series, and on a tint of it if light.
var barFills = []struct {
	hatch hatch
	light bool
}{
	{plain, false}, {rising, false}, {plain, true}, {crossed, false}, {dotted, true}, {level, false}, {falling, true},
	{dotted, false}, {crossed, true}, {upright, false}, {rising, true}, {checked, false}, {level, true}, {falling, false},
}

// barPaint returns the look of the bars of one of n series.
func barPaint(i, n int) paint {
	with := seriesColour(i)
	if n <= 2 {
		return paint{fill: with}
	}
	f := barFills[i]
	if f.light {
		return paint{fill: with.mix(paper, 0.72), hatch: f.hatch, over: with, line: with, width: 1}
	}
	return paint{fill: with, hatch: f.hatch, over: paper, line: with, width: 1}
}
