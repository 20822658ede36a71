package chart

import (
	"image/color"
	"math"
)

// ramp is colours from low to high. Their lightness, that of OKLab, goes up in even
// steps from 0.30 to 0.93, so that equal steps look equal, also in grey and to the
// colour-blind; the hue goes from purple over blue and green to yellow.
var ramp = []uint32{
	0x391661, 0x392673, 0x353682, 0x2d4790, 0x1d579b, 0x0268a0,
	0x0378a0, 0x0487a2, 0x0296a4, 0x07a5a4, 0x0db5a2, 0x43c29b,
	0x6acd94, 0x8ed78d, 0xb1df88, 0xd2e785, 0xf3ed87,
}

// rampColour is the colour of a share from 0 to 1.
func rampColour(share float64) color.NRGBA {
	at := min(max(share, 0), 1) * float64(len(ramp)-1)
	i := min(int(at), len(ramp)-2)
	a, b, part := rgb(ramp[i]), rgb(ramp[i+1]), at-float64(i)
	mix := func(a, b uint8) uint8 { return uint8(math.Round(float64(a) + (float64(b)-float64(a))*part)) }
	return color.NRGBA{R: mix(a.R, b.R), G: mix(a.G, b.G), B: mix(a.B, b.B), A: 255}
}

// readable is the colour of text on a colour: ink or paper, whichever stands out.
func readable(on color.NRGBA) color.NRGBA {
	if contrast(ink, on) >= contrast(paper, on) {
		return ink
	}
	return paper
}

// contrast is the ratio of luminances as WCAG has it, from 1 to 21.
func contrast(a, b color.NRGBA) float64 {
	la, lb := luminance(a), luminance(b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

func luminance(c color.NRGBA) float64 {
	linear := func(v uint8) float64 {
		x := float64(v) / 255
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}
