package draw

// ramp is colours from low to high. Their lightness, that of OKLab, goes up in even
// steps from 0.30 to 0.93, so that equal steps look equal, also in grey and to the
// colour-blind; the hue goes from purple over blue and green to yellow.
var ramp = []colour{
	0x391661, 0x392673, 0x353682, 0x2d4790, 0x1d579b, 0x0268a0,
	0x0378a0, 0x0487a2, 0x0296a4, 0x07a5a4, 0x0db5a2, 0x43c29b,
	0x6acd94, 0x8ed78d, 0xb1df88, 0xd2e785, 0xf3ed87,
}

// rampColour returns the colour of a share from 0 to 1.
func rampColour(share float64) colour {
	at := min(max(share, 0), 1) * float64(len(ramp)-1)
	i := min(int(at), len(ramp)-2)
	return ramp[i].mix(ramp[i+1], at-float64(i))
}
