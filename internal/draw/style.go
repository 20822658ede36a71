package draw

import (
	"fmt"
	"image/color"
	"math"

	"github.com/kernbench/kernbench/internal/lists"
)

// Sizes of text in pixels.
const (
	sizeTitle  = 22
	sizeLabel  = 16 // axes
	sizeLegend = 15
	sizeTick   = 14
	sizeNote   = 14
	sizeSmall  = 11 // smallest text in a cell or bar
)

// Lengths in pixels.
const (
	slideW, slideH = 960.0, 540.0 // size of a chart
	margin         = 22.0
	gap            = 8.0 // space between an element and its label
	tickMajor      = 5.0
	tickMinor      = 3.0
	lineWidth      = 2.5
	markSize       = 5.0 // radius
)

// fontFamilies lists fonts with the same widths as Liberation Sans, with which all text is
// measured.
const fontFamilies = "'Liberation Sans', Arimo, Arial, Helvetica, sans-serif"

// colour is 0xRRGGBB. Zero paints nothing.
type colour uint32

const (
	ink       colour = 0x1a1a1a
	faint     colour = 0x5f5f5f
	paper     colour = 0xffffff
	axisLine  colour = 0x7a7a7a
	gridMajor colour = 0xdedede
	gridMinor colour = 0xf1f1f1
	empty     colour = 0xeeeeee // cells without a value, idle time, and blocks outside of the view
)

// The Okabe-Ito palette, whose colours colour-blind readers can distinguish. Yellow is left
// out because it is too pale for lines on white. Sky blue and reddish purple are darkened.
const (
	hueBlue      colour = 0x0072b2
	hueVermilion colour = 0xd55e00
	hueGreen     colour = 0x009e73 // bluish
	huePurple    colour = 0xb8608f // reddish
	hueOrange    colour = 0xe69f00
	hueSky       colour = 0x3a9fd8
	hueBlack     colour = 0x333333
)

// palette holds the colours of series in order.
var palette = []colour{hueBlue, hueVermilion, hueGreen, huePurple, hueOrange, hueSky, hueBlack}

// String returns the colour in the notation of SVG.
func (c colour) String() string { return fmt.Sprintf("#%06x", uint32(c)) }

// RGBA implements [color.Color].
func (c colour) RGBA() (r, g, b, a uint32) {
	return color.NRGBA{R: uint8(c >> 16), G: uint8(c >> 8), B: uint8(c), A: 255}.RGBA()
}

// mix returns a mixture of colours c and d. `share` is the part of d: 0 returns c, and 1
// returns d.
func (c colour) mix(d colour, share float64) colour {
	var mixed colour
	for shift := 0; shift < 24; shift += 8 {
		from, to := float64(c>>shift&255), float64(d>>shift&255)
		mixed |= colour(math.Round(from+(to-from)*share)) << shift
	}
	return mixed
}

// readable returns the colour for text on background c: ink or paper, whichever has more
// contrast.
func (c colour) readable() colour {
	if contrast(ink, c) >= contrast(paper, c) {
		return ink
	}
	return paper
}

// contrast returns the contrast ratio of two colours as WCAG defines it, from 1 to 21.
func contrast(a, b colour) float64 {
	la, lb := a.luminance(), b.luminance()
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

// luminance returns the relative luminance of a colour as WCAG defines it, from 0 to 1.
func (c colour) luminance() float64 {
	linear := func(v colour) float64 {
		x := float64(v&255) / 255
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c>>16) + 0.7152*linear(c>>8) + 0.0722*linear(c)
}

// seriesColour returns the colour of the i-th series. Colours repeat, so series also differ
// in other ways: lines in marks and dashes, bars in hatches.
func seriesColour(i int) colour { return palette[i%len(palette)] }

// numFilled is the number of marks that have both a filled and a hollow form.
const numFilled = 6

// marks holds outlines around the origin, of about the same size. The first numFilled are
// drawn filled and, for later series, hollow. The last two are lines.
var marks = []path{
	circle(point{}, 1),
	regularPolygon(4, math.Pi/4, 1.2, 1.2),
	regularPolygon(3, -math.Pi/2, 1.35, 1.35),
	regularPolygon(4, 0, 1.35, 1.35),
	regularPolygon(3, math.Pi/2, 1.35, 1.35),
	regularPolygon(8, -math.Pi/2, 1.6, 0.6), // a star
	append(line(point{-1, -1}, point{1, 1}), line(point{-1, 1}, point{1, -1})...),
	append(line(point{-1.2, 0}, point{1.2, 0}), line(point{0, -1.2}, point{0, 1.2})...),
}

// regularPolygon returns a polygon with n corners. The distances of the corners from the
// origin alternate between r and s. `start` is the angle of the first corner in radians.
func regularPolygon(n int, start, r, s float64) path {
	return polygon(lists.Make(n, func(i int) point {
		sin, cos := math.Sincos(start + 2*math.Pi*float64(i)/float64(n))
		return point{cos, sin}.scale([]float64{r, s}[i%2])
	})...)
}

// mark draws the mark of a series. A filled mark has an edge in the colour of the paper,
// which separates the mark from marks that it covers. A hollow mark has a coloured edge and
// an inside in the colour of the paper.
func (c *canvas) mark(series int, with colour, at point) {
	kind := series % (numFilled + len(marks))
	look := paint{fill: with, line: paper, width: 1}
	if kind >= numFilled {
		kind -= numFilled
		look = paint{fill: paper, line: with, width: 2}
	}
	if kind >= numFilled {
		look.fill = 0
	}
	c.shape(marks[kind].transform(func(p point) point { return p.scale(markSize).add(at) }), look)
}

// seriesDashes holds the dashes of measured lines. Lines are solid until colours repeat.
var seriesDashes = [][]float64{nil, {11, 3}, {7, 2, 2, 2}}

// boundDashes holds the dashes that distinguish bounds of one colour.
var boundDashes = [][]float64{{9, 5}, {3, 4}, {14, 4, 3, 4}, {14, 4, 3, 4, 3, 4}}

// barFills holds the fills of bars if there are more than two series: hatches on the colour
// of the series, or on a tint of it if light is set.
var barFills = []struct {
	hatch hatch
	light bool
}{
	{plain, false}, {rising, false}, {plain, true}, {crossed, false}, {dotted, true}, {horizontal, false}, {falling, true},
	{dotted, false}, {crossed, true}, {vertical, false}, {rising, true}, {checked, false}, {horizontal, true}, {falling, false},
}

// barPaint returns the fill and outline of the bars of the i-th of n series.
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
