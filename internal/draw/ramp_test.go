package draw

import (
	"math"
	"testing"
)

// lightness returns the lightness of a colour in OKLab, from 0 to 1.
func lightness(c colour) float64 {
	linear := func(v colour) float64 {
		x := float64(v&255) / 255
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	r, g, b := linear(c>>16), linear(c>>8), linear(c)
	l := math.Cbrt(0.4122214708*r + 0.5363325363*g + 0.0514459929*b)
	m := math.Cbrt(0.2119034982*r + 0.6806995451*g + 0.1073969566*b)
	s := math.Cbrt(0.0883024619*r + 0.2817188376*g + 0.6299787005*b)
	return 0.2104542553*l + 0.7936177850*m - 0.0040720468*s
}

// TestRampIsEven checks that equal steps on the ramp are equal steps of lightness, from
// 0.30 to 0.93.
func TestRampIsEven(t *testing.T) {
	for i := range 101 {
		share := float64(i) / 100
		got, want := lightness(rampColour(share)), 0.30+0.63*share
		if math.Abs(got-want) > 0.006 {
			t.Errorf("lightness at %v: got %.4f, want %.4f", share, got, want)
		}
	}
	if got, want := rampColour(-1), ramp[0]; got != want {
		t.Errorf("below the ramp: got %v, want %v", got, want)
	}
	if got, want := rampColour(2), ramp[len(ramp)-1]; got != want {
		t.Errorf("above the ramp: got %v, want %v", got, want)
	}
}

// TestTextIsReadable checks that text on cells and bars, and lines on paper, have enough
// contrast.
func TestTextIsReadable(t *testing.T) {
	on := append([]colour{}, palette...)
	for i := range 101 {
		on = append(on, rampColour(float64(i)/100))
	}
	for _, c := range on {
		if got := contrast(c.readable(), c); got < 4 {
			t.Errorf("text on %v: contrast %.2f, want at least 4", c, got)
		}
	}
	for _, c := range palette {
		if got := contrast(c, paper); got < 2 {
			t.Errorf("%v on paper: contrast %.2f, want at least 2", c, got)
		}
	}
}
