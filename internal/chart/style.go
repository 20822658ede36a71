package chart

import (
	"image/color"

	"gonum.org/v1/plot/vg"
)

// A slide of 16:9 in points, and how many dots an inch of it has as PNG: 1280×720.
const (
	slideW, slideH vg.Length = 960, 540
	pngDPI                   = 96
)

// Sizes of text in points of the slide.
const (
	sizeTitle  = 22
	sizeLabel  = 16 // of axes
	sizeLegend = 15
	sizeTick   = 14
	sizeNote   = 14
	sizeSmall  = 11 // least of text in a cell or bar
)

// Lengths in points.
const (
	margin    vg.Length = 22
	gap       vg.Length = 8 // between a thing and its label
	tickMajor vg.Length = 5
	tickMinor vg.Length = 3
	lineWidth vg.Length = 2.5
	markSize  vg.Length = 5 // radius
)

// fontFamilies all have the widths of Liberation Sans, which text is measured with.
const fontFamilies = "'Liberation Sans', Arimo, Arial, Helvetica, sans-serif"

var (
	ink       = rgb(0x1a1a1a)
	faint     = rgb(0x5f5f5f)
	paper     = rgb(0xffffff)
	axisLine  = rgb(0x7a7a7a)
	gridMajor = rgb(0xdedede)
	gridMinor = rgb(0xf1f1f1)
	empty     = rgb(0xeeeeee) // a cell without a value
)

// palette is the colours of Okabe and Ito but yellow, which is too pale for lines on
// white, the pale ones darkened as those of internal/figure.
var palette = []color.NRGBA{
	rgb(0x0072b2), // blue
	rgb(0xd55e00), // vermilion
	rgb(0x009e73), // bluish green
	rgb(0xb8608f), // reddish purple
	rgb(0xe69f00), // orange
	rgb(0x3a9fd8), // sky blue
	rgb(0x333333), // black
}

// colour is that of a series.
func colour(i int) color.NRGBA { return palette[i%len(palette)] }

func rgb(hex uint32) color.NRGBA {
	return color.NRGBA{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 255}
}
