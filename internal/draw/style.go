package draw

import (
	"fmt"
	"image/color"
	"math"
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
	slideW, slideH = 960.0, 540.0 // a chart
	margin         = 22.0
	gap            = 8.0 // between a thing and its label
	tickMajor      = 5.0
	tickMinor      = 3.0
	lineWidth      = 2.5
	markSize       = 5.0 // radius
)

// fontFamilies are fonts with the widths of Liberation Sans, which measures all text.
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
	empty     colour = 0xeeeeee // a cell without a value
)

// The Okabe-Ito palette, which colour-blind readers can tell apart. Yellow is too pale for
// lines on white and left out. Sky blue and reddish purple are darkened.
const (
	hueBlue      colour = 0x0072b2
	hueVermilion colour = 0xd55e00
	hueGreen     colour = 0x009e73 // bluish
	huePurple    colour = 0xb8608f // reddish
	hueOrange    colour = 0xe69f00
	hueSky       colour = 0x3a9fd8
	hueBlack     colour = 0x333333
)

// palette is the colours of series in order.
var palette = []colour{hueBlue, hueVermilion, hueGreen, huePurple, hueOrange, hueSky, hueBlack}

// String returns the colour as SVG writes it.
func (c colour) String() string { return fmt.Sprintf("#%06x", uint32(c)) }

// RGBA implements [color.Color].
func (c colour) RGBA() (r, g, b, a uint32) {
	return color.NRGBA{R: uint8(c >> 16), G: uint8(c >> 8), B: uint8(c), A: 255}.RGBA()
}

// mix returns the colour between c and d, share 0 being c and 1 being d.
func (c colour) mix(d colour, share float64) colour {
	var mixed colour
	for shift := 0; shift < 24; shift += 8 {
		from, to := float64(c>>shift&255), float64(d>>shift&255)
		mixed |= colour(math.Round(from+(to-from)*share)) << shift
	}
	return mixed
}

// readable returns the colour of text on c: ink or paper, whichever has more contrast.
func (c colour) readable() colour {
	if contrast(ink, c) >= contrast(paper, c) {
		return ink
	}
	return paper
}

// contrast returns the ratio of luminances as WCAG defines it, from 1 to 21.
func contrast(a, b colour) float64 {
	la, lb := a.luminance(), b.luminance()
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

// luminance returns the relative luminance, from 0 to 1.
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
